package extract

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A ledger holds the values of a session that later calls may need.
type ledger struct {
	events   int // how many were taken in so far
	records  []*record
	history  map[string]history // by field.key
	stressed map[uint64]bool    // terms that Stress has named
	asked    map[string][]field // by tool: what its last call was about, until the State is stored

	about map[string]*record // by record.about; made of records when it is needed
}

// A record is values that belong together: those of one object in a response, or of the arguments of one
// call.
type record struct {
	Name   string // of the tool, "" for an object that its first value names
	Keys   int    // how many of the fields say what the record is about; they come first
	Fields []field

	known map[field]bool // the Fields, once put has looked at them; only put changes them from then on
}

// A field is one value of a record.
type field struct {
	Label string
	Value string
}

// history is what happened to a value: the number of the event that had it last, and whether a call or the
// user ever used it.
type history struct {
	Seen int
	Used bool
}

// Weights of values; see the package comment.
const (
	fade  = 0.98 // multiplies the worth of a value for each event since it was seen
	byUse = 3.0  // multiplies the worth of a value that a call or the user has used
	twice = 0.05 // multiplies the worth of an exact value that is in another record too, or in a long text alone
)

const (
	maxAsked   = 32     // how many tools are in ledger.asked
	saidRecord = "said" // the name of the record of a text's values

	pastedRecord = "pasted" // the name of the record of a long text's values
	between      = ", "     // between the fields of a record
)

// key returns under what the history of a field is kept. An exact value is the same in all records.
func (f field) key() string {
	if kindOf(f.Value).exact() {
		return f.Value
	}
	return f.Label + "=" + f.Value
}

// about identifies what the record is about.
func (r *record) about() string {
	var b strings.Builder
	b.WriteString(r.Name)
	for _, f := range r.Fields[:r.Keys] {
		b.WriteByte(0)
		b.WriteString(f.Value)
	}
	return b.String()
}

// fields returns how many values the ledger has.
func (l *ledger) fields() (n int) {
	for _, r := range l.records {
		n += len(r.Fields)
	}
	return n
}

// add takes in the values of an event.
func (l *ledger) add(e *session.Event) {
	if l.history == nil {
		l.history = map[string]history{}
	}
	if l.asked == nil {
		l.asked = map[string][]field{}
	}
	l.events++
	if e.Content == nil {
		return
	}
	for _, p := range e.Content.Parts {
		switch {
		case p == nil || p.Thought:
		case p.FunctionCall != nil:
			c := collector{ledger: l, used: true}
			r := c.call(p.FunctionCall.Name, p.FunctionCall.Args)
			l.ask(p.FunctionCall.Name, r.Fields[:r.Keys])
			l.put(r)
		case p.FunctionResponse != nil:
			c := collector{ledger: l}
			asked := l.asked[p.FunctionResponse.Name]
			r := &record{
				Name:   cmp.Or(oneWord(p.FunctionResponse.Name), "_"),
				Keys:   len(asked),
				Fields: slices.Clone(asked),
			}
			c.collect(r, "", p.FunctionResponse.Response, 0)
			l.put(r)
		case p.FileData != nil:
			f := field{Value: valid(p.FileData.FileURI)}
			if kindOf(f.Value).exact() && !l.note(f, true) {
				l.put(&record{Name: saidRecord, Fields: []field{f}})
			}
		case p.Text != "":
			values := literals(undated(valid(p.Text), e.Timestamp))
			if isLong(p.Text) {
				l.mention(pastedRecord, values, false)
			} else {
				l.mention(saidRecord, values, e.Content.Role != genai.RoleModel)
			}
		}
	}
}

// mention takes in values of a text, of which it puts those that are new into the record with a name.
func (l *ledger) mention(name string, values []string, used bool) {
	r := &record{Name: name}
	for _, v := range values {
		f := field{Value: v}
		known := l.note(f, used)
		if !known {
			r.Fields = append(r.Fields, f)
		}
	}
	l.put(r)
}

// note records that the current event has a value. It reports whether an earlier one had it.
func (l *ledger) note(f field, used bool) (known bool) {
	h, known := l.history[f.key()]
	l.history[f.key()] = history{Seen: l.events, Used: h.Used || used}
	return known
}

// ask remembers what a call of a tool was about, since the response is about the same.
func (l *ledger) ask(tool string, about []field) {
	if _, ok := l.asked[tool]; !ok && len(l.asked) >= maxAsked {
		clear(l.asked)
	}
	l.asked[tool] = slices.Clone(about)
}

// put adds a record. If a record about the same thing exists, put adds the new fields to that one. Numbers
// and choices can change, so a new one replaces the old ones with its label.
func (l *ledger) put(r *record) {
	if len(r.Fields) == 0 {
		return
	}
	if l.about == nil {
		l.about = map[string]*record{}
		for _, o := range l.records {
			l.about[o.about()] = o
		}
	}
	old, ok := l.about[r.about()]
	if !ok {
		l.records = append(l.records, r)
		l.about[r.about()] = r
		return
	}
	if old.known == nil {
		old.known = map[field]bool{}
		for _, f := range old.Fields {
			old.known[f] = true
		}
	}

	// Remove what the new fields replace.
	replaced := map[string]bool{} // labels
	for _, f := range r.Fields[r.Keys:] {
		if f.Label != "" {
			replaced[f.Label] = true
		}
	}
	if len(replaced) > 0 {
		old.Fields = slices.DeleteFunc(old.Fields, func(f field) bool {
			remove := replaced[f.Label] && !kindOf(f.Value).exact()
			if remove {
				delete(old.known, f)
			}
			return remove
		})
	}

	// Add what is new.
	for _, f := range r.Fields[r.Keys:] {
		if !old.known[f] {
			old.known[f] = true
			old.Fields = append(old.Fields, f)
		}
	}
}

// A fieldIndex says which field of a ledger is meant: the index of its record, and its index in that.
type fieldIndex struct{ record, field int }

// rank returns the indexes of all fields, the one to keep longest first: of those that have room beside the
// prose, and of those that only get what the prose leaves, which are from long texts.
func (l *ledger) rank() (first, last []fieldIndex) {
	type scored struct {
		fieldIndex
		score float64
		value string // if it is exact
	}
	var all []scored
	for i, r := range l.records {
		for j, f := range r.Fields {
			k := kindOf(f.Value)
			h := l.history[f.key()]
			cost := utf8.RuneCountInString(f.Value) + 2
			if !k.bare() {
				cost += utf8.RuneCountInString(f.Label)
			}
			age := float64(l.events - h.Seen)
			score := worth[k] * math.Pow(fade, age) / math.Sqrt(float64(cost))
			if h.Used {
				score *= byUse
			}
			if l.wants(f) {
				score *= wanted
			}
			switch r.Name {
			case saidRecord:
				score *= 0.99 // so that another record with the value, which says more, comes first
			case pastedRecord:
				score *= twice
			}
			s := scored{fieldIndex: fieldIndex{record: i, field: j}, score: score}
			if k.exact() {
				s.value = f.Value
			}
			all = append(all, s)
		}
	}
	best := func(a, b scored) int { return cmp.Compare(b.score, a.score) }
	slices.SortStableFunc(all, best)

	// An exact value counts fully in its best record only.
	seen := map[string]bool{}
	for i, s := range all {
		if s.value != "" && seen[s.value] {
			all[i].score *= twice
		}
		seen[s.value] = true
	}
	slices.SortStableFunc(all, best)

	for _, s := range all {
		if l.records[s.record].Name == pastedRecord {
			last = append(last, s.fieldIndex)
		} else {
			first = append(first, s.fieldIndex)
		}
	}
	return first, last
}

// wants reports whether Stress has named a word of a field.
func (l *ledger) wants(f field) bool {
	if len(l.stressed) == 0 {
		return false
	}
	words := split(f.Label + " " + f.Value)
	return slices.ContainsFunc(words, func(w word) bool { return l.stressed[w.term] })
}

// chosen returns for each field of each record whether it is at one of the places, or says what the record of
// one of them is about.
func (l *ledger) chosen(indexes []fieldIndex) [][]bool {
	all := make([]bool, l.fields())
	chosen := make([][]bool, len(l.records))
	for i, r := range l.records {
		n := len(r.Fields)
		chosen[i] = all[:n:n]
		all = all[n:]
	}
	for _, p := range indexes {
		chosen[p.record][p.field] = true
		for j := range l.records[p.record].Keys {
			chosen[p.record][j] = true
		}
	}
	return chosen
}

// draw writes some fields, one record in each line: what the record is about, and then its
// other fields, with a label if the value does not explain itself. A label that begins with a point continues
// the path of the label before it: "seats.business 1, .economy 3".
func (l *ledger) draw(indexes []fieldIndex) string {
	if len(indexes) == 0 {
		return ""
	}
	chosen := l.chosen(indexes)
	var b strings.Builder
	b.Grow(len(indexes) * 20)
	b.WriteString(header)
	for i, r := range l.records {
		begun := false        // a field of the record is written
		headed := r.Keys == 0 // the record has no head, or the ": " after it is written
		parent := ""          // the path of the last label
		for j, f := range r.Fields {
			if !chosen[i][j] {
				continue
			}

			// What separates the field from what is before it.
			isKey := j < r.Keys
			switch {
			case !begun && isKey && r.Name != "":
				b.WriteString("\n" + r.Name + " ")
			case !begun && r.Name != "":
				b.WriteString("\n" + r.Name + ": ")
			case !begun:
				b.WriteByte('\n')
			case !isKey && !headed:
				b.WriteString(": ")
			default:
				b.WriteString(between)
			}
			begun = true
			if !isKey {
				headed = true
			}

			// Its label, without the path if that is the same as before.
			if !isKey && f.Label != "" && !kindOf(f.Value).bare() {
				name := strings.LastIndexByte(f.Label, '.') + 1 // where the last part begins
				label := f.Label
				if name > 0 && f.Label[:name] == parent {
					label = f.Label[name-1:]
				}
				parent = f.Label[:name]
				b.WriteString(label + " ")
			}
			b.WriteString(f.Value)
		}
	}
	return b.String()
}

// forget removes all fields but some.
func (l *ledger) forget(indexes []fieldIndex) {
	chosen := l.chosen(indexes)
	var records []*record
	kept := map[string]history{}
	for i, r := range l.records {
		left := &record{Name: r.Name}
		for j, f := range r.Fields {
			if !chosen[i][j] {
				continue
			}
			left.Fields = append(left.Fields, f)
			kept[f.key()] = l.history[f.key()]
			if j < r.Keys {
				left.Keys++
			}
		}
		if len(left.Fields) > 0 {
			records = append(records, left)
		}
	}
	l.records = records
	l.history = kept
	l.about = nil
	l.asked = nil
}
