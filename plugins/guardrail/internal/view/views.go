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
		s.look(text, false)
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

// look makes the views of a text. If settle is set, it also sets in each view how much of it is
// open.
func (s *Views) look(text string, settle bool) {
	s.raw = itself(text)
	last := &s.raw
	folded, open := s.fold(false)
	s.raw.open = open
	s.raw.settled = open
	if folded != nil {
		last = folded
	}
	s.decodings(last, settle, DecodedView, DecodedTwiceView)
	if hidden(text) {
		secret, _ := s.fold(true)
		secret.Name = HiddenView
		s.decodings(secret, settle, HiddenDecoded)
	}
}

// decodings decodes a view, and the result again, once for each name. If settle is set and nothing
// is encoded in a view, it sets how much of that view is open, since more text could complete an
// encoded run.
func (s *Views) decodings(v *View, settle bool, names ...string) {
	for i, name := range names {
		next, open, settled := s.decode(v, settle)
		if next == nil {
			if settle {
				for range names[i+1:] {
					open = settledIn(v.Text[:open])
				}
				if open < v.open {
					settled, _ = v.Original(open, open)
				}
				v.open = open
				v.settled = min(settled, v.settled)
			}
			break
		}
		next.Name = name
		v = next
	}
}

// draft begins a view of a text.
func (s *Views) draft(source string) draft {
	return draft{source: source, text: s.text[:0], pieces: s.made[s.n].pieces[:0]}
}

// view finishes a draft that was made from parent. The first open bytes of the parent's text are
// settled; they stand for the first settled bytes of the original.
func (s *Views) view(d *draft, parent *View, open, settled int) *View {
	v := &s.made[s.n]
	s.n++
	*v = View{
		Text:    string(d.text),
		parent:  parent,
		pieces:  d.pieces,
		settled: settled,
		size:    len(d.source),
	}
	v.open = v.before(open)
	s.text = d.text
	if cap(s.text) > keptBytes {
		s.text = nil
	}
	clear(s.text)
	return v
}
