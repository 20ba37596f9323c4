package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

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
	return json.Unmarshal(b, c)
}

// walker brings keys into the form of the struct tags, and gathers unknown ones and
// values of the wrong kind.
type walker struct{ errs []error }

// want notes a value that is not of the kind its field has.
func (w *walker) want(path string, v any, kind string) any {
	w.errs = append(w.errs, fmt.Errorf("%s is %s; it must be %s", cmp.Or(path, "the file"), kindOf(v), kind))
	return nil
}

// kindOf names the kind of a value as people know it.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "empty"
	case bool:
		return "true or false"
	case string:
		return "a text"
	case []any:
		return "a list"
	case map[string]any:
		return "a group of fields"
	}
	return "a number"
}

func (w *walker) value(path string, v any, t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	group, isGroup := v.(map[string]any)
	list, isList := v.([]any)
	text, isText := v.(string)
	switch {
	case t.Kind() == reflect.Struct && v == nil: // "local:" with nothing after it is a choice too
		return map[string]any{}
	case v == nil:
		return nil
	case t.Kind() == reflect.Struct && isGroup:
		return w.object(path, group, t)
	case t.Kind() == reflect.Struct || t.Kind() == reflect.Map && !isGroup:
		return w.want(path, v, "a group of fields")
	case t.Kind() == reflect.Slice && isList:
		for i := range list {
			list[i] = w.value(fmt.Sprintf("%s[%d]", path, i), list[i], t.Elem())
		}
	case t.Kind() == reflect.Slice && !(isText && t == reflect.TypeFor[Strings]()):
		return w.want(path, v, "a list")
	case t == reflect.TypeFor[Duration]():
		if _, err := time.ParseDuration(text); err != nil {
			return w.want(path, v, "a duration with a unit, such as 10s or 5m")
		}
	default:
		return w.plain(path, v, t.Kind())
	}
	return v
}

// plain checks a value that is neither a list nor a group.
func (w *walker) plain(path string, v any, kind reflect.Kind) any {
	_, isText := v.(string)
	_, isBool := v.(bool)
	n, isNumber := v.(float64)
	switch {
	case kind == reflect.String && !isText:
		return w.want(path, v, "a text; put it in quotes")
	case kind == reflect.Bool && !isBool:
		return w.want(path, v, "true or false")
	case kind == reflect.Int && (!isNumber || n != math.Trunc(n) || math.Abs(n) > 1<<31):
		return w.want(path, v, "a whole number")
	case kind == reflect.Float64 && !isNumber:
		return w.want(path, v, "a number")
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
