package extract

import (
	"strings"
	"unicode/utf8"
)

// gap is the most words without a value that may stand within a phrase.
const gap = 3

// link is the part of a word's value that it gains by following another as it did in the text.
const link = 1.0

// A shop keeps the tables of buy from one text to the next.
type shop struct{ table [][gap + 2]cell }

type cell struct {
	gain float64
	from int8
}

func (work *shop) rows(n int) [][gap + 2]cell {
	if cap(work.table) < n {
		work.table = make([][gap + 2]cell, 2*n)
	}
	work.table = work.table[:n]
	work.table[0] = [gap + 2]cell{}
	return work.table
}

// buy chooses words: their value, and a bonus for each that follows another as it did in the text, less the price
// of their runes. Words without a value are bought only between two that have one, and articles stand in
// nobody's way.
//
// It is the best choice, by dynamic programming over the words: state k ≥ 1 says that the last word of value was
// bought and k-1 without one since, state 0 that the word before was left out.
//
// What denies a word is bought with it.
func (work *shop) buy(words []word, value []float64, denied []denial, price float64) []bool {
	const never = -1e18
	best := work.rows(len(words) + 1)
	for k := 1; k < gap+2; k++ {
		best[0][k].gain = never
	}
	for i, w := range words {
		row, next := &best[i], &best[i+1]
		for k := range next {
			next[k] = cell{never, 0}
		}
		take := func(to, from int, gain float64) {
			if row[from].gain > never && row[from].gain+gain > next[to].gain {
				next[to] = cell{row[from].gain + gain, int8(from)}
			}
		}
		take(0, 0, 0)
		take(0, 1, 0)
		if articles[w.plain] {
			for k := 1; k < gap+2; k++ {
				take(k, k, 0)
			}
			continue
		}
		cost := price * float64(utf8.RuneCountInString(w.text)+1)
		follows := i > 0 && words[i-1].sentence == w.sentence
		if value[i] == 0 {
			for k := 1; follows && k <= gap; k++ {
				take(k+1, k, -cost)
			}
			continue
		}
		alone := cost + price*float64(denied[i].runes) // not in a phrase, which has its denial
		take(1, 0, value[i]-alone)
		take(1, 1, value[i]-alone)
		for k := 1; follows && k < gap+2; k++ {
			take(1, k, value[i]*(1+link)-cost)
		}
	}
	keep, k := make([]bool, len(words)), 0
	if n := len(words); best[n][1].gain > best[n][0].gain {
		k = 1
	}
	for i := len(words); i > 0; i-- {
		keep[i-1] = k > 0 && !articles[words[i-1].plain]
		k = int(best[i][k].from)
	}
	for i := range words {
		for j := denied[i].from; keep[i] && j < denied[i].to; j++ {
			keep[j] = !articles[words[j].plain]
		}
	}
	return keep
}

// A denial is what a word cannot be kept without, lest the text say the opposite: the words [from, to) before or
// after it. It is the word that denies, and what follows up to the first that tells something: "can't wait", without which
// "can't" would go with what comes after.
type denial struct {
	from, to int
	runes    int // to pay for it
}

// reach is the most words that a denial is taken to deny.
const reach = 8

// deny returns the denial of each word, the zero denial if it has none. A word denies what follows it, up to a comma,
// a turn, or the sentence's end; and if nothing does, what stands before.
func deny(words []word) []denial {
	denied := make([]denial, len(words))
	for i, w := range words {
		if !denials[w.plain] && !(strings.HasSuffix(w.plain, "nt") && len(w.plain) < len(w.text)) {
			continue
		}
		near := func(j int) bool {
			return j >= 0 && j < len(words) && max(i-j, j-i) <= reach && words[j].clause == w.clause
		}
		d := denial{i, i + 1, utf8.RuneCountInString(w.text) + 1}
		tells := false
		for j := i + 1; near(j); j++ {
			denied[j] = d
			if !tells {
				d.to, tells = j+1, words[j].term != 0
				d.runes += utf8.RuneCountInString(words[j].text) + 1
			}
		}
		for j := i - 1; !tells && near(j); j-- {
			if denied[j].to == 0 {
				denied[j] = d
			}
		}
	}
	return denied
}
