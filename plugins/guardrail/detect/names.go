package detect

import (
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/internal/automaton"
)

// A meaning is what a name says of the value that is assigned to it.
type meaning uint8

const (
	ordinary meaning = iota
	secretMeaning
	passwordMeaning
	loginMeaning // of an Authorization header
	passMeaning  // of names such as pass and pwd, which may also be a test's result or a directory
)

// A lexicon has the words that names of secrets are made of, and those about passwords.
type lexicon struct {
	words map[string]wordClasses // the words of names

	// Parts of words.
	secretEnds   []string
	passwordEnds []string
	passBefore   []string
	keyBefore    []string
	afterName    []string

	keywordsOfNames []string // words that names of secrets have in them
	passwordNames   []string // words for password in other languages
	verbs           verbs
	foreignVerbs    verbs
	placeholders    *automaton.Automaton
	manual          map[string]bool // the passwords of manuals
	types           map[string]bool // words of forms and schemas in the place of a password
	states          map[string]bool // words of prose in the place of a password
}

// wordClasses has a bit for each class of names.txt that a word is in.
type wordClasses uint16

const (
	keyWord wordClasses = 1 << iota
	secretWord
	passwordWord
	passWord
	loginWord
	asideWord
	neverWord
	publicWord
	falseWord
	notKeyWord
	emptyWord
	beforeKeyWord
)

// classNames are the classes in this order.
var classNames = []string{
	"key", "secret", "password", "pass", "login", "aside", "never", "public", "false", "not-key", "empty",
	"before-key",
}

// readLexicon reads the lists of names.txt and passwords.txt.
func (l *lexicon) readLexicon() {
	names := listsOf("names.txt", append([]string{"secret-end", "password-end", "pass-before", "key-before",
		"after-name", "keyword"}, classNames...)...)
	l.words = map[string]wordClasses{}
	for n, class := range classNames {
		for _, word := range names[class] {
			l.words[word] |= 1 << n
		}
	}
	l.secretEnds = names["secret-end"]
	l.passwordEnds = names["password-end"]
	l.passBefore = names["pass-before"]
	l.keyBefore = names["key-before"]
	l.afterName = names["after-name"]
	l.keywordsOfNames = names["keyword"]
	for _, class := range []string{
		"key", "secret", "password", "pass", "login", "secret-end", "password-end",
	} {
		for _, word := range names[class] {
			has := func(part string) bool { return strings.Contains(word, strings.TrimPrefix(part, "_")) }
			if !slices.ContainsFunc(l.keywordsOfNames, has) {
				l.keywordsOfNames = append(l.keywordsOfNames, word)
			}
		}
	}

	passwords := listsOf("passwords.txt", "name", "verb", "verb-foreign", "placeholder", "manual", "type", "state")
	l.passwordNames = passwords["name"]
	l.verbs = verbsOf(passwords["verb"])
	l.foreignVerbs = verbsOf(passwords["verb-foreign"])
	l.manual = setOf(passwords["manual"])
	l.types = setOf(passwords["type"])
	l.states = setOf(passwords["state"])
	l.placeholders = must(automaton.New(passwords["placeholder"]))
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, word := range list {
		set[word] = true
	}
	return set
}

// maxNameWord is how much of a word of a name is looked at.
const maxNameWord = 16

// classesOf returns the classes that a word is in, in any case.
func (l *lexicon) classesOf(word string) wordClasses {
	var room [maxNameWord]byte
	return l.words[string(lowered(room[:0], word[:min(len(word), maxNameWord)]))]
}

// meaningOf returns what a name says of its value. As in English, the last word says what the value
// is and the words before say of what: secret_key is a key, and key_name a name.
func (l *lexicon) meaningOf(name string) meaning {
	// The last word, without those that say nothing.
	word, rest := lastWord(name)
	for word != "" && (l.classesOf(word)&asideWord != 0 || isDigit(word[0])) {
		word, rest = lastWord(rest)
	}
	means := l.meaningOfLast(word)
	qualified := l.classesOf(word)&keyWord == 0 // it says of what the value is a key

	// The words before.
	for means != ordinary {
		name = rest
		word, rest = lastWord(name)
		if word == "" {
			break
		}
		classes := l.classesOf(word)
		switch {
		case l.isPublicWord(classes, name[len(rest)+len(word):]), classes&notKeyWord != 0 && !qualified:
			return ordinary
		case classes&(notKeyWord|emptyWord) == 0:
			qualified = true
		}
	}
	if !qualified {
		return ordinary
	}
	return means
}

// meaningOfLast is what the last word of a name says: token, authtoken, dbpass.
func (l *lexicon) meaningOfLast(word string) meaning {
	var room [maxNameWord]byte
	low := string(lowered(room[:0], word[:min(len(word), maxNameWord)]))
	classes := l.words[low]
	first, isPass := strings.CutSuffix(low, "pass")
	endsWord := func(end string) bool { return strings.HasSuffix(low, end) }
	switch {
	case classes&(keyWord|secretWord) != 0:
		return secretMeaning
	case classes&passwordWord != 0:
		return passwordMeaning
	case classes&passWord != 0, isPass && slices.Contains(l.passBefore, first):
		return passMeaning
	case classes&loginWord != 0:
		return loginMeaning
	case slices.ContainsFunc(l.secretEnds, endsWord):
		return secretMeaning
	case slices.ContainsFunc(l.passwordEnds, endsWord):
		return passwordMeaning
	}
	return ordinary
}

// isPublicWord tells whether a word of a name that is not the last one says that the value is public or
// made up. seam is what stands between it and the next: fake_token is made up, but a log may say "invalid
// key" before a real one, and example.com.token is the name of a host.
func (l *lexicon) isPublicWord(classes wordClasses, seam string) bool {
	apart := strings.HasPrefix(seam, " ") || strings.HasPrefix(seam, ".")
	return classes&publicWord != 0 || classes&falseWord != 0 && !apart
}

// isPublicName tells whether a word before the last one of a name says that its value is public or
// made up.
func (l *lexicon) isPublicName(name string) bool {
	_, name = lastWord(name)
	for name != "" {
		word, rest := lastWord(name)
		if l.isPublicWord(l.classesOf(word), name[len(rest)+len(word):]) {
			return true
		}
		name = rest
	}
	return false
}

// isNever tells whether a name that ends in a word is not a secret's, whatever is before.
func (l *lexicon) isNever(word string) bool { return l.classesOf(word)&neverWord != 0 }

// opensKey tells whether a word right before the word key may make it a secret's name, as openai
// does in openai key. The words in <li key=, with key= and by key: do not.
func (l *lexicon) opensKey(word string) bool { return l.classesOf(word)&beforeKeyWord == 0 }

// goesOnAsSecret tells whether a provider's name goes on as names of secrets do: stripekey,
// githubtoken, oktaapitoken.
func (l *lexicon) goesOnAsSecret(rest string) bool {
	return slices.ContainsFunc(l.afterName, func(word string) bool { return foldPrefix(rest, word) })
}

// isSuffix tells whether the word text[start:end] is the end of a longer word that names of
// secrets have, such as key in secretkey.
func (l *lexicon) isSuffix(text string, start, end int) bool {
	behind := func(first string) bool {
		n := start - len(first)
		return n >= 0 && foldPrefix(text[n:start], first)
	}
	switch end - start {
	case 2: // pw
		return false
	case 3: // key, pwd, api
		return slices.ContainsFunc(l.keyBefore, func(first string) bool {
			return start > len(first) && behind(first)
		})
	case 4: // pass, auth
		return foldPrefix(text[start:end], "pass") &&
			slices.ContainsFunc(l.passBefore, func(first string) bool {
				n := start - len(first)
				return behind(first) && (n == 0 || !isLetter(text[n-1]))
			})
	}
	return true
}

// lastWord cuts off the last word of a name in any of camelCase, snake_case, kebab-case and words.
func lastWord(name string) (word, rest string) {
	end := len(name)
	for end > 0 && !isLetter(name[end-1]) && !isDigit(name[end-1]) {
		end--
	}
	if end == 0 {
		return "", ""
	}
	digits := isDigit(name[end-1])
	start := end - 1
	for start > 0 {
		c := name[start-1]
		if isDigit(c) != digits || !isDigit(c) && !isLetter(c) {
			break
		}
		if isLetter(c) && !isJoined(name[:end], start) {
			break
		}
		start--
	}
	return name[start:end], name[:start]
}

// goesOnFromWord tells whether the letter at a place goes on with a word that begins before it.
func goesOnFromWord(text string, pos int) bool {
	return pos > 0 && isLetter(text[pos-1]) && isLetter(text[pos]) && isJoined(text, pos)
}

// isJoined tells whether the letters before and at a place are of one word: aB and ABc are not.
func isJoined(text string, pos int) bool {
	a := text[pos-1]
	b := text[pos]
	if isLower(a) != isLower(b) {
		return isLower(b) && isLetter(a)
	}
	return isLower(a) || pos+1 >= len(text) || !isLower(text[pos+1])
}
