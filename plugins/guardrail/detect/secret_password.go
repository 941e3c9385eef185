package detect

import "strings"

// isPassword tells whether a value that is called a password may be one: at least 6 bytes, a digit or a mark in it beside
// letters, not a placeholder and not code.
func isPassword(value string) bool {
	if len(value) < 6 || isPlaceholder(value) || isStock(value) {
		return false
	}
	var letters, digits, marks bool
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

// isStock tells whether a value is what manuals use as a password, or a name of one.
func isStock(value string) bool {
	for i := range len(value) {
		if c := value[i] | 0x20; (c == 'p' || c == 't') && (foldPrefix(value[i:], "password") || foldPrefix(value[i:], "passwd") || foldPrefix(value[i:], "passphrase") || foldPrefix(value[i:], "token")) {
			return true
		}
	}
	return false
}
