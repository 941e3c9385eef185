package view

// Views makes the views of texts, one text after another, and uses its memory again. The
// zero value is ready for use. It is for one goroutine at a time.
type Views struct {
	raw  View
	made [5]View
	n    int
	text []byte // room for the text of the one in the making
}

// How much room is kept for further texts, in bytes and pieces.
const (
	keptBytes  = 64 << 10
	keptPieces = 4 << 10
)

// Of returns the views of a text except the raw one. If nothing in the text is disguised, it
// returns none and allocates nothing. The views are valid until the next call of Of or Forget.
func (s *Views) Of(text string) []View {
	s.Forget()
	if plain(text) != len(text) || encoded(text) {
		s.look(text)
	}
	return s.made[:s.n:s.n]
}

// Forget drops the text and its views, so that their memory can be freed.
func (s *Views) Forget() {
	s.raw = View{}
	for i := range s.made[:s.n] {
		v := &s.made[i]
		*v = (View{pieces: v.pieces[:0]})
		if cap(v.pieces) > keptPieces {
			v.pieces = nil
		}
	}
	s.n = 0
}

// look makes the views of a text.
func (s *Views) look(text string) {
	s.raw = itself(text)
	last := &s.raw
	folded := s.fold(false)
	if folded != nil {
		last = folded
	}
	s.decodings(last, DecodedView, DecodedTwiceView)
	if !hidden(text) {
		return
	}
	secret := s.fold(true)
	secret.like = folded
	decoded := s.decode(secret)
	if decoded == nil {
		return
	}
	decoded.Name = HiddenDecoded
	if s.made[1].Name == DecodedView {
		decoded.like = &s.made[1]
	}
}

// decodings decodes a view, and the result again, once for each name, as long as something is encoded.
func (s *Views) decodings(v *View, names ...string) {
	for _, name := range names {
		v = s.decode(v)
		if v == nil {
			return
		}
		v.Name = name
	}
}

// draft begins a view of a text.
func (s *Views) draft(source string) draft {
	return draft{source: source, text: s.text[:0], pieces: s.made[s.n].pieces[:0]}
}

// view finishes a draft that was made from parent.
func (s *Views) view(d *draft, parent *View) *View {
	v := &s.made[s.n]
	s.n++
	*v = View{Text: string(d.text), parent: parent, pieces: d.pieces, size: len(d.source)}
	s.text = d.text
	if cap(s.text) > keptBytes {
		s.text = nil
	}
	clear(s.text)
	return v
}
