package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word is one word of a text.
type word struct {
	text     string // as it is written
	plain    string // in lower case, without apostrophes
	at       int    // where it begins in the text, in bytes
	term     uint64 // the key of its stem, 0 for a word without information
	sentence int    // the number of its sentence, from 0
	clause   int    // the number of its clause, counted from 0 through all sentences; a comma or a contrast ends one
	name     bool   // it begins with a capital within a sentence, or has a digit
	quoted   bool   // it is between quotation marks
	pale     bool   // its term tells little
	glued    bool   // no space is between it and the word before it, as in Chinese
}

// longest is how many runes a word may have. Longer words are cut into pieces, so that a part of a text without
// spaces can be kept too.
const longest = 40

// firstWide is the first rune of the scripts that are written without spaces.
const firstWide = 0x0E00

// Wide reports whether a rune belongs to a script that is written without spaces.
func Wide(r rune) bool {
	return r >= firstWide && unicode.In(r,
		unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// inner reports whether a rune between two letters or digits belongs to the word: what's, 12:30, 3.5, a@b.org, my_id-7.
func inner(r rune) bool { return strings.ContainsRune("'’.,:@_-/+&", r) }

// letter reports whether a word can begin with a rune.
func letter(r rune) bool {
	if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
		return true
	}
	return strings.ContainsRune("$€£%#", r)
}

// split returns the words of a text, and for each sentence whether it is a question.
func split(text string) (words []word, asks []bool) {
	return splitInto(make([]word, 0, len(text)/5+1), text)
}

// splitInto is split. It overwrites the words of another text, which are not needed anymore.
func splitInto(others []word, text string) (words []word, asks []bool) {
	words = others[:0]
	asks = []bool{false}
	sentence := 0
	clause := 0
	fresh := true // the sentence has no word yet
	quoted := false
	glued := false
	end := func(question bool) {
		if fresh {
			asks[sentence] = asks[sentence] || question
			return
		}
		asks[sentence] = question
		asks = append(asks, false)
		sentence++
		clause++
		fresh = true
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])

		// Between words, punctuation ends sentences, clauses and quotations.
		if !letter(r) {
			switch r {
			case '?', '？':
				end(true)
			case '.':
				if !abbreviated(words, text[:i], text[i+n:]) {
					end(false)
				}
			case '!', '\n', '。', '！', '…':
				end(false)
			case '"', '“', '”', '«', '»':
				quoted = !quoted
			case ',', ';', ':', '(', ')', '–', '—', '，', '、':
				clause++
			case '-':
				if next, _ := utf8.DecodeRuneInString(text[i+n:]); !letter(next) {
					clause++
				}
			}
			i += n
			glued = false
			continue
		}

		// A word goes on to the last letter or inner rune. In scripts without spaces, it has at most four runes.
		start := i
		cjk := Wide(r)
		digit := false
		for runes := 0; i < len(text) && runes < longest; runes++ {
			r, n = utf8.DecodeRuneInString(text[i:])
			if !letter(r) {
				next, _ := utf8.DecodeRuneInString(text[i+n:])
				if !inner(r) || cjk || !letter(next) || i+n >= len(text) {
					break
				}
			} else if Wide(r) != cjk || cjk && runes == 4 {
				break
			}
			digit = digit || unicode.IsDigit(r)
			i += n
		}
		w := word{
			text:     text[start:i],
			plain:    plain(text[start:i]),
			at:       start,
			sentence: sentence,
			clause:   clause,
			quoted:   quoted,
			glued:    glued,
		}
		first, _ := utf8.DecodeRuneInString(w.text)
		w.name = digit || !fresh && unicode.IsUpper(first)
		if (utf8.RuneCountInString(w.plain) > 1 || digit || cjk) && !stops[w.plain] {
			stem := stem(w.plain)
			w.term = key(stem)
			w.pale = pale[stem]
		}
		if contrasts[w.plain] {
			clause++
			w.clause++
		}
		words = append(words, w)
		fresh = false
		glued = true
	}
	return words, asks
}

// abbreviated reports whether a point that ends a text so far belongs to an abbreviation: Dr., Tel. 0221, J. K., U.S.
func abbreviated(words []word, text, next string) bool {
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	if ordinal(last.text, next) {
		return true
	}
	if last.at+len(last.text) < len(text) || last.plain == "i" {
		return false
	}

	// A capital is an initial, and a comma never begins a sentence.
	first, _ := utf8.DecodeRuneInString(last.text)
	final := last.plain[strings.LastIndexByte(last.plain, '.')+1:]
	single := utf8.RuneCountInString(final) == 1
	after, _ := utf8.DecodeRuneInString(strings.TrimLeft(next, " (+#"))
	if single && unicode.IsUpper(first) || abbreviations[last.plain] || strings.HasPrefix(next, ",") {
		return true
	}

	// Some words are abbreviations before a number only, and some may end a sentence too.
	if unicode.IsDigit(after) && numbered[last.plain] {
		return true
	}
	dotted := single && len(final) < len(last.plain)
	return (dotted || closing[last.plain]) && (unicode.IsDigit(after) || unicode.IsLower(after))
}

// ordinal reports whether a number, a point, and what follows are a date as in German: "am 8. Juli".
func ordinal(number, next string) bool {
	if len(number) > 2 || strings.Trim(number, "0123456789") != "" {
		return false
	}
	next, _, _ = strings.Cut(strings.TrimPrefix(next, " "), " ")
	return months[strings.TrimRight(strings.ToLower(next), ".,!?")]
}

// months are the German months that English does not have, and the others.
var months = set(`januar februar märz april mai juni juli august september oktober november dezember`)

// abbreviations are words that a point follows within a sentence.
var abbreviations = set(`mr mrs ms dr prof st vs e.g i.e approx tel cf incl excl resp esp hr fr bzw ca evtl ggf inkl vgl z.b d.h`)

// numbered are the words among them that are other words, unless a number follows.
var numbered = set(`no nos nr fig vol ext p pp pg ch sec art par ref apt rm ver abs kap seite jan feb mar apr jun jul aug sep sept
oct nov dec`)

// closing are words that a point follows, with which a sentence may end, too: so it does before a capital.
var closing = set(`etc usw jr sr inc ltd co corp dept ave blvd str min max avg hrs vols`)

// plain returns a word in lower case, without apostrophes.
func plain(w string) string {
	return strings.Map(func(r rune) rune {
		if r == '\'' || r == '’' {
			return -1
		}
		return unicode.ToLower(r)
	}, w)
}

// stem removes endings of English words, so that the forms of a word count as one: takes, taking, take.
func stem(w string) string {
	for _, end := range []string{"'s", "ings", "ing", "edly", "ed", "es", "s", "ly"} {
		if len(w) > len(end)+3 && strings.HasSuffix(w, end) {
			w = w[:len(w)-len(end)]
			break
		}
	}
	n := len(w)
	if n <= 3 {
		return w
	}
	last := w[n-1]
	doubled := last == w[n-2] && last > 'a' && last <= 'z' && last != 'l' && last != 's'
	switch {
	case last == 'i':
		return w[:n-1] + "y"
	case last == 'e' || doubled:
		return w[:n-1]
	}
	return w
}

// Terms returns the words of a query in lower case, each once: the beginnings that the forms of a word have in common, of
// those words that have information; or all its words, if none has.
func Terms(query string) (terms []string) {
	all := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’'
	})
	var words []string
	for _, w := range all {
		w = strings.Trim(w, "'’")
		w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
		if w == "" {
			continue
		}
		words = append(words, w)
		if stops[plain(w)] {
			continue
		}
		begin := stem(w)
		for !strings.HasPrefix(w, begin) {
			begin = begin[:len(begin)-1]
		}
		begin = strings.ToValidUTF8(begin, "")
		if begin == "" {
			begin = w
		}
		terms = append(terms, begin)
	}
	if len(terms) == 0 {
		terms = words
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// stops are English words without information: articles, pronouns, prepositions, auxiliaries, and phrases of
// politeness. The frequent words of other languages are found by counting; see sketch.common.
var stops = set(`a an the and or but if then so of to in on at for from with by about as into like through after
over between out against during without before under around among is am are was were be been being do does did
doing have has had having will would shall should can could may might must i me my mine we us our ours you your
yours he him his she her hers it its they them their theirs this that these those there here what which who whom
whose when where why how not no nor only own same than too very just also really got get gets getting im ive id ill
youre youve youll theyre theyve weve were were hes shes thats theres whats heres dont doesnt didnt cant couldnt
wont wouldnt isnt wasnt arent werent havent hasnt lets let oh wow hey hi hello yeah yep yes ok okay thanks thank
please sure well great good nice cool awesome amazing love know think want going go gonna wanna way lot lots some
any all more most much many up down off again myself yourself himself herself itself themselves ourselves such
even still yet ever never always maybe perhaps each every both either neither though although because while until
since else absolutely definitely totally haha lol aw aww bye glad sounds sound super so tell make makes made making
keep something anything everything thing things one kinda sort kind bit see say said says`)

// times are words that say when something happened.
var times = set(`yesterday tomorrow tonight today ago last next week weekend month year weeks months years monday
tuesday wednesday thursday friday saturday sunday january february march april june july august september october
november december morning evening recently first since birthday anniversary`)

// own are words with which people speak of themselves.
var own = set(`i im ive id ill me my mine we us our ours weve myself`)

// modals are words of clauses that say what may be, and not what is.
var modals = set(`ill well youll itll theyll will can could would should lets let may might must`)

// articles are left out, and do not end the phrase that they are in.
var articles = set(`a an the`)

// denials are words that deny the words after them, in English and the most frequent other languages. Words that end
// in n't deny too.
var denials = set(`not no nor never neither none nobody nothing nowhere hardly without cannot dont doesnt didnt cant couldnt
wont wouldnt isnt wasnt arent werent havent hasnt hadnt shouldnt mustnt neednt aint nicht kein keine keinen nie niemals pas
jamais nunca jamás non mai não niet geen`)

// denies reports whether a word denies the words after it.
func (w word) denies() bool {
	contracted := strings.HasSuffix(w.plain, "nt") && len(w.plain) < len(w.text) // can't
	return denials[w.plain] || contracted
}

// contrasts are words that begin a new clause, so that a denial before them ends.
var contrasts = set(`but because although though while pero aber mais ma`)

// pale are the stems of English words of feelings, of praise and of talking, and of words with many meanings.
var pale = stems(`happy glad excited exciting excitement thrilled pumped stoked proud grateful thankful blessed lucky
fortunate relieved nervous sad sorry tough hard easy difficult challenging fun enjoyable interesting fascinating
inspiring inspired inspiration motivating motivate incredible wonderful fantastic beautiful gorgeous stunning lovely cute
adorable delicious yummy tasty sweet special unique perfect brilliant impressive refreshing relaxing peaceful rewarding
fulfilling meaningful powerful important vital crucial true real best better big little huge whole new nice
feel feeling felt hope hoping wish believe imagine understand agree appreciate enjoy mean means meant matter
talk talking chat hear heard tell told share sharing ask idea news word words wait
stuff people person time times day moment life world journey experience memory part point reason end
difference support help encouragement strength courage passion dedication effort vibe energy spirit luck heart mind
finger cross crossed reminder remind chance opportunity step
come came take took give gave put bring brought try tried start started look happen need want use used find found keep stay
turn become became especially definitely completely truly finally lately soon already back together around ahead forward
away least pretty long quite right able post posted care join note overall another different other
unfortunately fortunately luckily sadly wild crazy blast busy see seeing look looking hear positive worth challenge
challenges obstacles understanding stand push connect connecting connection comfort express spread future kindness sense
strong peace joy progress acceptance happen happened impact success successful balance growth relax truly person always
determined determination confident confidence focus focused goal goals growing face facing`)

// judges reports whether a word is probably an adjective that judges, by its English ending.
func (w word) judges() bool {
	for _, end := range []string{"ful", "ive", "ible", "ous"} {
		if len(w.plain) >= 7 && strings.HasSuffix(w.plain, end) {
			return true
		}
	}
	return false
}

// stems returns the stems of words.
func stems(words string) map[string]bool {
	m := map[string]bool{}
	for w := range set(words) {
		m[stem(w)] = true
	}
	return m
}
