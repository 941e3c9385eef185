package extract

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A ledger holds the values of a session that later calls may need.
type ledger struct {
	events  int // taken in so far
	records []*record
	had     map[string]had     // by field.key
	asked   map[string][]field // what tools were called about last, by name; for this generation

	about map[string]*record // by what it is about; made of records when it is needed
}

// A record is a group of values that belong together: one object of a result, the arguments of one call.
type record struct {
	Name   string // of the tool, "" for an object that its first value names
	Keys   int    // how many of the fields say what the record is about
	Fields []field

	known map[field]bool // has Fields, once put has looked; nothing else changes them then
}

// A field is one value of a record.
type field struct {
	Label string
	Value string
}

// had is what became of a value: the event, counted from the session's beginning, that had it last, and whether a
// call or the user ever had it.
type had struct {
	Seen int
	Used bool
}

// key is what a field's history is kept by.
func (f field) key() string {
	if kindOf(f.Value).exact() {
		return f.Value
	}
	return f.Label + "=" + f.Value
}

const said = "said" // names the record of what was in texts

func (l *ledger) add(e *session.Event) {
	if l.had == nil {
		l.had = map[string]had{}
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
			r := &record{Name: cmp.Or(token(p.FunctionResponse.Name), "_"), Keys: len(asked), Fields: slices.Clone(asked)}
			c.collect(r, "", p.FunctionResponse.Response, 0)
			l.put(r)
		case p.FileData != nil:
			if f := (field{Value: valid(p.FileData.FileURI)}); kindOf(f.Value).exact() && !l.note(f, true) {
				l.put(&record{Name: said, Fields: []field{f}})
			}
		case p.Text != "":
			r := &record{Name: said}
			for _, v := range literals(undated(valid(p.Text), e.Timestamp)) {
				f := field{Value: v}
				if known := l.note(f, e.Content.Role != genai.RoleModel); !known {
					r.Fields = append(r.Fields, f)
				}
			}
			l.put(r)
		}
	}
}

// note records that a value was had, and reports whether it was had before.
func (l *ledger) note(f field, used bool) bool {
	h, known := l.had[f.key()]
	l.had[f.key()] = had{l.events, h.Used || used}
	return known
}

const maxAsked = 32 // tools whose last arguments are remembered

// ask remembers what a tool was asked about: its response is about that.
func (l *ledger) ask(tool string, keys []field) {
	if _, ok := l.asked[tool]; !ok && len(l.asked) >= maxAsked {
		clear(l.asked)
	}
	l.asked[tool] = slices.Clone(keys)
}

// put adds a record, or what is new of it to the one that is about the same thing. Of what can change, numbers
// and choices, the new value replaces the old.
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
	fresh := map[string]bool{}
	for _, f := range r.Fields[r.Keys:] {
		if f.Label != "" {
			fresh[f.Label] = true
		}
	}
	if old.known == nil {
		old.known = map[field]bool{}
		for _, f := range old.Fields {
			old.known[f] = true
		}
	}
	if len(fresh) > 0 {
		old.Fields = slices.DeleteFunc(old.Fields, func(f field) bool {
			gone := fresh[f.Label] && !kindOf(f.Value).exact()
			if gone {
				delete(old.known, f)
			}
			return gone
		})
	}
	for _, f := range r.Fields[r.Keys:] {
		if !old.known[f] {
			old.known[f] = true
			old.Fields = append(old.Fields, f)
		}
	}
}

// about names what the record is about.
func (r *record) about() string {
	var b strings.Builder
	b.WriteString(r.Name)
	for _, f := range r.Fields[:r.Keys] {
		b.WriteByte(0)
		b.WriteString(f.Value)
	}
	return b.String()
}
