package extract

import (
	"strings"
	"unicode/utf8"
)

// gap is how many words without value may be inside a phrase, one after the other.
const gap = 3

// link is what a word gains by directly following another kept word of the text, as a part of its value.
const link = 1.0

// A phraseTable is the working memory of choose. It is reused from one text to the next.
type phraseTable struct{ rows [][gap + 2]cell }

// A cell is the best way to reach a state of choose: what it gains, and the state before.
type cell struct {
	gain float64
	from int8
}

// reset returns n rows.
func (t *phraseTable) reset(n int) [][gap + 2]cell {
	if cap(t.rows) < n {
		t.rows = make([][gap + 2]cell, 2*n)
	}
	t.rows = t.rows[:n]
	t.rows[0] = [gap + 2]cell{}
	return t.rows
}

// choose returns which words to keep, so that the gain is largest: the sum of the kept words' values, plus a bonus for
// each word that follows a kept one, less a price for each rune. Words without value are kept only between two that
// have value. Articles are never kept, and do not interrupt a phrase. What denies a kept word is kept too.
//
// It is dynamic programming over the words. In state 0, the last word was left out. In state k ≥ 1, a word with value
// was kept, and after it k-1 words without value.
func (t *phraseTable) choose(words []word, value []float64, denied []denial, price float64) []bool {
	const never = -1e18
	best := t.reset(len(words) + 1)
	for k := 1; k < gap+2; k++ {
		best[0][k].gain = never
	}
	for i, w := range words {
		row := &best[i]
		next := &best[i+1]
		for k := range next {
			next[k] = cell{gain: never}
		}
		step := func(from, to int, gain float64) {
			if row[from].gain > never && row[from].gain+gain > next[to].gain {
				next[to] = cell{gain: row[from].gain + gain, from: int8(from)}
			}
		}

		// Leave the word out.
		step(0, 0, 0)
		step(1, 0, 0)
		if articles[w.plain] {
			for k := 1; k < gap+2; k++ {
				step(k, k, 0)
			}
			continue
		}

		// Keep a word without value, inside a phrase.
		cost := price * float64(utf8.RuneCountInString(w.text)+1)
		follows := i > 0 && words[i-1].sentence == w.sentence
		if value[i] == 0 {
			for k := 1; follows && k <= gap; k++ {
				step(k, k+1, -cost)
			}
			continue
		}

		// Keep a word with value: as the beginning of a phrase, where its denial costs too, or inside one.
		begins := value[i] - (cost + price*float64(denied[i].runes))
		step(0, 1, begins)
		step(1, 1, begins)
		for k := 1; follows && k < gap+2; k++ {
			step(k, 1, value[i]*(1+link)-cost)
		}
	}

	// Follow the best way back.
	keep := make([]bool, len(words))
	k := 0
	n := len(words)
	if best[n][1].gain > best[n][0].gain {
		k = 1
	}
	for i := n; i > 0; i-- {
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

// A denial is the words [from, to) that must be kept if a word is kept, so that the text does not say the opposite. It
// is a denying word, and the words up to the first one after it that has information: in "can't wait until my cousin
// visits", the denial of each word is "can't wait", since "can't" alone would deny whatever follows it in the cut text.
// The zero denial is none.
type denial struct {
	from, to int
	runes    int // its length, with spaces
}

// reach is how many words a denying word denies at most.
const reach = 8

// deny returns the denial of each word. A denying word denies the words after it in its clause; or, if none of them has
// information, the words before it.
func deny(words []word) []denial {
	denied := make([]denial, len(words))
	for i, w := range words {
		contracted := strings.HasSuffix(w.plain, "nt") && len(w.plain) < len(w.text) // can't
		if !denials[w.plain] && !contracted {
			continue
		}
		inReach := func(j int) bool {
			return j >= 0 && j < len(words) && max(i-j, j-i) <= reach && words[j].clause == w.clause
		}
		d := denial{from: i, to: i + 1, runes: utf8.RuneCountInString(w.text) + 1}
		complete := false
		for j := i + 1; inReach(j); j++ {
			denied[j] = d
			if !complete {
				d.to = j + 1
				d.runes += utf8.RuneCountInString(words[j].text) + 1
				complete = words[j].term != 0
			}
		}
		for j := i - 1; !complete && inReach(j); j-- {
			if denied[j].to == 0 {
				denied[j] = d
			}
		}
	}
	return denied
}
