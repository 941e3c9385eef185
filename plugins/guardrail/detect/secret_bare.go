package detect

import "strings"

// unlocks tells whether a word before a key may say that it is a secret, as in openai key: not <li key=, with key= or by key:.
func unlocks(word string) bool {
	for _, w := range [...]string{"li", "tr", "td", "div", "data", "option", "item", "list", "react", "i18n", "with", "by", "for", "under", "of", "at", "from", "in", "to", "on", "and", "or", "not", "has", "have", "using", "duplicate", "such"} {
		if len(w) == len(word) && foldPrefix(word, w) {
			return false
		}
	}
	return true
}

// bare is where the value behind a word that ends at end begins if nothing but a space is between: in quotes, as in SQL, or
// in a .netrc, behind login and a name; -1 if none does. It is loose if nothing else speaks for a value.
func (s *scan) bare(begin, end int) (after int, loose bool) {
	text, i := s.text, end
	for i < len(text) && isLetter(text[i]) {
		i++
	}
	if i+1 >= len(text) || text[i] != ' ' || !isLetter(text[begin]) {
		return -1, false
	}
	if text[i+1] == '\'' || text[i+1] == '"' || text[i+1] == '`' {
		return i + 1, false
	}
	_, before := lastField(text[max(0, begin-maxName):begin])
	switch word, _ := lastField(before); word {
	case "login", "user", "account":
		return i + 1, false
	}
	if !isLetter(text[i+1]) && !isDigit(text[i+1]) || i > end+1 || strings.ContainsAny(text[begin:i], "0123456789") { // tokens goes on, a random text too
		return -1, false
	}
	return i + 1, true
}

// lastField cuts off what is behind the last space.
func lastField(text string) (field, rest string) {
	text = strings.TrimRight(text, " \t\r\n")
	n := strings.LastIndexAny(text, " \t\r\n") + 1
	return text[n:], text[:n]
}
