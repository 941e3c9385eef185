package view

import (
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// sequence is how long a terminal's control sequence may be, in bytes.
const sequence = 32

// folded returns a text as the normalised view shows it.
func folded(text string) string {
	i := plain(text)
	if i == len(text) {
		return text
	}
	var b strings.Builder
	for i, last := i, 0; ; {
		if i == len(text) {
			if last == 0 {
				return text
			}
			b.WriteString(text[last:])
			return b.String()
		}
		n, s, same, _ := foldAt(text, i)
		if !same {
			b.WriteString(text[last:i])
			b.WriteString(s)
			last = i + n
		}
		i += n
		i += plain(text[i:])
	}
}

// fold adds the source from a byte on as the normalised view shows it, or the one that also shows what
// is secret. It ends before a character if stop says so, which is told whether what follows the text could
// change something there, and whether the source hides something. It returns where the last change ends,
// if there is one, and how far it came; what is between is still to be kept.
func (d *draft) fold(done int, secret bool, stop func(more, hides bool) bool) (last, end int, hides bool) {
	text := d.source
	i := done
	for i += plain(text[i:]); i < len(text); i += plain(text[i:]) {
		n, becomes, same, more := foldAt(text, i)
		if !same && !more {
			hides = hides || secretAt(text, i) != "" || strings.HasPrefix(text[i:], rightToLeft)
			if secret {
				size, said, cut := unseen(text, i)
				if size > 0 {
					n = size
					becomes = said
					if d.hidden.to == 0 {
						d.hidden.from = i
					}
					d.hidden.to = i + n
				}
				more = cut
			}
		}
		if stop(more, hides) {
			break
		}
		if !same {
			d.keep(done, i)
			d.put(becomes, i, i+n)
			done = i + n
		}
		i += n
	}
	return done, i, hides
}

// asPlain marks the bytes that fold to themselves whatever surrounds them.
var asPlain = func() (t [256]bool) {
	for c := ' '; c <= '~'; c++ {
		t[c] = true
	}
	t['\t'], t['\n'], t['\r'] = true, true, true
	return t
}()

// plain returns how many bytes at the beginning of a text stay as they are in the normalised view.
func plain(text string) int {
	const low, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(text); i += 8 {
		eight := uint64(text[i]) | uint64(text[i+1])<<8 | uint64(text[i+2])<<16 | uint64(text[i+3])<<24 |
			uint64(text[i+4])<<32 | uint64(text[i+5])<<40 | uint64(text[i+6])<<48 | uint64(text[i+7])<<56
		if (eight|(eight-' '*low)|(eight+low))&high == 0 { // none is beyond ASCII, below a space, or 0x7f
			continue
		}
		for n := i; n < i+8; n++ {
			if !asPlain[text[n]] {
				return n
			}
		}
	}
	for ; i < len(text); i++ {
		if !asPlain[text[i]] {
			return i
		}
	}
	return len(text)
}

// foldAt folds the character at i: its n bytes become s, or are the same. More says that what
// follows the end of the text could change that.
func foldAt(text string, i int) (n int, s string, same, more bool) {
	switch c := text[i]; {
	case asPlain[c]:
		return 1, "", true, false
	case c == 0x1b:
		n, more = escape(text[i:])
		return n, "", false, more
	case c < utf8.RuneSelf:
		return 1, "", false, false
	}
	r, n := utf8.DecodeRuneInString(text[i:])
	if r == utf8.RuneError && n == 1 {
		return 1, "", true, !utf8.FullRuneInString(text[i:])
	}
	s, same = foldRune(r)
	return n, s, same, false
}

// escape returns the length of the control sequence at the beginning of text, or 1 if there is only
// the escape.
func escape(text string) (n int, more bool) {
	for i := 1; i < sequence; i++ {
		switch {
		case i == len(text):
			return 1, true
		case i == 1 && text[i] != '[', text[i] < 0x20, text[i] > 0x7e:
			return 1, false
		case i > 1 && text[i] >= 0x40:
			return i + 1, false
		}
	}
	return 1, false
}

// pages hold what characters fold to, 256 each, made when first needed.
var pages [0x200]atomic.Pointer[[256]folding]

type folding struct {
	s    string
	same bool
}

func foldRune(r rune) (s string, same bool) {
	if int(r>>8) >= len(pages) {
		return "", !removed(r)
	}
	page := pages[r>>8].Load()
	if page == nil {
		page = new([256]folding)
		for i := range page {
			page[i].s, page[i].same = foldSlow(r&^0xff | rune(i))
		}
		pages[r>>8].Store(page)
	}
	return page[r&0xff].s, page[r&0xff].same
}

func foldSlow(r rune) (s string, same bool) {
	if c, ok := ascii(r); ok {
		return c, false
	}
	var b [utf8.UTFMax]byte
	form := norm.NFKD.Properties(b[:utf8.EncodeRune(b[:], r)]).Decomposition()
	if form == nil {
		return "", true
	}
	var folded []byte
	for _, part := range string(form) {
		if c, ok := ascii(part); ok {
			folded = append(folded, c...)
		} else {
			folded = utf8.AppendRune(folded, part)
		}
	}
	canonical := norm.NFD.Properties(b[:utf8.RuneLen(r)]).Decomposition() != nil
	if canonical && !isASCII(folded) {
		return "", true
	}
	return string(folded), false
}
