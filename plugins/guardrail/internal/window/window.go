// Package window keeps the end of what was said before a text, for rules that look back.
//
// A longer window, or a further way to join texts, belongs into Add and Heads.
package window

import "strings"

const (
	// Size is how much of what was said before is looked at, in bytes.
	Size = 16 << 10
	// Texts is how many texts of one event are looked at with Size before them. Each of the rest
	// has Short, so that the work grows with the event and not with its square.
	Texts = 32
	// Short is how much is looked at before the texts after the first Texts, in bytes.
	Short = 512
)

// Before is the end of what was said before a text. It is kept twice, since nobody knows whether
// two texts are one value: with spaces between the texts, and without.
type Before struct{ spaced, joined []byte }

// Add adds a text that was said.
func (b *Before) Add(text string) {
	b.spaced = append(b.spaced, text...)
	b.spaced = append(b.spaced, ' ')
	b.joined = append(b.joined, text...)
	b.spaced = trimmed(b.spaced)
	b.joined = trimmed(b.joined)
}

// trimmed cuts the beginning of a text that is longer than the longest window.
func trimmed(text []byte) []byte {
	if len(text) <= 4*Size {
		return text
	}
	return append(text[:0], text[len(text)-2*Size:]...)
}

// Empty reports whether nothing was said.
func (b *Before) Empty() bool { return len(b.joined) == 0 }

// Heads returns what a text is read after, at most limit bytes long. With the spaces stands the
// text's own name.
func (b *Before) Heads(name string, limit int) []string {
	return []string{
		End(b.spaced, limit-len(name)) + name,
		End(b.joined, limit),
	}
}

// End returns the last bytes of a text, at most limit, as valid UTF-8.
func End(text []byte, limit int) string {
	from := max(0, len(text)-max(0, limit))
	return strings.ToValidUTF8(string(text[from:]), "")
}
