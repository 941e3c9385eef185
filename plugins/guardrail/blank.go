package guardrail

import (
	"reflect"
	"slices"
	"strings"
)

// blanks refuses keys that are there and say nothing: "pii:" over a list that somebody has made a comment of would find
// nothing, and "user:" would be about everybody. Lists that may well be empty, such as trusted_tools, are left alone. It
// returns how many keys there are.
func (r *reader) blanks(path string, form reflect.Value) (keys int) {
	for _, field := range reflect.VisibleFields(form.Type()) {
		name, value := field.Tag.Get("yaml"), form.FieldByIndex(field.Index)
		at := strings.TrimPrefix(path+"."+name, ".")
		if !r.Has(at) {
			continue
		}
		keys++
		switch {
		case name == "id":
		case value.Kind() == reflect.Struct && value.NumField() > 0:
			if r.blanks(at, value) == 0 && slices.Contains([]string{"detect", "scope"}, name) {
				r.blank(at, name)
			}
		case value.Kind() == reflect.String && value.Len() == 0:
			r.blank(at, name)
		case value.Kind() == reflect.Interface:
			if v := value.Elem(); !v.IsValid() || slices.Contains([]reflect.Kind{reflect.String, reflect.Slice, reflect.Map}, v.Kind()) && v.Len() == 0 {
				r.blank(at, name)
			}
		}
	}
	return keys
}

func (r *reader) blank(path, name string) {
	r.bad(path, "%s says nothing; give it a value, or leave the key out", name)
}
