package codec

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Member is one key of a JSON object with its value.
type Member struct {
	Name  string
	Value jsontext.Value
}

// Find returns the value of the member with that name, nil if there is none.
func Find(members []Member, name string) jsontext.Value {
	for i := range members {
		if members[i].Name == name {
			return members[i].Value
		}
	}
	return nil
}

// Members splits an object into its members. The values are copies without white space.
func Members(object jsontext.Value) ([]Member, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(object), Decoding)
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var list []Member
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		value = value.Clone()
		if err := value.Compact(Decoding); err != nil {
			return nil, err
		}
		list = append(list, Member{Name: key, Value: value})
	}
	return list, nil
}

// Rewrite returns an object with every member as edit makes it.
func Rewrite(object jsontext.Value, edit func(name string, value jsontext.Value) (string, jsontext.Value, error)) (jsontext.Value, error) {
	list, err := Members(object)
	if err != nil {
		return nil, err
	}
	for i, m := range list {
		if list[i].Name, list[i].Value, err = edit(m.Name, m.Value); err != nil {
			return nil, err
		}
	}
	return Object(list), nil
}

// RewriteAll returns an array with every element as edit makes it.
func RewriteAll(array jsontext.Value, edit func(jsontext.Value) (jsontext.Value, error)) (jsontext.Value, error) {
	var list []jsontext.Value
	if err := json.Unmarshal(array, &list, Decoding); err != nil {
		return nil, err
	}
	for i, v := range list {
		var err error
		if list[i], err = edit(v.Clone()); err != nil {
			return nil, err
		}
	}
	return json.Marshal(list, Encoding)
}

// Object returns the JSON object that has those members.
func Object(list []Member) jsontext.Value {
	size := len("{}")
	for _, m := range list {
		size += len(m.Name) + len(m.Value) + len(`"":,`)
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, m.Name)
		out = append(append(out, ':'), m.Value...)
	}
	return append(out, '}')
}
