package eval

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The stems are those of Porter's paper, and of NLTK's extensions to it.
func TestStem(t *testing.T) {
	for word, want := range map[string]string{
		"caresses": "caress", "ponies": "poni", "caress": "caress", "cats": "cat", "feed": "feed",
		"agreed": "agre", "plastered": "plaster",
		"bled": "bled", "motoring": "motor", "sing": "sing", "conflated": "conflat", "troubled": "troubl",
		"sized": "size", "hopping": "hop",
		"tanned": "tan", "falling": "fall", "hissing": "hiss", "fizzed": "fizz", "failing": "fail",
		"filing": "file", "happy": "happi",
		"relational": "relat", "conditional": "condit", "rational": "ration", "valenci": "valenc",
		"digitizer": "digit", "radically": "radic",
		"differently": "differ", "vilely": "vile", "analogously": "analog", "vietnamization": "vietnam",
		"predication": "predic",
		"operator":    "oper", "feudalism": "feudal", "decisiveness": "decis", "hopefulness": "hope",
		"formality":   "formal",
		"sensitivity": "sensit", "sensibility": "sensibl", "triplicate": "triplic", "formative": "form",
		"formalize":  "formal",
		"electrical": "electr", "goodness": "good", "revival": "reviv", "allowance": "allow",
		"airliner": "airlin", "gyroscopic": "gyroscop",
		"adjustable": "adjust", "irritant": "irrit", "replacement": "replac", "adjustment": "adjust",
		"dependent": "depend",
		"adoption":  "adopt", "communism": "commun", "activate": "activ", "homologous": "homolog",
		"effective": "effect", "probate": "probat",
		"rate": "rate", "cease": "ceas", "controlling": "control", "roll": "roll", "million": "million",

		"days": "day", "keys": "key", "boys": "boy", "enjoy": "enjoy", "spy": "spi", "flies": "fli",
		"dies": "die", "died": "die", "spied": "spi",
		"skies": "sky", "dying": "die", "news": "news", "proceed": "proceed", "innings": "inning",
		"geology": "geolog", "biology": "biolog",
		"hopefully": "hope", "by": "by", "2026": "2026", "oed": "o", "ing": "ing", "yyyy": "yyyi",
	} {
		require.Equal(t, want, stem(word), word)
	}
}

// What the kit takes for the same words are the same words.
func TestRouge1AsTheKit(t *testing.T) {
	require.Equal(t, 1.0, rouge1("Your trip takes 3 day by two key", "Your trip takes 3 days by two keys"))
	require.Equal(t, 1.0, rouge1("blue sky die", "blue skies dying"))
}
