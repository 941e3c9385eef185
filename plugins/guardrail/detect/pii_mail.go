package detect

import "strings"

// email finds an address whose part before the @ is between i and the @.
func (f *finder) email(r *reader, i, at int) {
	for i < at && !alnum(r.text[i]) && r.text[i] != '_' {
		i++
	}
	if i == at || r.text[at-1] == '.' || strings.Contains(r.text[i:at], "..") || strings.EqualFold(r.text[i:at], "git") { // who git logs in as
		return
	}
	end, top := r.host(at + 1)
	if end == 0 || end-top < 2 {
		return
	}
	for n := top; n < end; n++ {
		if !aLetter(r.text[n]) && r.text[n] < 0x80 && !strings.HasPrefix(r.text[top:end], "xn--") {
			return
		}
	}
	f.add("EMAIL_ADDRESS", "rfc5321", i, end, 1)
}

// written finds the address around the @ at a place whose part before it begins at start, as localStart says.
func (f *finder) written(r *reader, start, at int) {
	end, top := r.host(at + 1)
	if end-top >= 2 && r.text[at-1] != '.' {
		f.add("EMAIL_ADDRESS", "rfc6531", start, end, 1)
	}
}

// localStart returns where at the end of a text the part of an address before the @ begins, if it has letters with
// accents or of other alphabets (RFC 6531), or is in quotes; else -1. Others are found from their beginning.
func localStart(text string) int {
	inner, quoted := strings.CutSuffix(text, `"`)
	start, letters := localRun(inner)
	switch {
	case quoted && start > 0 && start < len(inner) && text[start-1] == '"':
		return start - 1
	case quoted || letters == 0 || start > 0 && text[start-1] == '@':
		return -1
	}
	for text[start] < 0x80 && !alnum(text[start]) {
		start++
	}
	return start
}

// localRun returns where the characters at the end of a text begin that such a part may have, and how many of them are
// not ASCII; -1 if they are too many.
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
		case c >= 0x80 && c < 0xc0 && i > 1 && leadsLetter(text[i-2]):
			i -= 2
		default:
			return i, letters
		}
		letters++
	}
	return i, letters
}

// mayBegin returns where at the end of a text such a part may begin, the text's length if none does.
func mayBegin(text string) int {
	at := len(text)
	if start := localStart(text); start >= 0 {
		at = start
	}
	if start, _ := localRun(text); start > 0 && text[start-1] == '"' {
		at = min(at, start-1)
	}
	return at
}

// beginsRun says whether the word that begins at i is the first of a run of bytes of an address, but for marks such as
// a quote before it.
func beginsRun(text string, i int) bool {
	for i > 0 && kinds[text[i-1]]&localByte != 0 {
		if i--; alnum(text[i]) {
			return false
		}
	}
	return i < 2 || text[i-1] < 0x80 || text[i-1] >= 0xc0 || !leadsLetter(text[i-2]) // written finds those
}
