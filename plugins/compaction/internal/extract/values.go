package extract

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Ledger weights: see the package comment.
const (
	fade  = 0.98 // of a value's worth is left an event later
	byUse = 3.0  // times the worth of what a call or the user had
	twice = 0.05 // times the worth of an exact value that another record has
)

// A place is where a field stands: its record's index and its own.
type place struct{ record, field int }

// rank returns the fields, the one to be kept longest first.
func (l *ledger) rank() []place {
	type bid struct {
		place
		score float64
		value string
	}
	var bids []bid
	for i, r := range l.records {
		for j, f := range r.Fields {
			k, h := kindOf(f.Value), l.had[f.key()]
			cost := utf8.RuneCountInString(f.Value) + 2
			if !k.bare() {
				cost += utf8.RuneCountInString(f.Label)
			}
			score := worth[k] * math.Pow(fade, float64(l.events-h.Seen)) / math.Sqrt(float64(cost))
			if h.Used {
				score *= byUse
			}
			if r.Name == said {
				score *= 0.99 // where it says more, it stands in another record
			}
			b := bid{place: place{i, j}, score: score}
			if k.exact() {
				b.value = f.Value
			}
			bids = append(bids, b)
		}
	}
	best := func(a, b bid) int { return cmp.Compare(b.score, a.score) }
	slices.SortStableFunc(bids, best)
	had := map[string]bool{}
	for i, b := range bids {
		if b.value != "" && had[b.value] {
			bids[i].score *= twice
		}
		had[b.value] = true
	}
	slices.SortStableFunc(bids, best)
	order := make([]place, len(bids))
	for i, b := range bids {
		order[i] = b.place
	}
	return order
}

// Choices say of each field of each record whether it is chosen.
type choices [][]bool

// whole chooses these fields, and those that say what their records are about.
func (l *ledger) whole(places []place) choices {
	total := 0
	for _, r := range l.records {
		total += len(r.Fields)
	}
	keep, all := make(choices, len(l.records)), make([]bool, total)
	for i, r := range l.records {
		n := len(r.Fields)
		keep[i], all = all[:n:n], all[n:]
	}
	for _, p := range places {
		keep[p.record][p.field] = true
		for j := range l.records[p.record].Keys {
			keep[p.record][j] = true
		}
	}
	return keep
}

// between stands between the fields of a record.
const between = ", "

// draw renders some of the fields, a record a line: what it is about, and then its fields, with labels where the values
// do not explain themselves. A label that begins with a point has the path of the one before it.
func (l *ledger) draw(places []place) string {
	if len(places) == 0 {
		return ""
	}
	keep := l.whole(places)
	var b strings.Builder
	b.Grow(len(places) * 20)
	b.WriteString(header)
	for i, r := range l.records {
		parent, open := "", false // open: something of the record is there
		for j, f := range r.Fields {
			if !keep[i][j] {
				continue
			}
			switch {
			case !open && j < r.Keys && r.Name != "":
				b.WriteString("\n" + r.Name + " ")
			case !open && r.Name != "":
				b.WriteString("\n" + r.Name + ": ")
			case !open:
				b.WriteByte('\n')
			case j >= r.Keys && r.Keys > 0 && parent == "":
				b.WriteString(": ")
			default:
				b.WriteString(between)
			}
			open = true
			if j >= r.Keys {
				if parent == "" {
					parent = "-"
				}
				if label := f.Label; label != "" && !kindOf(f.Value).bare() {
					at := strings.LastIndexByte(label, '.') + 1
					if at > 0 && label[:at] == parent {
						label = label[at-1:]
					}
					if parent = f.Label[:at]; at == 0 {
						parent = "-"
					}
					b.WriteString(label + " ")
				}
			}
			b.WriteString(f.Value)
		}
	}
	return b.String()
}

// forget keeps these fields only.
func (l *ledger) forget(places []place) {
	keep := l.whole(places)
	var records []*record
	hads := map[string]had{}
	for i, r := range l.records {
		left := &record{Name: r.Name}
		for j, f := range r.Fields {
			if keep[i][j] {
				left.Fields = append(left.Fields, f)
				hads[f.key()] = l.had[f.key()]
				if j < r.Keys {
					left.Keys++
				}
			}
		}
		if len(left.Fields) > 0 {
			records = append(records, left)
		}
	}
	l.records, l.had, l.about, l.asked = records, hads, nil, nil
}
