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

// beginsRun tells whether the word that begins at i is the first of a run of bytes that a local
// part may have, but for marks such as a quote before it.
func beginsRun(text string, i int) bool {
	for i > 0 && kinds[text[i-1]]&localByte != 0 {
		i--
		if isAlnum(text[i]) {
			return false
		}
	}
	return i < 2 || !continues(text[i-1]) || !leadsLetter(text[i-2])
}
