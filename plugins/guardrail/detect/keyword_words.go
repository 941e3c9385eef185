package detect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words returns the detector of a list of words and phrases, found as whole words in any case (Unicode's simple
// folding). A space in a phrase stands for any white space of at most 64 bytes. Findings have the type kind; Rule is
// the word as it is in the list; of overlapping ones the longer wins. The error says which word cannot be: none at
// all, an empty one, one that is not UTF-8 or longer than 1,024 bytes, or more than fit in 64 MB, some 50,000.
//
// The text is taken as it is: look-alike letters, accents and what stands between letters make another word.
func Words(kind string, list []string) (Detector, error) {
	if kind == "" || len(list) == 0 {
		return nil, fmt.Errorf("a list of words needs a kind and at least one word: got kind %q and %d words", kind, len(list))
	}
	d := &words{kind: kind}
	var folded []string
	seen := map[string]bool{}
	for _, word := range list {
		clean := strings.Join(strings.Fields(word), " ")
		if clean == "" || len(clean) > 1024 || !utf8.ValidString(clean) {
			return nil, fmt.Errorf("word %.64q of a list cannot be found: it has to be UTF-8, not blank and at most 1024 bytes", word)
		}
		low := strings.Map(fold, clean)
		if !seen[low] {
			seen[low] = true
			folded, d.list = append(folded, low), append(d.list, word)
		}
	}
	var err error
	if d.keywords, err = newKeywords(folded); err != nil {
		return nil, err
	}
	d.runes = make([]uint16, len(d.keywords.depth))
	for _, low := range folded {
		state, n := uint32(0), uint16(0)
		for i := range len(low) {
			if utf8.RuneStart(low[i]) {
				n++
			}
			state = d.keywords.step(state, low[i])
			d.runes[state/d.keywords.width] = n
		}
	}
	return d, nil
}

type words struct {
	kind     string
	list     []string
	keywords *keywords
	runes    []uint16 // by state: how many runes of a keyword it stands for
}

// maxBlank is the longest white space within a phrase, in bytes.
const maxBlank = 64

func (d *words) Find(found []Finding, text string) []Finding {
	all, _ := d.scan(text)
	return settleAll(found, all)
}

func (d *words) Open(text string) int {
	return uncut(d.scan(text))
}

// scan returns all that is found, ordered by its beginning, and where the first word begins that may go on.
func (d *words) scan(text string) (found []Finding, open int) {
	k := d.keywords
	state, blank := uint32(0), 0
	end := len(text) - cutRune(text)
	for i := 0; i < end; {
		c, size := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRuneInString(text[i:])
		}
		i += size
		if unicode.IsSpace(c) {
			if blank += size; blank == size {
				state = k.step(state, ' ')
			} else if blank > maxBlank {
				state = 0
			}
			continue
		}
		blank = 0
		if c < utf8.RuneSelf {
			state = k.step(state, byte(c))
		} else if c == utf8.RuneError && size == 1 {
			state = 0
		} else {
			var code [utf8.UTFMax]byte
			for _, b := range code[:utf8.EncodeRune(code[:], fold(c))] {
				state = k.step(state, b)
			}
		}
		for _, n := range k.found(state) {
			start := back(text[:i], int(d.length(state, n)))
			if isWhole(text, start, i) {
				found = append(found, Finding{Type: d.kind, Rule: d.list[n], Start: start, End: i, Score: 1})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Start, b.Start) })
	open = end
	k.begun(state, func(_ int, suffix uint32) bool {
		start := back(text[:end], int(d.runes[suffix/k.width]))
		if r, _ := utf8.DecodeRuneInString(text[start:]); isWordRune(r) && wordBefore(text, start) {
			return true
		}
		open = start
		return false
	})
	return found, open
}

// length is the runes of keyword n, which ends at a state: it is one of the state's suffixes.
func (d *words) length(state uint32, n int32) (runes uint16) {
	d.keywords.begun(state, func(length int, suffix uint32) bool {
		runes = d.runes[suffix/d.keywords.width]
		return length != int(d.keywords.size[n])
	})
	return runes
}
