package session

import (
	"bytes"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// member is one key of a JSON object with its value.
type member struct {
	name  string
	value jsontext.Value
}

// unchanged returns origin with p's position, on one line, if p is otherwise what origin says, and nil
// if it is not or if that is not told quickly. Most events are written as they were read.
func unchanged(origin jsontext.Value, p plain) []byte {
	var was plain
	if json.Unmarshal(origin, &was, decoding) != nil || longNumber(origin) {
		return nil
	}
	seq := p.Seq
	if seq == was.Seq {
		seq = 0
	} else if was.Seq != 0 || bytes.Contains(origin, []byte(`"seq"`)) || bytes.Contains(origin, []byte(`\u00`)) {
		return nil // the position stands there already, perhaps with its name in escapes
	}
	p.Seq, p.origin = was.Seq, nil
	if !reflect.DeepEqual(&p, &was) {
		return nil
	}
	data := origin.Clone()
	if data.Compact(decoding) != nil {
		return nil
	}
	if seq == 0 {
		return data
	}
	data = data[:len(data)-1]
	if len(data) > 1 {
		data = append(data, ',')
	}
	return append(strconv.AppendInt(append(data, `"seq":`...), seq, 10), '}')
}

// restore writes an event, encoded as now, with every field that did not change since it was read as
// it stood in origin. What changed is found by comparing with what origin alone encodes to.
func restore(origin, now jsontext.Value) ([]byte, error) {
	var p plain
	if err := json.Unmarshal(origin, &p, lenient); err != nil {
		return nil, err
	}
	was, err := json.Marshal(&p, encoding)
	if err != nil {
		return nil, err
	}
	return merge(origin, was, now, true)
}

func merge(origin, was, now jsontext.Value, event bool) ([]byte, error) {
	o, err := members(origin)
	if err != nil {
		return nil, err
	}
	w, err := members(was)
	if err != nil {
		return nil, err
	}
	n, err := members(now)
	if err != nil {
		return nil, err
	}
	out := []byte{'{'}
	add := func(name string, value jsontext.Value) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name) // the name was read from JSON
		out = append(append(out, ':'), value...)
	}
	for _, m := range o { // what was read, in its order
		before, now := find(w, m.name), find(n, m.name)
		switch {
		case event && m.name == "timestamp" && m.value.Kind() == '0' && now != nil:
			add(m.name, now)
		case bytes.Equal(before, now): // unchanged, or without a field that says more than its absence
			add(m.name, m.value)
		case event && m.name == "actions" && before != nil && now != nil && m.value.Kind() == '{':
			if value, err := merge(m.value, before, now, false); err == nil {
				add(m.name, value)
			} else {
				return nil, err
			}
		case now != nil:
			add(m.name, now)
		}
	}
	for _, m := range n { // what came since
		if find(o, m.name) == nil {
			add(m.name, m.value)
		}
	}
	return append(out, '}'), nil
}

func find(members []member, name string) jsontext.Value {
	for i := range members {
		if members[i].name == name {
			return members[i].value
		}
	}
	return nil
}

// members splits an object; the values are parts of it, without white space around them.
func members(object jsontext.Value) ([]member, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(object), decoding)
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var list []member
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
		if err := value.Compact(decoding); err != nil {
			return nil, err
		}
		list = append(list, member{key, value})
	}
	return list, nil
}
