package extract

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
)

// header is the first line of a ledger.
const header = "Values:"

// stateJSON is how a State is stored beside its text.
type stateJSON struct {
	Texts  float64 `json:"texts,omitempty"`
	Terms  *sketch `json:"terms,omitempty"`
	Lines  string  `json:"lines,omitempty"`  // the weight of each sentence, and whether it is from a long text, in their order
	Events int     `json:"events,omitempty"` // how many were taken in so far
	Values string  `json:"values,omitempty"` // the age of each value in events, and whether it was used, in the order of the text
}

// weightUnit is what a sentence's weight is multiplied with before it is stored as an integer, at least 1 and
// less than fromLongText. In an older State, 0 stands for a text that was kept whole.
const weightUnit = 256

// fromLongText is added to the stored weight of a sentence of a long text.
const fromLongText = 1 << 15

// MarshalJSON writes what Resume needs besides the text: numbers in the order of the text's lines and values,
// and counts of hashed words. It contains nothing of what was said.
func (s *State) MarshalJSON() ([]byte, error) {
	j := stateJSON{Texts: s.terms.texts, Events: s.ledger.events}
	if s.terms.cells != nil {
		j.Terms = &s.terms
	}
	var lines []byte
	for _, sen := range s.sentences {
		n := uint16(min(max(1, sen.weight*weightUnit), fromLongText-1))
		if sen.long {
			n |= fromLongText
		}
		lines = binary.LittleEndian.AppendUint16(lines, n)
	}
	var values []byte
	for _, r := range s.ledger.records {
		for _, f := range r.Fields {
			h := s.ledger.history[f.key()]
			n := uint16(min(s.ledger.events-h.Seen, 1<<14)) << 1
			if h.Used {
				n |= 1
			}
			values = binary.LittleEndian.AppendUint16(values, n)
		}
	}
	j.Lines = base64.RawStdEncoding.EncodeToString(lines)
	j.Values = base64.RawStdEncoding.EncodeToString(values)
	return json.Marshal(j)
}

// Resume returns the State that a compaction left. data is the State's JSON, and text is the text of the
// compaction as it is stored. Words count only if the text still has them. If data is missing, broken, or
// belongs to another text, the sentences and values of the text count as new.
func Resume(data []byte, text string) *State {
	s := new(State)
	var j stateJSON
	if err := json.Unmarshal(data, &j); err == nil {
		if j.Terms != nil {
			s.terms = *j.Terms
		}
		s.terms.texts = min(max(0, j.Texts), maxTexts)
		s.ledger.events = min(max(0, j.Events), 1<<40)
	}

	// The sentences, with the weights that they had. What has no weight may be several sentences.
	prose, values := Split(valid(text))
	parsed := parseSentences(prose)
	weights := unpack(j.Lines)
	for i, sen := range parsed {
		if len(weights) == len(parsed) {
			sen.weight = float64(weights[i]&^fromLongText) / weightUnit
			sen.long = weights[i]&fromLongText != 0
		}
		if sen.weight > 0 {
			s.sentences = append(s.sentences, sen)
		} else {
			s.addSentences(sen, split(sen.text))
		}
	}

	// The records, with the age and use of each value.
	s.ledger.records = parseRecords(values)
	s.ledger.history = map[string]history{}
	ages := unpack(j.Values)
	known := len(ages) == s.ledger.fields()
	n := 0
	for _, r := range s.ledger.records {
		for _, f := range r.Fields {
			h := history{Seen: s.ledger.events}
			if known {
				h.Seen -= int(ages[n] >> 1)
				h.Used = ages[n]&1 == 1
			}
			s.ledger.history[f.key()] = h
			n++
		}
	}
	return s
}

func unpack(text string) (list []uint16) {
	data, _ := base64.RawStdEncoding.DecodeString(text)
	for ; len(data) >= 2; data = data[2:] {
		list = append(list, binary.LittleEndian.Uint16(data))
	}
	return list
}

// Split cuts a text into prose and ledger. The text may be from State.Text, or any prose followed by an empty
// line and the result of State.Ledger.
func Split(text string) (prose, ledger string) {
	if strings.HasPrefix(text, header+"\n") {
		return "", text
	}
	i := strings.LastIndex(text, apart+header+"\n")
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i+len(apart):]
}

// parseRecords reads a ledger as ledger.draw writes it. If a row could mean two records, it returns one that
// is written the same way again.
func parseRecords(text string) (records []*record) {
	for row := range strings.SplitSeq(strings.TrimPrefix(text, header), "\n") {
		if row == "" {
			continue
		}
		head, rest, more := strings.Cut(row, ": ")

		// The head is a tool's name, or what the record is about, or both.
		r := &record{}
		if name, about, ok := strings.Cut(head, " "); ok || kindOf(head) != ident {
			r.Name = name
			head = about
		}
		for v := range strings.SplitSeq(head, between) {
			if v != "" {
				r.Fields = append(r.Fields, field{Value: v})
			}
		}
		r.Keys = len(r.Fields)

		// The rest is fields, with labels where the value does not explain itself.
		if more {
			parent := ""
			for v := range strings.SplitSeq(rest, between) {
				f := field{Value: v}
				label, value, ok := strings.Cut(v, " ")
				if ok && !kindOf(value).bare() {
					if strings.HasPrefix(label, ".") {
						label = strings.TrimSuffix(parent, ".") + label
					}
					f = field{Label: label, Value: value}
					parent = label[:strings.LastIndexByte(label, '.')+1]
				}
				r.Fields = append(r.Fields, f)
			}
		}
		if len(r.Fields) == 0 { // somebody has changed the text
			r.Name = ""
			r.Fields = []field{{Value: row}}
		}
		records = append(records, r)
	}
	return records
}
