package view

// A piece is a part of a view's text, from start to the beginning of the next piece. It was made from
// the bytes between from and to of the view's source. If same is set, it equals them byte for byte;
// otherwise it stands for them as a whole. Bytes of the source between two pieces were taken out.
type piece struct {
	start, from, to int
	same            bool
}

// A span is a part of a text, from a byte to a byte.
type span struct{ from, to int }

// A draft is a view that is being made.
type draft struct {
	source string
	before int // how long the view's text is before the draft's
	text   []byte
	pieces []piece
	hidden span // from the first to the last that is hidden and shown
}

// keep adds what is the same as in the source, from the byte from to the byte to.
func (d *draft) keep(from, to int) {
	if from == to {
		return
	}
	if n := len(d.pieces); n > 0 && d.pieces[n-1].same && d.pieces[n-1].to == from {
		d.pieces[n-1].to = to
	} else {
		d.pieces = append(d.pieces, piece{start: d.before + len(d.text), from: from, to: to, same: true})
	}
	d.text = append(d.text, d.source[from:to]...)
}

// put adds a text that stands for the bytes from to to of the source.
func (d *draft) put(text string, from, to int) {
	if text == "" {
		return
	}
	d.pieces = append(d.pieces, piece{start: d.before + len(d.text), from: from, to: to})
	d.text = append(d.text, text...)
}
