package detect

// url looks for the password in scheme://user:password@host, from behind the slashes.
func (s *scan) url(at int) {
	text := s.text
	colon := at
	for colon < len(text) && colon-at < 128 && urlSet[text[colon]] {
		colon++
	}
	if colon >= len(text) || text[colon] != ':' {
		return
	}
	start := colon + 1
	end := start
	for end < len(text) && end-start <= 256 && (urlSet[text[end]] || text[end] == ':') {
		end++
	}
	if end == len(text) && end-start <= 256 {
		s.hold(start)
		return
	}
	if end-start > 256 || text[end] != '@' || end+1 < len(text) && !isWord(text[end+1]) && text[end+1] != '[' && text[end+1] != '.' {
		return
	}
	if end+1 == len(text) {
		s.hold(start)
	}
	if password := text[start:end]; len(password) >= 4 && !isVariable(password) && !isPlaceholder(password) && !isManual(password) {
		s.add("url-password", start, end, .85)
	}
}

// urlSet are bytes of a user or a password in a URL, as people write them.
var urlSet = readSet("A-Za-z0-9_.~!#$&'()*+,;=%^|{}[<>-")

// isVariable tells whether a value is filled in later: $NAME, {name}, <name>, %s.
func isVariable(value string) bool {
	switch value[0] {
	case '$', '<', '[':
		return true
	case '{':
		return value[len(value)-1] == '}' && !isPassword(value)
	case '%':
		return len(value) < 3 || !isHex(value[1]) || !isHex(value[2])
	}
	return false
}

// isManual tells whether a value is the password of manuals: pass, secret, user and the like.
func isManual(value string) bool {
	for _, word := range [...]string{"pass", "pwd", "password", "passwd", "passw0rd", "secret", "user", "username", "test", "token", "key", "postgres", "root",
		"admin", "guest", "mysql", "mongo", "redis", "yyy", "foo", "bar", "pw", "mypassword", "mypass", "userpass", "yourpassword", "your-password"} {
		if len(value) == len(word) && foldPrefix(value, word) {
			return true
		}
	}
	return isStock(value)
}

// user looks for the password in curl's --user name:password, when curl is named before in the command.
func (s *scan) user(start, end int) {
	text := s.text
	if end >= len(text) || text[end] != ' ' && text[end] != '=' {
		return
	}
	i := end
	for i < len(text) && i-end < 8 && (text[i] == ' ' || text[i] == '=') {
		i++
	}
	var quote byte
	if i < len(text) && (text[i] == '"' || text[i] == '\'') {
		quote = text[i]
		i++
	}
	colon := i
	for colon < len(text) && colon-i < 128 && text[colon] > ' ' && text[colon] != ':' {
		if text[colon] == quote {
			quote = 0
		}
		colon++
	}
	if colon < len(text) && text[colon] != ':' || !s.inCurl(start) {
		return
	}
	if colon == len(text) {
		s.hold(i)
		return
	}
	from := colon + 1
	if from < len(text) && quote == 0 && (text[from] == '"' || text[from] == '\'') {
		quote = text[from]
		from++
	}
	stop := from
	for stop < len(text) && stop-from < 256 && text[stop] > ' ' && text[stop] != quote && (quote != 0 || text[stop] != '"' && text[stop] != '\'') {
		stop++
	}
	if stop == len(text) {
		s.hold(i)
	}
	password := text[from:stop]
	if len(password) >= 6 && !isVariable(password) && !isPlaceholder(password) && !isManual(password) {
		s.add("curl-user", from, stop, .8)
		return
	}
	if name := text[i:colon]; len(password) == 0 && isPassword(name) && len(name) >= 8 && i+len(name) == colon && stop < len(text) {
		s.add("curl-user", i, colon, .7)
	}
}

// inCurl tells whether the command that a place is in begins with curl, at most 1 KB before.
func (s *scan) inCurl(at int) bool {
	for i := at; i > 0 && at-i < 1024; i-- {
		switch c := s.text[i-1]; {
		case c == '\n' && (i < 2 || s.text[i-2] != '\\'):
			return false
		case c == 'c' && foldPrefix(s.text[i-1:at], "curl") && (i < 2 || !isWord(s.text[i-2])):
			return true
		}
	}
	return false
}
