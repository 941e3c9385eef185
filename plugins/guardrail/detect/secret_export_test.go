package detect

// NewSecrets makes the detector anew.
func NewSecrets() (Detector, error) { return newSecrets() }

// A Form is what a token of the table looks like: a prefix, and pieces of text or of so many bytes of a set.
type Form struct {
	Rule, Prefix string
	Entropy      float64
	Pieces       []Piece
}

type Piece struct {
	Text     string
	Set      string
	Min, Max int
}

// Forms is the table of tokens.
func Forms() (all []Form) {
	for _, t := range defaultSecrets().tokens {
		f := Form{Rule: t.rule, Prefix: t.prefix, Entropy: t.entropy}
		for _, e := range t.rest {
			p := Piece{Text: e.text, Min: e.min, Max: e.max}
			for c := 0; e.set != nil && c < len(e.set); c++ {
				if e.set[c] {
					p.Set += string(rune(c))
				}
			}
			f.Pieces = append(f.Pieces, p)
		}
		all = append(all, f)
	}
	return all
}

// Names are the keywords of the automaton.
func Names() (all []string) {
	for _, row := range providerTable() {
		all = append(all, row[0])
	}
	return append(all, secretWords...)
}
