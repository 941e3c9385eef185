package extract

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"
)

// header is the first line of a ledger.
const header = "Values:"

// stateJSON is how a State is stored beside its text.
type stateJSON struct {
	Texts  float64 `json:"texts,omitempty"`
	Terms  *sketch `json:"terms,omitempty"`
	Lines  string  `json:"lines,omitempty"`  // the weight of each line, and whether it is of a long text, in the order of the text
	Events int     `json:"events,omitempty"` // how many were taken in so far
	Values string  `json:"values,omitempty"` // the age of each value in events, and whether it was used, in the order of the text
}

// weightUnit is what a line's weight is multiplied with before it is stored as an integer, at least 1 and less than longLine:
// 0 stands for a whole text.
const weightUnit = 256

// longLine is added to the stored weight of a part of a long text.
const longLine = 1 << 15

// MarshalJSON writes what Resume needs besides the text: numbers in the order of the text's lines and values, and
// counts of hashed words. It contains nothing of what was said.
func (s *State) MarshalJSON() ([]byte, error) {
	j := stateJSON{Texts: s.terms.texts, Events: s.ledger.events}
	if s.terms.cells != nil {
		j.Terms = &s.terms
	}
	var lines []byte
	for _, l := range s.lines {
		n := uint16(0)
		if l.weight > 0 {
			n = uint16(min(max(1, l.weight*weightUnit), longLine-1))
		}
		if l.long {
			n |= longLine
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

// Resume returns the State that a compaction left. data is the State's JSON, and text is the text of the compaction
// as it is stored. Words count only if the text still has them. If data is missing, broken, or belongs to another
// text, the lines and values of the text count as new.
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

	// The lines, with the weights that they had.
	prose, values := Split(valid(text))
	s.lines = parseLines(prose)
	weights := unpack(j.Lines)
	if len(weights) == len(s.lines) {
		for i, w := range weights {
			s.lines[i].weight = float64(w&^longLine) / weightUnit
			s.lines[i].long = w&longLine != 0
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

// Split cuts a text into prose and ledger. The text may be from State.Text, or any prose followed by an empty line
// and the result of State.Ledger.
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

// parseLines reads prose as drawLines writes it. It reads any other text too, as lines.
func parseLines(prose string) (lines []line) {
	abbreviations := map[string]string{} // by author
	day := ""
	year := ""
	for row := range strings.SplitSeq(prose, "\n") {
		if row == "" {
			continue
		}

		// A row in brackets is the day of the rows after it; the year is left out if it is the same.
		if date, ok := strings.CutPrefix(strings.TrimSuffix(row, "]"), "["); ok {
			if strings.Count(date, " ") == 1 {
				date += " " + year
			}
			if t, err := time.Parse("2 Jan 2006", date); err == nil {
				day = t.Format(time.DateOnly)
				year = t.Format("2006")
				continue
			}
		}

		// Any other row is one author's lines. The author is named in full the first time.
		author, rest, named := strings.Cut(row, ": ")
		full := expand(author, abbreviations)
		switch {
		case !named:
			author = ""
			rest = row
		case full != "":
			author = full
		default:
			abbreviations[author] = abbreviate(author, abbreviations)
		}
		for _, text := range strings.Split(rest, "; ") {
			if text != "" {
				lines = append(lines, line{author: author, day: day, weight: 1, text: text})
			}
		}
	}
	return lines
}

// expand returns the author with an abbreviation or a full name, "" if none has it.
func expand(name string, abbreviations map[string]string) string {
	for author, short := range abbreviations {
		if short == name || author == name {
			return author
		}
	}
	return ""
}

// parseRecords reads a ledger as ledger.draw writes it. If a row could mean two records, it returns one that is
// written the same way again.
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
