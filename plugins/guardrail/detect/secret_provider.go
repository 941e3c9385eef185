package detect

// A provider is a name, and the forms of the secrets that it gives out without a prefix of their own: they are found
// where they are assigned to a name that has the provider's in it.
type provider struct {
	rule   string
	values []pattern
	named  bool // the name has to say that the value is a secret, too
}

// provider looks at the value behind a provider's name.
func (s *scan) provider(p *provider, start, end int) {
	text := s.text
	if start > 0 && isLetter(text[start-1]) && joined(text, start) {
		return
	}
	if end < len(text) && isLetter(text[end]) && joined(text, end) && !saysSecret(text[end:]) {
		return
	}
	a, ok := s.english(s.nameAround(start, end), end)
	if !ok || a.loose { // a form says too little without an operator: heroku <uuid>, drone <md5>
		return
	}
	word, rest := lastWord(a.name)
	if word != "" && isDigit(word[0]) { // sha256, md5
		word, _ = lastWord(rest)
	}
	if vetoes(word) || p.named && meaningOf(a.name) == ordinary {
		return
	}
	if a.open {
		s.hold(a.start)
	}
	value := text[a.start:a.end]
	if isNumber(value) && meaningOf(a.name) == ordinary && !saysClient(a.name) { // a task, a page, a guild
		return
	}
	if (a.spoken && !a.quoted || a.listed) && len(value) < 20 {
		return
	}
	for _, form := range p.values {
		if form.matchAll(value) {
			if entropy(value) >= least(value) && !isPlaceholder(value) {
				s.add(p.rule, a.start, a.end, .7)
			}
			return
		}
	}
}

// least is the entropy that the value of a provider must have, in bits a byte, by its length.
func least(value string) float64 {
	switch {
	case len(value) < 16:
		return 2.2
	case len(value) < 24:
		return 2.4
	}
	return 2.8
}

// saysSecret tells whether a word goes on as names of secrets do: stripekey, githubtoken, oktaapitoken.
func saysSecret(rest string) bool {
	for _, word := range [...]string{"key", "token", "secret", "api", "pass", "auth", "access", "client", "app", "bot"} {
		if foldPrefix(rest, word) {
			return true
		}
	}
	return false
}

// saysClient tells whether a name is of a client or an application, which identify themselves by numbers with some providers.
func saysClient(name string) bool {
	for i := range len(name) {
		if foldPrefix(name[i:], "client") || foldPrefix(name[i:], "app") {
			return true
		}
	}
	return false
}

// vetoes tells whether a name that ends in a word is not a secret's, whatever is before.
func vetoes(word string) bool {
	var room [12]byte
	low := room[:0]
	for i := range min(len(word), len(room)) {
		low = append(low, lower(word[i]))
	}
	switch string(low) {
	case "url", "uri", "host", "hostname", "endpoint", "domain", "name", "username", "email", "version", "sha", "md", "commit",
		"rev", "revision", "ref", "digest", "checksum", "hash", "path", "file", "dir", "image", "tag", "branch", "region", "page", "link", "href", "src",
		"title", "type", "user":
		return true
	}
	return false
}
