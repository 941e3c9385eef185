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
	folded, hides := s.fold(false)
	if folded != nil {
		last = folded
	}
	s.decodings(last, DecodedView, DecodedTwiceView)
	if !hides {
		return
	}
	// What is hidden is shown in views of its own. All but what is around it was seen in the others.
	secret, _ := s.fold(true)
	secret.like = folded
	n := s.n
	s.decodings(secret, HiddenDecoded)
	if s.n > n && s.made[1].Name == DecodedView {
		s.made[n].like = &s.made[1]
		s.made[n].hidden = secret.hidden
	}
}

// fold makes the normalised view of the text, nil if it would equal the text; or the one that also
// shows what is secret. It says whether the text hides something.
func (s *Views) fold(secret bool) (v *View, hides bool) {
	d := s.draft(s.raw.Text)
	done, end, hides := d.fold(0, secret, func(bool, bool) bool { return false })
	if done == 0 {
		return nil, false
	}
	d.keep(done, end)
	v = s.view(&d, &s.raw)
	v.Name = NormalisedView
	if secret {
		v.Name = HiddenView
	}
	return v, hides
}

// decodings decodes a view, and the result again, once for each name, as long as something is encoded.
func (s *Views) decodings(v *View, names ...string) {
	for _, name := range names {
		d := s.draft(v.Text)
		done, _ := d.decode(new(scanner), 0, false)
		if done == 0 {
			return
		}
		d.keep(done, len(v.Text))
		v = s.view(&d, v)
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
	*v = View{Text: string(d.text), parent: parent, pieces: d.pieces, size: len(d.source), hidden: d.hidden}
	s.text = d.text
	if cap(s.text) > keptBytes {
		s.text = nil
	}
	clear(s.text)
	return v
}
