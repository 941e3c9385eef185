package session

import (
	"bytes"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session/internal/codec"
)

// unchanged returns origin, the JSON that an event was read from, on one line and with the position of p, if no other
// field of p has changed since. It returns nil if one has, or if finding out would be slow. Most events are unchanged.
func unchanged(origin jsontext.Value, p plain) []byte {
	was, err := readPlain(origin, codec.Decoding)
	if err != nil || codec.LongNumber(origin) {
		return nil
	}
	seq := p.Seq
	if seq == was.Seq {
		seq = 0
	} else if was.Seq != 0 || bytes.Contains(origin, []byte(`"seq"`)) || bytes.Contains(origin, []byte(`\u00`)) {
		return nil // the position stands there already, perhaps with its name in escapes
	}
	p.Seq = was.Seq
	p.origin = nil
	if !reflect.DeepEqual(&p, was) {
		return nil
	}
	data := origin.Clone()
	if data.Compact(codec.Decoding) != nil {
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
	p, err := readPlain(origin, codec.Lenient)
	if err != nil {
		return nil, err
	}
	was, err := json.Marshal(p, codec.Encoding)
	if err != nil {
		return nil, err
	}
	return merge(origin, was, now, true)
}

func merge(origin, was, now jsontext.Value, event bool) ([]byte, error) {
	o, err := codec.Members(origin)
	if err != nil {
		return nil, err
	}
	w, err := codec.Members(was)
	if err != nil {
		return nil, err
	}
	n, err := codec.Members(now)
	if err != nil {
		return nil, err
	}
	out := make([]codec.Member, 0, len(o)+len(n))
	add := func(name string, value jsontext.Value) {
		out = append(out, codec.Member{Name: name, Value: value})
	}
	for _, m := range o { // what was read, in its order
		before, now := codec.Find(w, m.Name), codec.Find(n, m.Name)
		switch {
		case event && m.Name == "timestamp" && m.Value.Kind() == '0' && now != nil:
			add(m.Name, now)
		case bytes.Equal(before, now): // unchanged, or without a field that says more than its absence
			add(m.Name, m.Value)
		case event && m.Name == "actions" && before != nil && now != nil && m.Value.Kind() == '{':
			if value, err := merge(m.Value, before, now, false); err == nil {
				add(m.Name, value)
			} else {
				return nil, err
			}
		case now != nil:
			add(m.Name, now)
		}
	}
	for _, m := range n { // what came since
		if codec.Find(o, m.Name) == nil {
			add(m.Name, m.Value)
		}
	}
	return codec.Object(out), nil
}
