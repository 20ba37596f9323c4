package slurm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// answer is what surrounds the records of a JSON answer, whichever of
// slurmrestd's versions or Slurm's commands gave it.
type answer struct {
	Meta     meta
	Errors   []remark
	Warnings []remark
	Status   []remark // refusals of single jobs: newer servers put them here and nowhere else
	Pings    []ping
	Records  int // how many were handed to the decoder
	// Listed: the list was there, however short. Without it there is no answer: a
	// gateway's own words are JSON too.
	Listed bool
}

// meta says who answered.
type meta struct {
	Release string // "24.11.5"
	Cluster string // the cluster's own name; since 23.11
	User    string // whom slurmrestd takes itself to act as; of use over its own socket only
	Storage string // "accounting_storage/slurmdbd"; since 23.11
}

// ping is one slurmctld as slurmrestd sees it.
type ping struct {
	Host string
	Up   bool
}

// decodeAnswer reads one JSON answer as a stream. Each element of the array
// called list (or the value itself, if it is an object) goes to each as it comes,
// so that no more than one record is held; case does not matter ("QOS", "qos").
// The raw record is valid until each returns. The error wraps ErrDecode: then the
// answer as a whole cannot be trusted, whatever each was given before.
func decodeAnswer(r io.Reader, list string, each func(raw json.RawMessage)) (answer, error) {
	var a answer
	dec := json.NewDecoder(r)
	dec.UseNumber()
	if err := expect(dec, '{'); err != nil {
		return a, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return a, undecodable(err)
		}
		if err := a.field(dec, fmt.Sprint(key), list, each); err != nil {
			return a, err
		}
	}
	return a, expect(dec, '}')
}

// field reads the value of one key of the answer.
func (a *answer) field(dec *json.Decoder, key, list string, each func(raw json.RawMessage)) error {
	if list != "" && strings.EqualFold(key, list) {
		return a.records(dec, each)
	}
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return undecodable(err)
	}
	switch key {
	case "meta":
		a.Meta = readMeta(raw)
	case "errors":
		a.Errors = readRemarks(raw)
	case "warnings":
		a.Warnings = readRemarks(raw)
	case "status", "results":
		a.Status = append(a.Status, readStatus(raw)...)
	case "pings", "ping":
		a.Pings = readPings(raw)
	}
	return nil
}

// records hands over the elements of an array one by one.
func (a *answer) records(dec *json.Decoder, each func(raw json.RawMessage)) error {
	var raw json.RawMessage
	t, err := dec.Token()
	if err != nil {
		return undecodable(err)
	}
	switch t {
	case json.Delim('{'):
		a.Listed = true
		return a.single(dec, each)
	case json.Delim('['):
		a.Listed = true
	default: // null, or a word: no list
		return nil
	}
	for dec.More() {
		if err := dec.Decode(&raw); err != nil {
			return undecodable(err)
		}
		a.Records++
		each(raw)
	}
	return expect(dec, ']')
}

// single hands over an object that stands where the array would; its opening brace
// has been read.
func (a *answer) single(dec *json.Decoder, each func(raw json.RawMessage)) error {
	fields := map[string]json.RawMessage{}
	for dec.More() {
		var raw json.RawMessage
		key, err := dec.Token()
		if err == nil {
			err = dec.Decode(&raw)
		}
		if err != nil {
			return undecodable(err)
		}
		fields[fmt.Sprint(key)] = raw
	}
	if err := expect(dec, '}'); err != nil {
		return err
	}
	whole, err := json.Marshal(fields)
	if err != nil {
		return undecodable(err)
	}
	a.Records++
	each(whole)
	return nil
}

// expect reads one delimiter.
func expect(dec *json.Decoder, want json.Delim) error {
	t, err := dec.Token()
	if err != nil {
		return undecodable(err)
	}
	if t != want {
		if t == nil {
			t = "null"
		}
		return fmt.Errorf("JSON has %v where %q belongs: %w", t, want.String(), ErrDecode)
	}
	return nil
}

// undecodable marks a failure to read JSON. What the reader itself reported (a
// deadline, an answer beyond the size cap) keeps its own class.
func undecodable(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %w", ErrDecode, err)
	}
	return err
}

// readMeta reads meta in both of its forms.
func readMeta(raw json.RawMessage) meta {
	r := newRecord(raw)
	slurm, plugin := r.at("slurm", "Slurm"), r.at("plugin", "plugins")
	return meta{
		Release: slurm.text("release"),
		Cluster: slurm.text("cluster"),
		User:    r.at("client").text("user"),
		Storage: plugin.text("accounting_storage"),
	}
}

// readPings reads the controllers of a ping. Versions say it as "ping":"UP",
// "pinged":"UP" or "responding":true.
func readPings(raw json.RawMessage) []ping {
	var list []ping
	for _, r := range recordsOf(raw) {
		up := r.flag("responding") || strings.EqualFold(r.text("pinged", "ping"), "UP")
		list = append(list, ping{Host: r.text("hostname"), Up: up})
	}
	return list
}

// decodeList decodes the records of an answer one by one. A record that cannot be
// read at all still yields a T, made by decode from an empty record with its
// oddity: nothing is ever dropped.
func decodeList[T any](r io.Reader, list string, decode func(record) T) ([]T, answer, error) {
	var out []T
	a, err := decodeAnswer(r, list, func(raw json.RawMessage) {
		out = append(out, decode(newRecord(raw)))
	})
	if err != nil {
		return nil, a, err
	}
	return out, a, nil
}

// decodeNodes reads an answer with "nodes".
func decodeNodes(r io.Reader) ([]fleet.View, answer, error) {
	return decodeList(r, "nodes", nodeOf)
}

// decodeJobs reads an answer with "jobs" of slurmctld (not of slurmdbd).
func decodeJobs(r io.Reader) ([]fleet.Job, answer, error) {
	return decodeList(r, "jobs", jobOf)
}
