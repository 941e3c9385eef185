package extract

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
)

const header = "Values:" // is the ledger's first line

// Split cuts a text that Text made, or a prose with what Ledger made behind it, into the two.
func Split(text string) (prose, ledger string) {
	if strings.HasPrefix(text, header+"\n") {
		return "", text
	}
	if i := strings.LastIndex(text, "\n\n"+header+"\n"); i >= 0 {
		return text[:i], text[i+2:]
	}
	return text, ""
}

// Resume returns the state that a compaction left: data is its JSON, and text what the compaction stands for its
// events with, as it is stored. Only what the text says counts: if somebody has taken words out of it, they are gone.
// Without data, or with that of another text, the lines and values of the text count as if they were new.
func Resume(data []byte, text string) *State {
	s := new(State)
	var j stateJSON
	if json.Unmarshal(data, &j) == nil {
		if j.Terms != nil {
			s.terms = *j.Terms
		}
		s.terms.texts = min(max(0, j.Texts), maxTexts)
		s.ledger.events = min(max(0, j.Events), 1<<40)
	}
	prose, values := Split(valid(text))
	s.lines = parseLines(prose)
	if weights := unpack(j.Lines); len(weights) == len(s.lines) {
		for i, w := range weights {
			s.lines[i].weight = float64(min(w, 1<<8)) / weightUnit
		}
	}
	s.ledger.records = parseRecords(values)
	s.ledger.had = map[string]had{}
	ages, n := unpack(j.Values), 0
	known := len(ages) == s.ledger.fields()
	for _, r := range s.ledger.records {
		for _, f := range r.Fields {
			h := had{Seen: s.ledger.events}
			if known {
				h = had{s.ledger.events - int(ages[n]>>1), ages[n]&1 == 1}
			}
			s.ledger.had[f.key()] = h
			n++
		}
	}
	return s
}

type stateJSON struct {
	Texts  float64 `json:"texts,omitempty"`
	Terms  *sketch `json:"terms,omitempty"`
	Lines  string  `json:"lines,omitempty"`  // the weight of each, in their order
	Events int     `json:"events,omitempty"` // taken in so far
	Values string  `json:"values,omitempty"` // the age of each in events, and whether it was used, in their order
}

const weightUnit = 16 // to an int, of line.weight

// MarshalJSON writes what Resume needs besides the text: numbers in the order of its lines and values, and hashed counts of
// words. Nothing of what was said can be had from it.
func (s *State) MarshalJSON() ([]byte, error) {
	j := stateJSON{Texts: s.terms.texts, Events: s.ledger.events}
	if s.terms.cells != nil {
		j.Terms = &s.terms
	}
	var lines, values []byte
	for _, l := range s.lines {
		lines = binary.LittleEndian.AppendUint16(lines, uint16(l.weight*weightUnit))
	}
	for _, r := range s.ledger.records {
		for _, f := range r.Fields {
			h := s.ledger.had[f.key()]
			n := uint16(min(s.ledger.events-h.Seen, 1<<14)) << 1
			if h.Used {
				n |= 1
			}
			values = binary.LittleEndian.AppendUint16(values, n)
		}
	}
	j.Lines, j.Values = base64.RawStdEncoding.EncodeToString(lines), base64.RawStdEncoding.EncodeToString(values)
	return json.Marshal(j)
}

// fields is how many values the ledger has.
func (l *ledger) fields() (n int) {
	for _, r := range l.records {
		n += len(r.Fields)
	}
	return n
}

func unpack(text string) (list []uint16) {
	data, _ := base64.RawStdEncoding.DecodeString(text)
	for ; len(data) >= 2; data = data[2:] {
		list = append(list, binary.LittleEndian.Uint16(data))
	}
	return list
}
