package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// decode reads one file's text over c. Keys may be written nodesPerWindow or
// nodes_per_window. Unknown keys are errors that name the nearest known one.
func decode(text []byte, c *Config) error {
	var raw any
	if err := yaml.UnmarshalStrict(text, &raw); err != nil {
		return fmt.Errorf("not YAML: %w", err)
	}
	if raw == nil {
		return nil
	}
	var w walker
	raw = w.value("", raw, reflect.TypeFor[Config]())
	if len(w.errs) > 0 {
		return errors.Join(w.errs...)
	}
	b, err := json.Marshal(raw)
	if err != nil {
		return fmt.Errorf("not a config: %w", err)
	}
	var wrong *json.UnmarshalTypeError
	switch err = json.Unmarshal(b, c); {
	case errors.As(err, &wrong):
		return fmt.Errorf("%s is %s; it must be %s", wrong.Field, wrong.Value, wrong.Type)
	case err != nil:
		return err
	}
	return nil
}

// walker brings keys into the form of the struct tags and gathers unknown ones.
type walker struct{ errs []error }

func (w *walker) value(path string, v any, t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		m, ok := v.(map[string]any)
		if v == nil { // "local:" with nothing after it is a choice too
			m, ok = map[string]any{}, true
		}
		if !ok {
			return v // the decoder says what is wrong with it
		}
		return w.object(path, m, t)
	case reflect.Slice:
		if list, ok := v.([]any); ok {
			for i := range list {
				list[i] = w.value(fmt.Sprintf("%s[%d]", path, i), list[i], t.Elem())
			}
		}
	}
	return v
}

func (w *walker) object(path string, m map[string]any, t reflect.Type) map[string]any {
	fields := map[string]reflect.StructField{}
	var known []string
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[flat(name)] = f
		known = append(known, name)
	}
	out := make(map[string]any, len(m))
	for _, key := range sortedKeys(m) {
		f, ok := fields[flat(key)]
		at := strings.TrimPrefix(path+"."+key, ".")
		if !ok {
			w.errs = append(w.errs, fmt.Errorf("%s is not known; did you mean %s?", at, nearest(key, known)))
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if _, twice := out[name]; twice {
			w.errs = append(w.errs, fmt.Errorf("%s is set twice", at))
		}
		out[name] = w.value(at, m[key], f.Type)
	}
	return out
}

// flat is a key without case and underscores.
func flat(key string) string { return strings.ToLower(strings.ReplaceAll(key, "_", "")) }

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// nearest is the known name with the least edit distance.
func nearest(key string, known []string) string {
	return slices.MinFunc(known, func(a, b string) int {
		return distance(flat(key), flat(a)) - distance(flat(key), flat(b))
	})
}

// distance is the Levenshtein distance of two short words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
