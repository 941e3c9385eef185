package detect

import (
	"cmp"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Injection returns a detector of what is said to a model to turn it against whoever runs it: to override its
// instructions, to have it reveal them or its secrets, to play a role without rules, to hide something from the user or send it away; and
// of the marks of chat templates, which forge where a message begins. Findings have the type PROMPT_INJECTION; Rule
// says which of these.
//
// It is a tripwire of words, for a flag and not for a wall. It wants one phrase that little else says, or two or three words
// together within a sentence: ignore, previous and instructions, in some thirty languages. So it finds who says so plainly. Of
// a set of 251 attacks on chat assistants (CyberSecEval's) it finds 82: of those that tell the model to ignore its
// instructions, or claim to be its developer or in another mode, four of five; of tales, hints, persuasion and split or
// encoded ones, hardly any. Who words an attack anew is not seen. Of 339 harmless questions that use such words (NotInject's)
// it flags none. What keeps an injection from doing harm are rules about trust and tools.
//
// Its tables are made when it first sees a text.
func Injection() Detector { return tripwire{} }

type tripwire struct{}

func (tripwire) Find(found []Finding, text string) []Finding {
	return defaultInjection().Find(found, text)
}

func (tripwire) Open(text string) int { return defaultInjection().Open(text) }

var defaultInjection = sync.OnceValue(newInjection)

func newInjection() *injection {
	d := &injection{}
	var list []string
	for s := range injectionSchemes {
		for role, words := range injectionSchemes[s].roles {
			for _, w := range split(words) {
				list = append(list, w)
				d.terms = append(d.terms, term{s, role})
				if first, size := utf8.DecodeRuneInString(w); first >= utf8.RuneSelf && unicode.ToUpper(first) != first { // ASCII's match anyhow
					list = append(list, string(unicode.ToUpper(first))+w[size:])
					d.terms = append(d.terms, term{s, role})
				}
			}
		}
	}
	for _, w := range []string{".", "!", "?", "\n\n", "。", "！", "？"} {
		list = append(list, w)
		d.terms = append(d.terms, term{scheme: -1})
	}
	var err error
	if d.keywords, err = newKeywords(list); err != nil {
		panic(err) // the lists are constants
	}
	return d
}

type injection struct {
	keywords *keywords
	terms    []term // by keyword
}

// A term is what a keyword counts for: a role in a scheme. One that ends a sentence has the scheme -1.
type term struct{ scheme, role int }

// A scheme is roles that words must play together. What is found reaches over the first two.
type scheme struct {
	rule  string
	roles [3]string // words, separated by |; a role without any is not wanted
}

func (d *injection) Find(found []Finding, text string) []Finding {
	all, _ := d.scan(text)
	return settleAll(found, all)
}

func (d *injection) Open(text string) int {
	return uncut(d.scan(text))
}

// scan returns all that is found, ordered by its beginning, and where the first begins that may yet be.
func (d *injection) scan(text string) (found []Finding, open int) {
	var last [len(injectionSchemes)]played
	var heard [len(injectionSchemes)]bool // since the sentence began: last says nothing of others
	text = text[:len(text)-cutRune(text)]
	open = len(text)
	state := uint32(0)
	for i := 0; i < len(text); i++ {
		if state = d.keywords.step(state, text[i]); state < d.keywords.first {
			continue
		}
		for _, n := range d.keywords.found(state) {
			t, start, end := d.terms[n], i+1-int(d.keywords.size[n]), i+1
			if t.scheme < 0 {
				clear(heard[:])
				continue
			}
			if !heard[t.scheme] {
				last[t.scheme], heard[t.scheme] = none, true
			}
			p := &last[t.scheme]
			if !whole(text, start, end) || start < p.end[t.role] && p.start[t.role] >= 0 {
				continue // of words that end here, the longest counts
			}
			denied, ends := negated(text, start, end)
			if denied {
				continue
			}
			if before := p.start[t.role]; ends && t.role < 2 && before >= 0 && end-before <= together {
				open = min(open, before) // this word may yet become another
			}
			p.start[t.role], p.end[t.role] = start, end
			from, ok := p.together(&injectionSchemes[t.scheme], end)
			if !ok {
				continue
			}
			found = append(found, Finding{Type: "PROMPT_INJECTION", Rule: injectionSchemes[t.scheme].rule, Start: from, End: max(p.end[0], p.end[1]), Score: .5})
			if ends {
				open = min(open, from)
			}
			*p = none
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Start, b.Start) })
	for s := range last {
		for role := range 2 {
			if at := last[s].start[role]; heard[s] && at >= 0 && len(text)-at <= together {
				open = min(open, at)
			}
		}
	}
	d.keywords.begun(state, func(length int, _ uint32) bool {
		at := len(text) - length
		if !apart(text, at-1, at) {
			return true
		}
		open = min(open, at)
		return false
	})
	return found, open
}
