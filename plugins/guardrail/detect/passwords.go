package detect

import "strings"

// isPassword tells whether a value that is called a password may be one: at least 6 bytes, with a
// digit or a mark beside letters, not a placeholder and not code.
func (l *lexicon) isPassword(value string) bool {
	if len(value) < 6 || l.isPlaceholder(value) || isNamedAsSecret(value) ||
		len(value) >= 16 && (isFilled(value) || isTyped(longestPart(value))) {
		return false
	}
	letters := false
	digits := false
	marks := false
	for i := range len(value) {
		switch c := value[i]; {
		case c <= ' ' || c == '(' && i > 0 && isWord(value[i-1]) && strings.IndexByte(value[i:], ')') > 0:
			return false
		case isLetter(c):
			letters = true
		case isDigit(c):
			digits = true
		case i > 0 && i < len(value)-1 && strings.IndexByte("!@#$%^&?~+", c) >= 0:
			marks = true
		}
	}
	switch value[0] {
	case '$', '<', '%', '[', '/', '.', '+', ',', ')', ']', ';':
		return false
	case '{':
		return value[len(value)-1] != '}' || letters && digits
	}
	return letters && digits || letters && marks || digits && marks
}

// isUnreadable tells whether a value of letters that is called a password is none of the words of a language and no
// name in code: fewer of its pairs of letters are frequent than of those, or capitals stand everywhere in it.
func (s *scan) isUnreadable(a assignment, value string) bool {
	if len(value) < 8 || len(value) > 64 || s.mayBeCode(a, value) || isOrdered(value) || isRepeated(value) || isTyped(value) {
		return false
	}
	all := 0      // pairs of letters in runs; a run ends where camelCase begins a new word
	frequent := 0 // of these, how many are frequent
	runs := 1
	for i := range len(value) {
		c := value[i]
		switch {
		case c == '-' || c == '_':
			runs++
		case !isLetter(c):
			return false
		case i == 0 || !isLetter(value[i-1]):
		case isUpper(c) && isLower(value[i-1]):
			runs++
		default:
			all++
			frequent += int(pairs[value[i-1]&31] >> (c & 31) & 1)
		}
	}
	if a.spoken {
		return 2*frequent < all
	}
	return 10*frequent < 7*all || 2*runs > len(value)
}

// isAnyPassword tells whether a value that is called a password is one, if words may be.
func (s *scan) isAnyPassword(a assignment, value string) bool {
	var room [maxNameWord]byte
	if a.spoken && (len(value) < 6 || len(value) <= len(room) && s.states[string(lowered(room[:0], value))]) {
		return false
	}
	return len(value) >= 4 && !s.mayBeCode(a, value) && !isFilled(value)
}

// mayBeCode tells whether a value has the form of what stands in the place of a password: a placeholder, a
// reference, a type, a path, a call, a variable.
func (s *scan) mayBeCode(a assignment, value string) bool {
	var room [maxNameWord]byte
	if len(value) <= len(room) && s.types[string(lowered(room[:0], value))] ||
		s.isPlaceholder(value) || s.isVariable(value) || s.isManual(value) ||
		strings.IndexByte("/.+,)];(&*=-", value[0]) >= 0 || strings.ContainsAny(value, "()/ ") {
		return true
	}
	if a.quoted || a.spoken || a.end >= len(s.text) {
		return false
	}
	next := s.text[a.end]
	return next >= 0x80 || s.text[a.start-1] == ' ' && strings.IndexByte(";,).[", next) >= 0
}

// isNamedAsSecret tells whether a value has a word for a secret in it, as the passwords of manuals
// and names of passwords do.
func isNamedAsSecret(value string) bool {
	for i := range len(value) {
		c := value[i] | 0x20
		if (c == 'p' || c == 't') && hasFoldPrefix(value[i:], wordsForSecrets) {
			return true
		}
	}
	return false
}

var wordsForSecrets = []string{"password", "passwd", "passphrase", "token"}

// isManual tells whether a value is the password of manuals: pass, secret, user and the like.
func (l *lexicon) isManual(value string) bool {
	var room [maxNameWord]byte
	if len(value) <= len(room) && l.manual[string(lowered(room[:0], value))] {
		return true
	}
	return isNamedAsSecret(value)
}

// isVariable tells whether a value is filled in later: $NAME, {name}, <name>, %s.
func (l *lexicon) isVariable(value string) bool {
	switch value[0] {
	case '$', '<', '[':
		return true
	case '{':
		return value[len(value)-1] == '}' && !l.isPassword(value)
	case '%':
		return len(value) < 3 || !isHex(value[1]) || !isHex(value[2])
	}
	return false
}

// isFilledIn tells whether somebody filled in a real password: the value is neither a variable
// ($PASSWORD) nor a placeholder nor a word that manuals use. The value is not empty.
func (l *lexicon) isFilledIn(value string) bool {
	return !l.isVariable(value) && !l.isPlaceholder(value) && !l.isManual(value)
}

// isPlaceholder tells whether a value stands in for a secret: a run of x, * or dots, the word
// example and its like, a variable, or mostly the alphabet or digits in order.
func (l *lexicon) isPlaceholder(value string) bool {
	same := 1      // how many bytes up to here are the same
	ascending := 1 // how many up to here follow one another in the alphabet or in counting
	longest := 0
	words := l.placeholders
	state := uint32(0)
	b := byte(0)
	for i := range len(value) {
		state = words.Step(state, value[i])
		if words.Ends(state) {
			return true
		}
		a := b
		b = value[i] | 0x20
		if i == 0 {
			continue
		}
		if a == b {
			same++
			switch value[i] {
			case 'x', 'X', '*', '#':
				if same >= 4 {
					return true
				}
			case '.':
				if same >= 3 {
					return true
				}
			case '{':
				if value[i-1] == '{' {
					return true
				}
			}
			ascending = 1
			continue
		}
		same = 1
		if value[i] == '{' && value[i-1] == '$' {
			return true
		}
		if !follows(b, a) {
			ascending = 1
			continue
		}
		ascending++
		longest = max(longest, ascending)
	}
	return longest >= 8 && 2*longest > len(value)
}
