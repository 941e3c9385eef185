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
	stressed map[string]bool    // stems of words that Stress has named
	asked    map[string]string  // by the id and name of a call: the head of its record

	byHead map[string]*record // made of records when it is needed
}

// A record is values that belong together: those of one object in a response, or of the arguments of one
// call.
type record struct {
	head   string // the identifier of what the record is about, or the tool and what it was asked about
	fields []field
	known  map[field]bool // the fields, once put has looked at them
}

// A field is one value of a record, with a label if the value is not clear without it.
type field struct{ label, value string }

// history is what happened to a value: the number of the event that had it last, and whether a call or the
// user ever used it.
type history struct {
	seen int
	used bool
}

// Weights of values; see the package comment.
const (
	fade  = 0.98 // multiplies the worth of a value for each event since it was seen
	byUse = 3.0  // multiplies the worth of a value that a call or the user has used
	twice = 0.05 // multiplies the worth of an exact value that is in another record too, or in a long text alone
)

// header is the first line of a ledger.
const header = "Values:"

const (
	saidRecord   = "said"   // the head of the record of a text's values
	pastedRecord = "pasted" // the head of the record of a long text's values
	between      = ", "     // between the fields of a record
)

// newField returns a field for a value, with a label that may be left out.
func newField(label, value string) field {
	if kindOf(value).bare() {
		label = ""
	}
	return field{label: label, value: value}
}

// key returns under what the history of a field is kept. An exact value is the same in all records.
func (f field) key() string {
	if kindOf(f.value).exact() {
		return f.value
	}
	return f.label + " " + f.value
}

// about returns the exact values in the head of a record.
func (r *record) about() []string {
	_, values, named := strings.Cut(r.head, " ")
	switch {
	case named:
		return strings.Split(values, between)
	case kindOf(r.head) == ident:
		return []string{r.head}
	}
	return nil
}

// A fieldIndex says which field of a ledger is meant: the index of its record, and its index in that. For
// the values in the head, that is below 0.
type fieldIndex struct{ record, field int }

// An indexedField is a field with its index.
type indexedField struct {
	fieldIndex
	field
}

// all returns the values in the heads, and all fields.
func (l *ledger) all() (list []indexedField) {
	for i, r := range l.records {
		about := r.about()
		for j, value := range about {
			list = append(list, indexedField{fieldIndex{i, j - len(about)}, field{value: value}})
		}
		for j, f := range r.fields {
			list = append(list, indexedField{fieldIndex{i, j}, f})
		}
	}
	return list
}

// add takes in the values of an event.
func (l *ledger) add(e *session.Event) {
	if l.history == nil {
		l.history = map[string]history{}
	}
	if l.asked == nil {
		l.asked = map[string]string{}
	}
	l.events++
	if e.Content == nil {
		return
	}
	for _, p := range e.Content.Parts {
		switch {
		case p == nil || p.Thought:
		case e.Makes(p):
			c := collector{ledger: l, used: true}
			r := c.call(p.FunctionCall.Name, p.FunctionCall.Args)
			l.asked[p.FunctionCall.ID+" "+p.FunctionCall.Name] = r.head
			if p.FunctionCall.Name != RecallName { // values that are looked for are used, and are known already
				l.put(r)
			}
		case p.FunctionResponse != nil && p.FunctionResponse.Name == RecallName:
		case p.FunctionResponse != nil:
			c := collector{ledger: l}
			asked, ok := l.asked[p.FunctionResponse.ID+" "+p.FunctionResponse.Name]
			if !ok && e.Author == session.User { // a caller's answer to a call that nobody made
				continue
			}
			r := &record{head: cmp.Or(asked, oneWord(p.FunctionResponse.Name), "_")}
			c.collect(r, "", p.FunctionResponse.Response, 0)
			l.put(r)
		case p.FileData != nil:
			address := valid(p.FileData.FileURI)
			if kindOf(address).exact() {
				l.mention(saidRecord, []string{address}, true)
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

// mention takes in values of a text, of which it puts those that are new into the record with a head.
func (l *ledger) mention(head string, values []string, used bool) {
	r := &record{head: head}
	for _, v := range values {
		f := field{value: v}
		if known := l.note(f, used); !known {
			r.fields = append(r.fields, f)
		}
	}
	l.put(r)
}

// note records that the current event has a value. It reports whether an earlier one had it.
func (l *ledger) note(f field, used bool) (known bool) {
	h, known := l.history[f.key()]
	l.history[f.key()] = history{seen: l.events, used: h.used || used}
	return known
}

// put adds a record. If a record with the same head exists, put adds the new fields to that one. Numbers and
// choices can change, so a new one replaces the old ones with its label.
func (l *ledger) put(r *record) {
	if len(r.fields) == 0 && len(r.about()) == 0 {
		return
	}
	if l.byHead == nil {
		l.byHead = map[string]*record{}
		for _, o := range l.records {
			l.byHead[o.head] = o
		}
	}
	old, ok := l.byHead[r.head]
	if !ok {
		l.byHead[r.head] = r
		l.records = append(l.records, r)
		return
	}
	if old.known == nil {
		old.known = map[field]bool{}
		for _, f := range old.fields {
			old.known[f] = true
		}
	}
	replaced := map[string]bool{"": false} // labels
	for _, f := range r.fields {
		replaced[f.label] = f.label != ""
	}
	old.fields = slices.DeleteFunc(old.fields, func(f field) bool {
		remove := replaced[f.label] && !kindOf(f.value).exact()
		if remove {
			delete(old.known, f)
		}
		return remove
	})
	for _, f := range r.fields {
		if !old.known[f] {
			old.known[f] = true
			old.fields = append(old.fields, f)
		}
	}
}

// rank returns the indexes of all fields, the one to keep longest first: of those that have room beside the
// prose, and of those from long texts, which only get what the prose leaves.
func (l *ledger) rank() (ranked, pasted []fieldIndex) {
	type scored struct {
		indexedField
		score float64
	}
	var all []scored
	for _, f := range l.all() {
		h := l.history[f.key()]
		cost := utf8.RuneCountInString(f.label) + utf8.RuneCountInString(f.value) + 2
		age := float64(l.events - h.seen)
		score := worth[kindOf(f.value)] * math.Pow(fade, age) / math.Sqrt(float64(cost))
		if h.used {
			score *= byUse
		}
		if l.wants(f.field) {
			score *= wanted
		}
		if l.records[f.record].head == saidRecord {
			score *= 0.99 // so that another record with the value, which says more, comes first
		}
		all = append(all, scored{f, score})
	}
	best := func(a, b scored) int { return cmp.Compare(b.score, a.score) }
	slices.SortStableFunc(all, best)

	// An exact value counts fully in its best record only.
	seen := map[string]bool{}
	for i, s := range all {
		if seen[s.value] {
			all[i].score *= twice
		}
		seen[s.value] = kindOf(s.value).exact()
	}
	slices.SortStableFunc(all, best)

	for _, s := range all {
		if l.records[s.record].head == pastedRecord {
			pasted = append(pasted, s.fieldIndex)
		} else {
			ranked = append(ranked, s.fieldIndex)
		}
	}
	return ranked, pasted
}

// wants reports whether Stress has named a word of a field.
func (l *ledger) wants(f field) bool {
	if len(l.stressed) == 0 {
		return false
	}
	words := wordsOf(nil, f.label+" "+f.value)
	return slices.ContainsFunc(words, func(w word) bool { return l.stressed[w.stem] })
}

// ordered returns indexes in the order of the text.
func ordered(indexes []fieldIndex) []fieldIndex {
	return slices.SortedFunc(slices.Values(indexes), func(a, b fieldIndex) int {
		return cmp.Or(a.record-b.record, a.field-b.field)
	})
}

// draw writes some fields, one record in each line: its head, and then its fields.
func (l *ledger) draw(some []fieldIndex) string {
	if len(some) == 0 {
		return ""
	}
	var b strings.Builder
	b.Grow(len(some) * 20)
	b.WriteString(header)
	record := -1
	separator := ""
	for _, i := range ordered(some) {
		if i.record != record {
			record = i.record
			b.WriteByte('\n')
			b.WriteString(l.records[record].head)
			separator = ": "
			if l.records[record].head == "" {
				separator = ""
			}
		}
		if i.field >= 0 {
			f := l.records[record].fields[i.field]
			b.WriteString(separator)
			if f.label != "" {
				b.WriteString(f.label)
				b.WriteByte(' ')
			}
			b.WriteString(f.value)
			separator = between
		}
	}
	return b.String()
}

// parseRecords reads a ledger as ledger.draw writes it.
func parseRecords(text string) (records []*record) {
	for row := range strings.SplitSeq(strings.TrimPrefix(text, header), "\n") {
		if row == "" {
			continue
		}
		head, rest, more := strings.Cut(row, ": ")
		r := &record{head: head}
		switch {
		case more:
			for text := range strings.SplitSeq(rest, between) {
				f := field{value: text}
				label, value, ok := strings.Cut(text, " ")
				if ok && !kindOf(value).bare() {
					f = field{label: label, value: value}
				}
				r.fields = append(r.fields, f)
			}
		case len(r.about()) == 0: // somebody has changed the text
			r = &record{fields: []field{{value: row}}}
		}
		records = append(records, r)
	}
	return records
}

// keep forgets all fields but some.
func (l *ledger) keep(some []fieldIndex) {
	records := l.records
	kept := map[string]history{}
	l.records = nil
	last := -1
	for _, i := range ordered(some) {
		old := records[i.record]
		if i.record != last {
			last = i.record
			l.records = append(l.records, &record{head: old.head})
			for _, value := range old.about() {
				key := field{value: value}.key()
				kept[key] = l.history[key]
			}
		}
		if i.field >= 0 {
			r := l.records[len(l.records)-1]
			f := old.fields[i.field]
			r.fields = append(r.fields, f)
			kept[f.key()] = l.history[f.key()]
		}
	}
	l.history = kept
	l.byHead = nil
	l.asked = nil
}
