package view

import "strings"

// mostBefore is how long a word may be before a place at which the views of a text can begin anew:
// base64 goes on in the next line only behind a longer one.
const mostBefore = mimeLine - 1

// Restarts reports whether the views of text[at:] are the ends of the views of text: nothing that is
// encoded, and no control sequence, goes on from before the byte to behind it. It may say no where
// they are.
func (s *Views) Restarts(text string, at int) bool {
	if at == 0 {
		return true
	}
	if !isBlank(text[at-1]) || strings.IndexByte(text[max(0, at-sequence):at], 0x1b) >= 0 {
		return false
	}
	if strings.Contains(text[max(0, at-2*longestBackwards):at], rightToLeft) || !wordIsShort(text, at) {
		return false
	}
	for _, v := range s.Of(text) {
		place, ok := v.Place(at)
		if !ok || !v.restarts(place) {
			return false
		}
	}
	return true
}

// restarts reports whether no run of a view goes on from before a byte of it to behind it.
func (v *View) restarts(place int) bool {
	if place == 0 || !isBlank(v.Text[place-1]) || !wordIsShort(v.Text, place) {
		return false
	}
	// A run that ends right before the byte may go on behind it.
	for i := len(v.pieces) - 1; i >= 0; i-- {
		p := &v.pieces[i]
		if p.at > place+wordGap(maxSpacing) {
			continue
		}
		end := len(v.Text)
		if i+1 < len(v.pieces) {
			end = v.pieces[i+1].at
		}
		if end+wordGap(maxSpacing) < place {
			break
		}
		if !p.same {
			return false
		}
	}
	return true
}

// wordIsShort reports whether the word before a byte, and the blank behind it, is no line of base64
// that the next line may go on with.
func wordIsShort(text string, at int) bool {
	end := at
	for end > 0 && isBlank(text[end-1]) {
		end--
	}
	for n := 0; n < mostBefore; n++ {
		if end-n == 0 || sixes[text[end-n-1]] == 0xff {
			return true
		}
	}
	return false
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }
