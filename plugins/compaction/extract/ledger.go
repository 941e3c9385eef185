package extract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A record is a group of values that belong together: one object of a result, the arguments of one call.
type record struct {
	Head   string  `json:"h,omitempty"` // what it is about
	Fields []field `json:"f"`
}

// A field is one value of a record.
type field struct {
	Label string `json:"l,omitempty"`
	Value string `json:"v"`
	Seen  int    `json:"s"`           // the event, counted from the session's beginning, that had it last
	Used  int    `json:"u,omitempty"` // how often a call or a user had it
	Told  int    `json:"n,omitempty"` // how often anybody had it
}

// A ledger holds the values of a session that later calls may need.
type ledger struct {
	Events  int      `json:"e"`
	Records []record `json:"r,omitempty"`
}

func (l *ledger) add(e *session.Event) {
	l.Events++
	if e.Content == nil {
		return
	}
	for _, p := range e.Content.Parts {
		switch {
		case p == nil || p.Thought:
		case p.FunctionCall != nil:
			l.object("", p.FunctionCall.Name, anyMap(p.FunctionCall.Args), true)
		case p.FunctionResponse != nil:
			l.object("", p.FunctionResponse.Name, anyMap(p.FunctionResponse.Response), false)
		case p.Text != "":
			r := record{Head: "said"}
			for _, v := range literals(p.Text) {
				if !l.touch(v, e.Content.Role != genai.RoleModel) {
					r.Fields = append(r.Fields, field{Value: v, Seen: l.Events, Told: 1, Used: b2i(e.Author == session.User)})
				}
			}
			l.put(r)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func anyMap(m map[string]any) any { return m }

// touch marks a value as had again; it reports whether the ledger has it.
func (l *ledger) touch(v string, used bool) (ok bool) {
	for i := range l.Records {
		for j := range l.Records[i].Fields {
			if f := &l.Records[i].Fields[j]; f.Value == v {
				f.Seen, f.Told, ok = l.Events, f.Told+1, true
				if used {
					f.Used++
				}
			}
		}
	}
	return ok
}

func (l *ledger) put(r record) {
	if len(r.Fields) == 0 {
		return
	}
	if r.Head != "" {
		for i := range l.Records {
			if l.Records[i].Head == r.Head {
				old := &l.Records[i]
				for _, f := range r.Fields {
					if !slices.ContainsFunc(old.Fields, func(o field) bool { return o.Value == f.Value && o.Label == f.Label }) {
						old.Fields = slices.DeleteFunc(old.Fields, func(o field) bool { return o.Label == f.Label && f.Label != "" && kindOf(o.Value) == number })
						old.Fields = append(old.Fields, f)
					}
				}
				return
			}
		}
	}
	l.Records = append(l.Records, r)
}

// object takes in a JSON value: what it holds of scalars is a record, objects in it that have a name of their own
// are records too.
func (l *ledger) object(label, head string, v any, used bool) {
	var r record
	r.Head = head
	l.collect(&r, "", v, used, 0)
	l.put(r)
}

func (l *ledger) collect(r *record, label string, v any, used bool, depth int) {
	if depth > 16 {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		if depth > 0 {
			// An object whose first field names it is a record of its own.
			if head := l.name(label, keys, v); head != "" {
				sub := record{Head: head}
				l.touch(head, used)
				sub.Fields = append(sub.Fields, field{Value: head, Seen: l.Events, Told: 1, Used: b2i(used)})
				for _, k := range keys {
					l.collect(&sub, k, v[k], used, depth+1)
				}
				sub.Fields = slices.CompactFunc(sub.Fields, func(a, b field) bool { return a.Value == b.Value && a.Value == head })
				l.put(sub)
				return
			}
		}
		for _, k := range keys {
			l.collect(r, k, v[k], used, depth+1)
		}
	case []any:
		for _, x := range v {
			l.collect(r, label, x, used, depth+1)
		}
	case nil:
	case string:
		if t := strings.TrimSpace(v); len(t) > 1 && (t[0] == '{' || t[0] == '[') {
			var inner any
			if json.Unmarshal([]byte(t), &inner) == nil {
				l.collect(r, label, inner, used, depth+1)
				return
			}
		}
		l.value(r, label, v, used)
	default:
		l.value(r, label, fmt.Sprint(v), used)
	}
}

// name returns the identifier that an object is known by, "" if it has none.
func (l *ledger) name(label string, keys []string, v map[string]any) string {
	if kindOf(label) == ident {
		return label
	}
	for _, k := range keys {
		if s, ok := v[k].(string); ok && kindOf(s) == ident && !strings.ContainsAny(s, "@/") {
			return s
		}
	}
	return ""
}

func (l *ledger) value(r *record, label, v string, used bool) {
	if v == "" || v == r.Head {
		return
	}
	if kindOf(v) == phrase {
		for _, x := range literals(v) {
			if !l.touch(x, used) {
				r.Fields = append(r.Fields, field{Value: x, Seen: l.Events, Told: 1, Used: b2i(used)})
			}
		}
		return
	}
	known := l.touch(v, used)
	if known && used {
		return
	}
	if label == "result" {
		label = ""
	}
	r.Fields = append(r.Fields, field{Label: label, Value: v, Seen: l.Events, Told: 1, Used: b2i(used)})
}

// Ledger returns the values within a budget and forgets the others.
func (s *State) Ledger(budget int, count func(string) int) string {
	l := &s.ledger
	type at struct{ rec, field int }
	var all []at
	score := map[at]float64{}
	for i, r := range l.Records {
		for j, f := range r.Fields {
			a := at{i, j}
			all = append(all, a)
			k := kindOf(f.Value)
			v := worth[k] * math.Pow(tune("fade", 0.98), float64(l.Events-f.Seen))
			if f.Used > 0 {
				v *= tune("used", 3)
			}
			v *= 1 + tune("told", 0.2)*math.Log(float64(max(1, f.Told)))
			cost := float64(utf8.RuneCountInString(f.Value) + 2)
			if !plain(k) {
				cost += float64(utf8.RuneCountInString(f.Label) + 1)
			}
			score[a] = v / math.Pow(cost, tune("cost", 0.5))
		}
	}
	slices.SortStableFunc(all, func(a, b at) int { return cmp.Compare(score[b], score[a]) })
	seen := map[string]bool{}
	var first, second []at
	for _, a := range all {
		v := l.Records[a.rec].Fields[a.field].Value
		if seen[v] {
			second = append(second, a)
			continue
		}
		seen[v] = true
		first = append(first, a)
	}
	order := append(first, second...)
	draw := func(n int) string {
		keep := map[at]bool{}
		for _, a := range order[:n] {
			keep[a] = true
		}
		var b strings.Builder
		for i, r := range l.Records {
			started := false
			for j, f := range r.Fields {
				if !keep[at{i, j}] {
					continue
				}
				if !started {
					started = true
					b.WriteByte('\n')
					if r.Head != f.Value {
						if r.Head != "said" {
							b.WriteString(r.Head + ": ")
						}
					}
				} else {
					b.WriteByte(' ')
				}
				if !plain(kindOf(f.Value)) && f.Label != "" {
					b.WriteString(f.Label + " ")
				}
				b.WriteString(f.Value)
			}
		}
		return strings.TrimPrefix(b.String(), "\n")
	}
	lo, hi := 0, len(order)
	for lo < hi {
		if mid := (lo + hi + 1) / 2; count(draw(mid)) <= budget {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	text := draw(lo)
	if count(text) > budget {
		return ""
	}
	return text
}

// plain reports whether a value of this kind explains itself without its label.
func plain(k kind) bool { return k == ident || k == date || k == name || k == phrase }
