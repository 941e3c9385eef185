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
	used   bool // the values are a call's
}

const (
	maxDepth  = 16 // how deep values may be nested
	maxListed = 8  // how many values a text of a response may have that is no list

	maxKeys = 3 // how many arguments say what a call is about
)

// call returns the record of a call. The call is about those of its arguments that are exact.
func (c *collector) call(tool string, args map[string]any) *record {
	r := &record{Name: cmp.Or(oneWord(tool), "_")}
	for _, k := range slices.Sorted(maps.Keys(args)) {
		s, ok := args[k].(string)
		if ok && kindOf(s) >= date && r.Keys < maxKeys {
			c.value(r, k, s)
			r.Keys = len(r.Fields)
		}
	}

	// The other arguments follow.
	all := &record{}
	c.collect(all, "", args, 0)
	keys := r.Fields[:r.Keys]
	for _, f := range all.Fields {
		if !slices.Contains(keys, f) {
			r.Fields = append(r.Fields, f)
		}
	}
	return r
}

// collect takes in a JSON value. A scalar becomes a field of the record. An object that has an identifier
// becomes a record of its own.
func (c *collector) collect(r *record, label string, v any, depth int) {
	if depth > maxDepth {
		return
	}
	switch v := v.(type) {
	case nil:
	case map[string]any:
		c.object(r, label, v, depth)
	case []any:
		for _, x := range v {
			c.collect(r, label, x, depth+1)
		}
	case string:
		if inner, ok := parseJSON(v); ok {
			c.collect(r, label, inner, depth+1)
			return
		}
		c.value(r, label, v)
	case float64:
		c.value(r, label, strconv.FormatFloat(v, 'f', -1, 64))
	case bool, int, json.Number:
		c.value(r, label, fmt.Sprint(v))
	default: // a Go value of a program that uses the store directly
		data, err := json.Marshal(v)
		if err != nil {
			return
		}
		var plain any
		if err := json.Unmarshal(data, &plain); err == nil {
			c.collect(r, label, plain, depth+1)
		}
	}
}

// parseJSON returns the object or array that a string is the JSON of.
func parseJSON(s string) (v any, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != '{' && s[0] != '[' {
		return nil, false
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	err := dec.Decode(&v)
	return v, err == nil
}

// object takes in an object: into a record of its own if the object has an identifier, else into r. The
// outermost object of a response names r, if r is not about anything yet.
func (c *collector) object(r *record, label string, v map[string]any, depth int) {
	mayName := depth > 0 || len(r.Fields) == 0 && !c.used
	if mayName {
		id, ok := identifier(label, v)
		if ok {
			c.ledger.note(id, c.used)
		}
		switch {
		case ok && depth > 0:
			own := &record{Keys: 1, Fields: []field{id}}
			c.members(own, "", v, depth)
			c.ledger.put(own)
			return
		case ok:
			r.Keys = 1
			r.Fields = append(r.Fields, id)
		}
	}
	c.members(r, label, v, depth)
}

// members takes in the members of an object.
func (c *collector) members(r *record, label string, v map[string]any, depth int) {
	if label != "" {
		label += "."
	}
	for _, k := range slices.Sorted(maps.Keys(v)) {
		c.collect(r, label+k, v[k], depth+1)
	}
}

// identifier returns what identifies an object: the key that it has in its parent, if that is an identifier;
// or the value of a member whose name says so; or the first value that can only be an identifier.
func identifier(label string, v map[string]any) (id field, ok bool) {
	key := label[strings.LastIndexByte(label, '.')+1:]
	if kindOf(key) == ident {
		return field{Value: valid(key)}, true
	}
	for _, k := range slices.Sorted(maps.Keys(v)) {
		s, ok := v[k].(string)
		if !ok || kindOf(s) != ident || strings.ContainsAny(s, "@/") || !utf8.ValidString(s) ||
			!utf8.ValidString(k) {
			continue
		}
		for _, end := range []string{"id", "number", "no", "code", "key", "name"} {
			if strings.HasSuffix(strings.ToLower(k), end) {
				return field{Label: k, Value: s}, true
			}
		}
		if id.Value == "" && strings.Trim(s, "0123456789") != "" {
			id = field{Label: k, Value: s}
		}
	}
	return id, id.Value != ""
}

// value adds a scalar to a record. Of prose it adds the exact values only.
func (c *collector) value(r *record, label, v string) {
	v = strings.TrimSpace(valid(v))
	isKey := r.Keys > 0 && len(r.Fields) > 0 && r.Fields[0].Value == v
	if v == "" || isKey {
		return
	}
	if label == "result" || label == "output" {
		label = ""
	}
	values := []string{v}
	if kindOf(v) == phrase {
		values = literals(v)
		if !c.used && (isLong(v) || len(values) > maxListed) {
			c.ledger.mention(pastedRecord, values, false)
			return
		}
	}
	for _, v := range values {
		f := field{Label: labelOf(label), Value: v}
		c.ledger.note(f, c.used)
		r.Fields = append(r.Fields, f)
	}
}

// labelOf returns a label for the ledger, where a point at the beginning stands for the path of the label
// before.
func labelOf(path string) string {
	label := oneWord(path)
	if strings.HasPrefix(label, ".") {
		return "_" + label[1:]
	}
	return label
}

// oneWord returns a name as one word, without the characters that have a meaning in the ledger.
func oneWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == ':' || r == ',' || unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, valid(s))
}
