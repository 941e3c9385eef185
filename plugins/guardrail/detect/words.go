package detect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plughook/plughook/plugins/guardrail/internal/automaton"
)

// Words returns the detector of a list of words and phrases. They are found as whole words, in any
// case (Unicode's simple folding); a space in a phrase stands for any white space of at most 64
// bytes. Findings have the type kind; Rule is the word as it is in the list. Of overlapping
// findings the longer wins.
//
// The error says which word cannot be found: one that is empty, not UTF-8 or longer than 1,024
// bytes. It also says if there are no words, or more than fit in 64 MB, which are some 50,000.
//
// The text is taken as it is: look-alike letters, accents and what stands between letters make
// another word.
func Words(kind string, list []string) (Detector, error) {
	if kind == "" || len(list) == 0 {
		return nil, fmt.Errorf("a list of words needs a kind and at least one word: got kind %q and %d words",
			kind, len(list))
	}

	// Each word once, as the automaton is to read it.
	d := &words{kind: kind}
	var folded []string
	seen := map[string]bool{}
	for _, word := range list {
		clean := strings.Join(strings.Fields(word), " ")
		if clean == "" || len(clean) > 1024 || !utf8.ValidString(clean) {
			return nil, fmt.Errorf("word %.64q of a list cannot be found: "+
				"it has to be UTF-8, not blank and at most 1024 bytes", word)
		}
		low := strings.Map(fold, clean)
		if !seen[low] {
			seen[low] = true
			folded = append(folded, low)
			d.list = append(d.list, word)
		}
	}
	var err error
	d.words, err = automaton.New(folded)
	if err != nil {
		return nil, err
	}

	// Folding changes how many bytes a word has, but not how many characters.
	d.runes = make([]uint16, d.words.States())
	for _, low := range folded {
		state := uint32(0)
		n := uint16(0)
		for i := range len(low) {
			if utf8.RuneStart(low[i]) {
				n++
			}
			state = d.words.Step(state, low[i])
			d.runes[d.words.Index(state)] = n
		}
	}
	return d, nil
}

type words struct {
	kind  string
	list  []string
	words *automaton.Automaton
	runes []uint16 // by state: how many characters of a word have been read
}

// maxBlank is the longest white space within a phrase, in bytes.
const maxBlank = 64

func (d *words) Find(found []Finding, text string) []Finding {
	all, _, _ := d.scan(text)
	return settleAll(found, all)
}

func (d *words) Reader() Reader { return &tailReader{scanner: d} }

// scan implements scanner.
func (d *words) scan(text string) (found []Finding, open int, long []Part) {
	state := uint32(0)
	blank := 0 // how many bytes of white space have been read without a break
	end := len(text) - cutRune(text)
	for i := 0; i < end; {
		c := rune(text[i])
		size := 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRuneInString(text[i:])
		}
		i += size

		// White space counts as one space, unless it is too long.
		if unicode.IsSpace(c) {
			blank += size
			if blank == size {
				state = d.words.Step(state, ' ')
			} else if blank > maxBlank {
				state = 0
			}
			continue
		}
		blank = 0

		switch {
		case c < utf8.RuneSelf:
			state = d.words.Step(state, byte(c))
		case c == utf8.RuneError && size == 1:
			state = 0
		default:
			var code [utf8.UTFMax]byte
			for _, b := range code[:utf8.EncodeRune(code[:], fold(c))] {
				state = d.words.Step(state, b)
			}
		}
		if !d.words.Ends(state) {
			continue
		}
		for _, n := range d.words.Found(state) {
			start := back(text[:i], int(d.length(state, n)))
			if isWhole(text, start, i) {
				found = append(found, Finding{Type: d.kind, Rule: d.list[n], Start: start, End: i, Score: 1})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Start, b.Start) })

	// A word that has begun may go on.
	open = end
	d.words.Begun(state, func(_ int, suffix uint32) bool {
		start := back(text[:end], int(d.runes[d.words.Index(suffix)]))
		first, _ := utf8.DecodeRuneInString(text[start:])
		if isWordRune(first) && wordBefore(text, start) {
			return true
		}
		open = start
		return false
	})
	return found, open, nil
}

// length is how many characters a word has that ends at a state: the word is one of the state's
// suffixes.
func (d *words) length(state uint32, word int32) (runes uint16) {
	d.words.Begun(state, func(length int, suffix uint32) bool {
		runes = d.runes[d.words.Index(suffix)]
		return length != d.words.Size(word)
	})
	return runes
}

// back returns where the last n characters of a text begin, white space counting as one.
func back(text string, n int) int {
	for ; n > 0; n-- {
		r, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
		for blank := size; unicode.IsSpace(r) && blank <= maxBlank; {
			r, size = utf8.DecodeLastRuneInString(text)
			if unicode.IsSpace(r) {
				text = text[:len(text)-size]
				blank += size
			}
		}
	}
	return len(text)
}

// cutRune returns how many bytes at the end of a text are the beginning of a character whose rest
// is missing.
func cutRune(text string) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// isWhole tells whether text[start:end] is not a part of a longer word.
func isWhole(text string, start, end int) bool {
	first, _ := utf8.DecodeRuneInString(text[start:end])
	if isWordRune(first) && wordBefore(text, start) {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(text[start:end])
	next, _ := utf8.DecodeRuneInString(text[end:])
	return !(isWordRune(last) && isWordRune(next)) && !unicode.IsMark(next)
}

// wordBefore tells whether a word reaches up to a place.
func wordBefore(text string, pos int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:pos])
	return isWordRune(r)
}

// isWordRune tells whether a character is of a word.
func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isWord(byte(r))
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// fold returns the same for all characters that differ in case only.
func fold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		return least + 'a' - 'A'
	}
	return least
}
