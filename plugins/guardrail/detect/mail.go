package detect

import "strings"

// localBytes is how long the part of an email address before the @ may be, which is called its
// local part (RFC 5321).
const localBytes = 64

// email finds an address whose local part is between i and the @.
func (f *finder) email(r *reader, i, pos int) {
	for i < pos && !isAlnum(r.text[i]) && r.text[i] != '_' {
		i++
	}
	local := r.text[i:pos]
	if i == pos || r.text[pos-1] == '.' || strings.Contains(local, "..") {
		return
	}
	if strings.EqualFold(local, "git") { // who git logs in as
		return
	}
	end, top := r.host(pos + 1)
	if end == 0 || end-top < 2 {
		return
	}
	for n := top; n < end; n++ {
		if !isLetter(r.text[n]) && r.text[n] < 0x80 && !strings.HasPrefix(r.text[top:end], "xn--") {
			return
		}
	}
	f.add("EMAIL_ADDRESS", "rfc5321", i, end, 1)
}

// written finds an email address with quotes or with letters that are not ASCII. Its local part
// begins at start, where localStart found it.
func (f *finder) written(r *reader, start, pos int) {
	end, top := r.host(pos + 1)
	if end-top >= 2 && r.text[pos-1] != '.' {
		f.add("EMAIL_ADDRESS", "rfc6531", start, end, 1)
	}
}

// localStart returns where the local part begins that a text ends with, if it is in quotes or has
// letters with accents or of other alphabets (RFC 6531); else -1. Other local parts are found from
// their beginning.
func localStart(text string) int {
	inner, quoted := strings.CutSuffix(text, `"`)
	start, letters := localRun(inner)
	switch {
	case quoted && start > 0 && start < len(inner) && text[start-1] == '"':
		return start - 1
	case quoted || letters == 0 || start > 0 && text[start-1] == '@':
		return -1
	}
	for text[start] < 0x80 && !isAlnum(text[start]) {
		start++
	}
	return start
}

// localRun returns where the characters begin that a text ends with and a local part may have, and
// how many of them are not ASCII; -1 if they are too many.
func localRun(text string) (start, letters int) {
	i := len(text)
	for n := 0; i > 0; n++ {
		switch c := text[i-1]; {
		case n > localBytes:
			return -1, 0
		case kinds[c]&localByte != 0:
			i--
			continue
		case leadsLetter(c):
			i--
		case continues(c) && i > 1 && leadsLetter(text[i-2]):
			i -= 2
		default:
			return i, letters
		}
		letters++
	}
	return i, letters
}

// mayBegin returns where a local part with quotes or with other letters begins that may go on behind the
// end of the text. It returns the text's length if there is none.
func mayBegin(text string) int {
	pos := len(text)
	if start := localStart(text); start >= 0 {
		pos = start
	}
	if start, _ := localRun(text); start > 0 && text[start-1] == '"' {
		pos = min(pos, start-1)
	}
	return pos
}

// beginsRun tells whether the word that begins at i is the first of a run of bytes that a local
// part may have, but for marks such as a quote before it.
func beginsRun(text string, i int) bool {
	for i > 0 && kinds[text[i-1]]&localByte != 0 {
		i--
		if isAlnum(text[i]) {
			return false
		}
	}
	return i < 2 || !continues(text[i-1]) || !leadsLetter(text[i-2]) // written finds those
}
