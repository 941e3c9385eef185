package extract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A collector puts the values of one call or response into records.
type collector struct {
	ledger *ledger
	used   bool // by a call
}

const (
	maxDepth = 16
	maxKeys  = 3 // arguments that say what a call is about
)

// call returns the record of a call: it is about those of its arguments that are exact.
func (c *collector) call(tool string, args map[string]any) *record {
	r := &record{Name: cmp.Or(token(tool), "_")}
	for _, k := range slices.Sorted(maps.Keys(args)) {
		if s, ok := args[k].(string); ok && kindOf(s) >= date && r.Keys < maxKeys {
			c.value(r, k, s)
			r.Keys = len(r.Fields)
		}
	}
	head := r.Keys
	rest := &record{}
	c.collect(rest, "", args, 0)
	for _, f := range rest.Fields {
		if !slices.Contains(r.Fields[:head], f) {
			r.Fields = append(r.Fields, f)
		}
	}
	return r
}

// collect takes in a JSON value. Scalars become fields of the record; an object that has a name of its own
// becomes another record.
func (c *collector) collect(r *record, label string, v any, depth int) {
	if depth > maxDepth {
		return
	}
	switch v := v.(type) {
	case nil:
	case map[string]any:
		f, ok := field{}, false
		if depth > 0 || len(r.Fields) == 0 && !c.used {
			f, ok = named(label, v)
		}
		switch {
		case ok && depth == 0:
			r.Keys, r.Fields = 1, append(r.Fields, f)
			c.ledger.note(f, c.used)
		case ok:
			sub := &record{Keys: 1, Fields: []field{f}}
			c.ledger.note(f, c.used)
			c.fields(sub, "", v, depth)
			c.ledger.put(sub)
			return
		}
		c.fields(r, label, v, depth)
	case []any:
		for _, x := range v {
			c.collect(r, label, x, depth+1)
		}
	case string:
		if t := strings.TrimSpace(v); len(t) > 1 && (t[0] == '{' || t[0] == '[') {
			var inner any
			dec := json.NewDecoder(strings.NewReader(t))
			dec.UseNumber()
			if dec.Decode(&inner) == nil {
				c.collect(r, label, inner, depth+1)
				return
			}
		}
		c.value(r, label, v)
	case float64:
		c.value(r, label, strconv.FormatFloat(v, 'f', -1, 64))
	case bool, int, json.Number:
		c.value(r, label, fmt.Sprint(v))
	default: // what a program put into its own log
		var plain any
		if data, err := json.Marshal(v); err == nil && json.Unmarshal(data, &plain) == nil {
			c.collect(r, label, plain, depth+1)
		}
	}
}

func (c *collector) fields(r *record, label string, v map[string]any, depth int) {
	if label != "" {
		label += "."
	}
	for _, k := range slices.Sorted(maps.Keys(v)) {
		c.collect(r, label+k, v[k], depth+1)
	}
}

// named returns the identifier that an object is known by: its key, or the value of a field whose name says so,
// or else the first value that can only be one.
func named(label string, v map[string]any) (field, bool) {
	if at := strings.LastIndexByte(label, '.'); kindOf(label[at+1:]) == ident {
		return field{"", valid(label[at+1:])}, true
	}
	var second field
	for _, k := range slices.Sorted(maps.Keys(v)) {
		s, ok := v[k].(string)
		if !ok || kindOf(s) != ident || strings.ContainsAny(s, "@/") || !utf8.ValidString(s) || !utf8.ValidString(k) {
			continue
		}
		for _, end := range []string{"id", "number", "no", "code", "key", "name"} {
			if strings.HasSuffix(strings.ToLower(k), end) {
				return field{k, s}, true
			}
		}
		if second.Value == "" && strings.Map(onlyDigits, s) != s {
			second = field{k, s}
		}
	}
	return second, second.Value != ""
}

func onlyDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return r
	}
	return -1
}

// value adds a scalar to a record, or what is exact in it if it is prose.
func (c *collector) value(r *record, label, v string) {
	v = strings.TrimSpace(valid(v))
	if v == "" || len(r.Fields) > 0 && r.Keys > 0 && r.Fields[0].Value == v {
		return
	}
	if label == "result" || label == "output" {
		label = ""
	}
	if kindOf(v) == phrase {
		for _, x := range literals(v) {
			f := field{token(label), x}
			c.ledger.note(f, c.used)
			r.Fields = append(r.Fields, f)
		}
		return
	}
	f := field{token(label), v}
	c.ledger.note(f, c.used)
	r.Fields = append(r.Fields, f)
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// token is a name as one word, without the marks that have a meaning in the ledger.
func token(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == ':' || r == ',' || unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, valid(s))
}
