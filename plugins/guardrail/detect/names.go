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
	passMeaning  // pass and pwd, which are a test's result and a directory as well
)

// A lexicon has the words that names of secrets are made of, and those about passwords.
type lexicon struct {
	last         map[string]lastWordSays   // what the last word of a name says
	before       map[string]beforeWordSays // what the words before it say
	secretEnds   []string                  // how the last word of a secret's name may end
	passwordEnds []string
	passBefore   []string // what stands before pass without a seam
	keyBefore    []string // how what stands before key without a seam ends
	afterName    []string // what a provider's name goes on with without a seam
	beforeKey    map[string]bool
	never        map[string]bool

	keywordsOfNames []string // words that names of secrets have in them
	passwordNames   []string // words for password in other languages
	verbs           verbs
	foreignVerbs    verbs
	placeholders    *automaton.Automaton
	manual          map[string]bool
}

type lastWordSays struct {
	means meaning
	aside bool // the word is passed over
	key   bool // the word says something only if another one is before it
}

type beforeWordSays uint8

const (
	sayQualified beforeWordSays = iota // what the last word is for: the value of any word that is not listed
	sayPublic                          // the value is not secret
	sayFalse                           // the value is made up, if the word is part of the same name
	sayNotKey                          // the value is not secret if the word is right before key
	sayEmpty
)

// maxNameWord is how much of a word of a name is looked at.
const maxNameWord = 16

// readLexicon reads the lists of names.txt and passwords.txt.
func (l *lexicon) readLexicon() error {
	names, err := listsOf("names.txt",
		"key", "secret", "password", "pass", "login", "secret-end", "password-end", "aside", "never",
		"public", "false", "not-key", "empty",
		"pass-before", "key-before", "after-name", "before-key", "keyword")
	if err != nil {
		return err
	}
	l.last = map[string]lastWordSays{}
	for class, says := range map[string]lastWordSays{
		"key":      {means: secretMeaning, key: true},
		"secret":   {means: secretMeaning},
		"password": {means: passwordMeaning},
		"pass":     {means: passMeaning},
		"login":    {means: loginMeaning},
		"aside":    {aside: true},
	} {
		for _, word := range names[class] {
			l.last[word] = says
		}
	}
	l.before = map[string]beforeWordSays{}
	for class, says := range map[string]beforeWordSays{
		"public":  sayPublic,
		"false":   sayFalse,
		"not-key": sayNotKey,
		"empty":   sayEmpty,
	} {
		for _, word := range names[class] {
			l.before[word] = says
		}
	}
	l.secretEnds = names["secret-end"]
	l.passwordEnds = names["password-end"]
	l.passBefore = names["pass-before"]
	l.keyBefore = names["key-before"]
	l.afterName = names["after-name"]
	l.beforeKey = setOf(names["before-key"])
	l.never = setOf(names["never"])
	l.keywordsOfNames = names["keyword"]
	for _, class := range []string{"key", "secret", "password", "pass", "login", "secret-end", "password-end"} {
		for _, word := range names[class] {
			has := func(part string) bool { return strings.Contains(word, strings.TrimPrefix(part, "_")) }
			if !slices.ContainsFunc(l.keywordsOfNames, has) {
				l.keywordsOfNames = append(l.keywordsOfNames, word)
			}
		}
	}

	passwords, err := listsOf("passwords.txt", "name", "verb", "verb-foreign", "placeholder", "manual")
	if err != nil {
		return err
	}
	l.passwordNames = passwords["name"]
	l.verbs = verbsOf(passwords["verb"])
	l.foreignVerbs = verbsOf(passwords["verb-foreign"])
	l.manual = setOf(passwords["manual"])
	l.placeholders, err = automaton.New(passwords["placeholder"])
	return err
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, word := range list {
		set[word] = true
	}
	return set
}

// meaningOf returns what a name says of its value. As in English, the last word says what the value
// is and the words before say of what: secret_key is a key, and key_name a name.
func (l *lexicon) meaningOf(name string) meaning {
	var room [maxNameWord]byte

	// The last word, without those that say nothing.
	means := ordinary
	qualified := false
	for means == ordinary {
		var word string
		word, name = lastWord(name)
		if word == "" {
			return ordinary
		}
		low := lowered(room[:0], word[:min(len(word), maxNameWord)])
		says := l.last[string(low)]
		if says.aside || isDigit(word[0]) {
			continue
		}
		means = says.means
		if means == ordinary {
			means = l.meaningOfEnd(string(low))
		}
		if means == ordinary {
			return ordinary
		}
		qualified = !says.key
	}

	// The words before.
	for {
		word, rest := lastWord(name)
		if word == "" {
			break
		}
		switch l.saysBefore(word, name[len(rest)+len(word):]) {
		case sayPublic:
			return ordinary
		case sayNotKey:
			if !qualified {
				return ordinary
			}
		case sayQualified:
			qualified = true
		}
		name = rest
	}
	if !qualified {
		return ordinary
	}
	return means
}

// saysBefore returns what a word of a name says that is not the last one. seam is what stands
// between it and the next: fake_token is made up, but a log may say "invalid key" before a real one,
// and example.com.token is the name of a place.
func (l *lexicon) saysBefore(word, seam string) beforeWordSays {
	var room [maxNameWord]byte
	says := l.before[string(lowered(room[:0], word[:min(len(word), maxNameWord)]))]
	if says == sayFalse {
		if strings.HasPrefix(seam, " ") || strings.HasPrefix(seam, ".") {
			return sayQualified
		}
		return sayPublic
	}
	return says
}

// isPublicName tells whether a word before the last one of a name says that its value is public or
// made up.
func (l *lexicon) isPublicName(name string) bool {
	for _, name = lastWord(name); ; {
		word, rest := lastWord(name)
		if word == "" {
			return false
		}
		if l.saysBefore(word, name[len(rest)+len(word):]) == sayPublic {
			return true
		}
		name = rest
	}
}

// meaningOfEnd is what a name's last word says by how it ends: authtoken, dbpass.
func (l *lexicon) meaningOfEnd(word string) meaning {
	if first, ok := strings.CutSuffix(word, "pass"); ok && slices.Contains(l.passBefore, first) {
		return passMeaning
	}
	for _, end := range l.secretEnds {
		if strings.HasSuffix(word, end) {
			return secretMeaning
		}
	}
	for _, end := range l.passwordEnds {
		if strings.HasSuffix(word, end) {
			return passwordMeaning
		}
	}
	return ordinary
}

// isNever tells whether a name that ends in a word is not a secret's, whatever is before.
func (l *lexicon) isNever(word string) bool {
	var room [maxNameWord]byte
	return l.never[string(lowered(room[:0], word[:min(len(word), maxNameWord)]))]
}

// opensKey tells whether a word right before the word key may make it a secret's name, as openai
// does in openai key. The words in <li key=, with key= and by key: do not.
func (l *lexicon) opensKey(word string) bool {
	var room [maxNameWord]byte
	return !l.beforeKey[string(lowered(room[:0], word[:min(len(word), maxNameWord)]))]
}

// goesOnAsSecret tells whether a provider's name goes on as names of secrets do: stripekey,
// githubtoken, oktaapitoken.
func (l *lexicon) goesOnAsSecret(rest string) bool {
	for _, word := range l.afterName {
		if foldPrefix(rest, word) {
			return true
		}
	}
	return false
}

// isSuffix tells whether the word text[start:end] is the end of a longer word that names of
// secrets have, such as key in secretkey.
func (l *lexicon) isSuffix(text string, start, end int) bool {
	switch end - start {
	case 2: // pw
		return false
	case 3: // key, pwd, api
		for _, first := range l.keyBefore {
			n := start - len(first)
			if n > 0 && foldPrefix(text[n:start], first) {
				return true
			}
		}
		return false
	case 4: // pass, auth
		if !foldPrefix(text[start:end], "pass") {
			return false
		}
		for _, first := range l.passBefore {
			n := start - len(first)
			if n >= 0 && foldPrefix(text[n:start], first) && (n == 0 || !isLetter(text[n-1])) {
				return true
			}
		}
		return false
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
func goesOnFromWord(text string, at int) bool {
	return at > 0 && isLetter(text[at-1]) && isLetter(text[at]) && isJoined(text, at)
}

// isJoined tells whether the letters before and at a place are of one word: aB and ABc are not.
func isJoined(text string, at int) bool {
	a := text[at-1]
	b := text[at]
	if isLower(a) != isLower(b) {
		return isLower(b) && isLetter(a)
	}
	return isLower(a) || at+1 >= len(text) || !isLower(text[at+1])
}
