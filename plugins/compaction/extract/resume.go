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
	weights := unpack(j.Lines)
	for i := range s.lines {
		l := &s.lines[i]
		if w, ok := weights[short(l.text)]; ok {
			l.weight = float64(min(w, 1<<8)) / weightUnit
		}
	}
	s.ledger.records = parseRecords(values)
	s.ledger.had = map[string]had{}
	ages := unpack(j.Values)
	for _, r := range s.ledger.records {
		for _, f := range r.Fields {
			h := had{Seen: s.ledger.events}
			if age, ok := ages[short(f.key())]; ok {
				h = had{s.ledger.events - int(age>>1), age&1 == 1}
			}
			s.ledger.had[f.key()] = h
		}
	}
	return s
}

type stateJSON struct {
	Texts  float64 `json:"texts,omitempty"`
	Terms  *sketch `json:"terms,omitempty"`
	Lines  string  `json:"lines,omitempty"`  // of each, hash and weight
	Events int     `json:"events,omitempty"` // taken in so far
	Values string  `json:"values,omitempty"` // of each, hash, age in events, and whether it was used
}

const weightUnit = 16 // to an int, of line.weight

// MarshalJSON writes what Resume needs besides the text: numbers and hashes, and nothing of what was said.
func (s *State) MarshalJSON() ([]byte, error) {
	j := stateJSON{Texts: s.terms.texts, Events: s.ledger.events}
	if s.terms.cells != nil {
		j.Terms = &s.terms
	}
	var lines, values []byte
	for _, l := range s.lines {
		lines = pack(lines, l.text, uint16(l.weight*weightUnit))
	}
	for _, r := range s.ledger.records {
		for _, f := range r.Fields {
			h := s.ledger.had[f.key()]
			n := uint16(min(s.ledger.events-h.Seen, 1<<14)) << 1
			if h.Used {
				n |= 1
			}
			values = pack(values, f.key(), n)
		}
	}
	j.Lines, j.Values = base64.RawStdEncoding.EncodeToString(lines), base64.RawStdEncoding.EncodeToString(values)
	return json.Marshal(j)
}

// short is three bytes of a hash: enough to know a line among some hundred again.
func short(text string) uint32 { return uint32(key(text) >> 40) }

func pack(data []byte, text string, n uint16) []byte {
	k := short(text)
	return binary.LittleEndian.AppendUint16(append(data, byte(k), byte(k>>8), byte(k>>16)), n)
}

func unpack(text string) map[uint32]uint16 {
	data, _ := base64.RawStdEncoding.DecodeString(text)
	m := map[uint32]uint16{}
	for ; len(data) >= 5; data = data[5:] {
		m[uint32(data[0])|uint32(data[1])<<8|uint32(data[2])<<16] = binary.LittleEndian.Uint16(data[3:])
	}
	return m
}
