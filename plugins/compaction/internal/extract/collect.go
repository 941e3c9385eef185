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

	"github.com/plughook/plughook/internal/told"
)

// A collector puts the values of one call or response into records.
type collector struct {
	ledger *ledger
	used   bool // the values are a call's
}

const (
	maxDepth  = 16 // how deep values may be nested
	maxListed = 8  // how many values a text of a response may have that is no list
	maxKeys   = 3  // how many arguments say what a call is about
)

// call returns the record of a call. The call is about those of its arguments that are exact.
func (c *collector) call(tool string, args map[string]any) *record {
	r := &record{}
	var about []string
	for _, k := range slices.Sorted(maps.Keys(args)) {
		s, ok := args[k].(string)
		s = strings.TrimSpace(valid(s))
		if ok && kindOf(s) >= date && len(about) < maxKeys {
			about = append(about, s)
			c.ledger.note(field{value: s}, true)
		} else {
			c.collect(r, k, args[k], 0)
		}
	}
	r.head = strings.TrimSuffix(cmp.Or(oneWord(tool), "_")+" "+strings.Join(about, between), " ")
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
		c.collect(r, label, strings.Trim(told.JSON(v), `"`), depth+1)
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
	id := identifier(label, v)
	switch {
	case id == "":
	case depth > 0:
		own := &record{head: id}
		c.ledger.note(field{value: id}, c.used)
		c.members(own, "", v, depth)
		c.ledger.put(own)
		return
	case !c.used && len(r.about()) == 0:
		r.head += " " + id
		c.ledger.note(field{value: id}, false)
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
// or the value of a member whose name says so; or the first value that can only be an identifier. It is "" if
// there is none.
func identifier(label string, v map[string]any) (id string) {
	key := label[strings.LastIndexByte(label, '.')+1:]
	if kindOf(key) == ident {
		return valid(key)
	}
	for _, k := range slices.Sorted(maps.Keys(v)) {
		s, ok := v[k].(string)
		if !ok || kindOf(s) != ident || strings.ContainsAny(s, "@/") || !utf8.ValidString(s) {
			continue
		}
		for _, end := range []string{"id", "number", "no", "code", "key", "name"} {
			if strings.HasSuffix(strings.ToLower(k), end) {
				return s
			}
		}
		if id == "" && strings.Trim(s, "0123456789") != "" {
			id = s
		}
	}
	return id
}

// value adds a scalar to a record. Of prose it adds the exact values only.
func (c *collector) value(r *record, label, v string) {
	v = strings.TrimSpace(valid(v))
	if v == "" || strings.HasSuffix(" "+r.head, " "+v) {
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
		f := newField(oneWord(label), v)
		c.ledger.note(f, c.used)
		r.fields = append(r.fields, f)
	}
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
