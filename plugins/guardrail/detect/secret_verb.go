package detect

import "strings"

// What stands between what is spoken of and its value, for is: in English, and where passwords have another name.
var (
	verbs        = []string{"was changed to", "was set to", "was reset to", "has been changed to", "has been reset to", "is now", "is", "are", "was", "\u00e8"}
	foreignVerbs = []string{"ist", "lautet", "war", "est", "es", "\u00e9", "\u00e8", "\u00e4r", "er", "on", "to", "je", "este", "jest", "adalah", "l\u00e0", "is", "\u044d\u0442\u043e", "\u2014", "-", "\u662f", "\u306f", "\ub294", "\uc740"}
)

// verb returns how long the verb is that a text begins with, with a colon behind it; 0 if there is none. Where no space is
// before it, only one that scripts without spaces have counts.
func verb(text string, verbs []string, apart bool) int {
	for _, v := range verbs {
		if !strings.HasPrefix(text, v) || len(text) == len(v) || v[0] < 0xe3 && (!apart || text[len(v)] != ' ' && text[len(v)] != ':') {
			continue
		}
		if text[len(v)] == ':' {
			return len(v) + 1
		}
		return len(v)
	}
	return 0
}
