package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The versions of slurmrestd's API that gpuctl knows, by their last number.
const (
	oldestAPI  = 38 // Slurm 22.05
	newestAPI  = 45 // Slurm 26.05
	nestedAPI  = 39 // from here on wrapped numbers, and nodes that can be changed
	requeueAPI = 45 // from here on jobs can be requeued
	confAPI    = 45 // from here on slurm.conf can be read
)

func apiName(n int) string { return "v0.0." + strconv.Itoa(n) }

// versionNumber is the last number of "v0.0.42"; 0 when it is no version.
func versionNumber(v string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(v, "v0.0."))
	if err != nil || !strings.HasPrefix(v, "v0.0.") {
		return 0
	}
	return n
}

// version is the API version in use, asked of the server the first time.
func (t *rest) version(ctx context.Context) (string, error) {
	if t.opts.APIVersion != "" {
		return t.opts.APIVersion, nil
	}
	if v := t.known(); v != "" {
		return v, nil
	}
	offered, err := t.discover(ctx)
	if err != nil {
		return "", fmt.Errorf("find slurmrestd's version: %w", err)
	}
	v, err := chooseVersion(offered)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.api = v
	return v, nil
}

// known is the API version in use; empty when it is not known yet.
func (t *rest) known() string {
	if t.opts.APIVersion != "" {
		return t.opts.APIVersion
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.api
}

// forget makes the next call ask for the version again, if it is still v.
func (t *rest) forget(v string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.api == v {
		t.api = ""
	}
}

// discover lists the versions that the server offers, from its OpenAPI document.
func (t *rest) discover(ctx context.Context) ([]int, error) {
	var offered []int
	read := func(r io.Reader) (answer, error) {
		var err error
		offered, err = offeredVersions(r)
		return answer{}, err
	}
	for _, path := range []string{"/openapi/v3", "/openapi"} {
		_, err := t.once(ctx, request{method: http.MethodGet, path: path, bare: true}, read)
		if !errors.Is(err, errNoPath) {
			return offered, err
		}
	}
	return nil, fmt.Errorf("%s: %w", t.base, errNoPath)
}

// slurmPath finds the version in a path of slurmctld's part of the API.
var slurmPath = regexp.MustCompile(`^/slurm/v0\.0\.([0-9]{1,4})/`)

// offeredVersions reads the paths of an OpenAPI document of one or two megabytes,
// without holding it.
func offeredVersions(r io.Reader) ([]int, error) {
	var offered []int
	dec := json.NewDecoder(r)
	dec.UseNumber()
	err := eachField(dec, func(key string) error {
		if key != "paths" {
			return skipValue(dec)
		}
		return eachField(dec, func(path string) error {
			if m := slurmPath.FindStringSubmatch(path); m != nil {
				n, _ := strconv.Atoi(m[1])
				offered = append(offered, n)
			}
			return skipValue(dec)
		})
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(offered)
	return slices.Compact(offered), nil
}

// eachField walks over the fields of an object; do must read the value.
func eachField(dec *json.Decoder, do func(key string) error) error {
	if err := expect(dec, '{'); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return undecodable(err)
		}
		if err := do(fmt.Sprint(key)); err != nil {
			return err
		}
	}
	return expect(dec, '}')
}

// skipValue reads over one value, token by token.
func skipValue(dec *json.Decoder) error {
	for depth := 0; ; {
		tok, err := dec.Token()
		if err != nil {
			return undecodable(err)
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// chooseVersion takes the newest version that both sides know. A server that has
// only newer ones is asked in its oldest, which is the closest to what we know.
func chooseVersion(offered []int) (string, error) {
	best, newer := 0, 0
	for _, n := range offered {
		switch {
		case n > newestAPI && newer == 0:
			newer = n
		case n >= oldestAPI && n <= newestAPI:
			best = n
		}
	}
	switch {
	case best > 0:
		return apiName(best), nil
	case newer > 0:
		return apiName(newer), nil
	}
	return "", fmt.Errorf("slurmrestd offers %v of its API, gpuctl needs %s (Slurm 22.05) or later: %w",
		offered, apiName(oldestAPI), ErrUnsupported)
}
