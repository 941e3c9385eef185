package eval

import "strings"

// stem returns the stem of a word of small letters and digits, by the algorithm of M. F. Porter (An algorithm
// for suffix stripping, 1980) with the extensions of the Natural Language Toolkit (NLTK), which the kit's
// score uses.
func stem(word string) string {
	if irregular, is := irregularStems[word]; is {
		return irregular
	}
	if len(word) <= 2 {
		return word
	}
	word = stemPlural(word)
	word = stemParticiple(word)
	if n := len(word); n > 2 && word[n-1] == 'y' && consonant(word, n-2) { // an extension: enjoy stays
		word = word[:n-1] + "i"
	}
	word = stemDouble(word)
	word = replaceSuffix(word, suffixesOfOne, 1)
	word = replaceSuffix(word, suffixesOfTwo, 2)

	// A last e, and a double l, go from long words.
	if rest, ok := strings.CutSuffix(word, "e"); ok && (measure(rest) > 1 || measure(rest) == 1 && !shortEnd(rest)) {
		word = rest
	}
	if strings.HasSuffix(word, "ll") && measure(word[:len(word)-1]) > 1 {
		word = word[:len(word)-1]
	}
	return word
}

// irregularStems are an extension, and so are the rules about words of four letters.
var irregularStems = map[string]string{
	"sky": "sky", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news",
	"inning": "inning", "innings": "inning", "outing": "outing", "outings": "outing", "canning": "canning",
	"cannings": "canning",
	"howe":     "howe", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}

func stemPlural(word string) string {
	switch {
	case strings.HasSuffix(word, "ies") && len(word) == 4,
		strings.HasSuffix(word, "s") && !hasAnySuffix(word, "sses", "ies", "ss"):
		return word[:len(word)-1]
	case hasAnySuffix(word, "sses", "ies"):
		return word[:len(word)-2]
	}
	return word
}

func stemParticiple(word string) string {
	n := len(word)
	switch {
	case strings.HasSuffix(word, "ied") && n == 4:
		return word[:n-1]
	case strings.HasSuffix(word, "ied"):
		return word[:n-2]
	case strings.HasSuffix(word, "eed"):
		if measure(word[:n-3]) > 0 {
			return word[:n-1]
		}
		return word
	}
	rest, cut := strings.CutSuffix(word, "ed")
	if !cut || !hasVowel(rest) {
		if rest, cut = strings.CutSuffix(word, "ing"); !cut || !hasVowel(rest) {
			return word
		}
	}
	n = len(rest)
	switch {
	case hasAnySuffix(rest, "at", "bl", "iz"):
		return rest + "e"
	case n >= 2 && rest[n-1] == rest[n-2] && consonant(rest, n-1):
		if !hasAnySuffix(rest, "l", "s", "z") {
			return rest[:n-1]
		}
	case measure(rest) == 1 && shortEnd(rest):
		return rest + "e"
	}
	return rest
}

// stemDouble makes one suffix of two.
func stemDouble(word string) string {
	if rest, ok := strings.CutSuffix(word, "alli"); ok && measure(rest) > 0 { // an extension
		return stemDouble(rest + "al")
	}
	if rest, ok := strings.CutSuffix(word, "logi"); ok { // an extension: the l counts for the stem
		if measure(rest+"l") > 0 {
			return rest + "log"
		}
		return word
	}
	return replaceSuffix(word, doubleSuffixes, 1)
}

// A suffix and what comes in its place. Of several that fit the first counts.
type suffixRule struct{ suffix, by string }

var doubleSuffixes = []suffixRule{
	{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"}, {"bli", "ble"},
	{"alli", "al"},
	{"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}, {"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"},
	{"alism", "al"},
	{"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"}, {"iviti", "ive"},
	{"biliti", "ble"}, {"fulli", "ful"},
}

var suffixesOfOne = []suffixRule{
	{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
}

var suffixesOfTwo = []suffixRule{
	{"al", ""}, {"ance", ""}, {"ence", ""}, {"er", ""}, {"ic", ""}, {"able", ""}, {"ible", ""}, {"ant", ""},
	{"ement", ""}, {"ment", ""},
	{"ent", ""}, {"ion", ""}, {"ou", ""}, {"ism", ""}, {"ate", ""}, {"iti", ""}, {"ous", ""}, {"ive", ""},
	{"ize", ""},
}

// replaceSuffix applies the first rule whose suffix the word has, if what is left has the measure, and before
// "ion" an s or t.
func replaceSuffix(word string, rules []suffixRule, least int) string {
	for _, r := range rules {
		if rest, ok := strings.CutSuffix(word, r.suffix); ok {
			if measure(rest) < least || r.suffix == "ion" && !hasAnySuffix(rest, "s", "t") {
				return word
			}
			return rest + r.by
		}
	}
	return word
}

func hasAnySuffix(word string, suffixes ...string) bool {
	for _, s := range suffixes {
		if strings.HasSuffix(word, s) {
			return true
		}
	}
	return false
}

// consonant reports whether a letter is none of a, e, i, o, u, and no y after a consonant.
func consonant(word string, i int) bool {
	if word[i] == 'y' {
		return i == 0 || !consonant(word, i-1)
	}
	return !strings.Contains("aeiou", word[i:i+1])
}

func hasVowel(word string) bool {
	for i := range word {
		if !consonant(word, i) {
			return true
		}
	}
	return false
}

// measure returns how often a consonant follows a vowel.
func measure(word string) int {
	n := 0
	for i := 1; i < len(word); i++ {
		if consonant(word, i) && !consonant(word, i-1) {
			n++
		}
	}
	return n
}

// shortEnd reports whether the word ends in a consonant, a vowel and a consonant that is no w, x or y, or is
// a vowel and a consonant.
func shortEnd(word string) bool {
	n := len(word)
	if n < 2 || !consonant(word, n-1) || consonant(word, n-2) {
		return false
	}
	return n == 2 || consonant(word, n-3) && !hasAnySuffix(word, "w", "x", "y")
}
