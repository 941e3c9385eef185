package detect

import (
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/table"
)

// The longest host's name and URL that are looked at. A longer URL counts as ending there.
const (
	hostBytes = 255
	linkBytes = 2048
)

// readDomains reads the top-level domains of bare names.
func (t *piiTables) readDomains() {
	t.domains = map[string]bool{}
	for _, row := range rowsOf("domains.txt", "kind", "domains") {
		for _, domain := range table.List(row.Cells[1]) {
			t.domains[domain] = true
		}
	}
}

// maxDomain is how long they are.
const maxDomain = 6

// isCommonDomain tells whether a label is one of the top-level domains, in small letters or in
// capitals.
func (t *piiTables) isCommonDomain(label string) bool {
	if len(label) > maxDomain {
		return false
	}
	var buf [maxDomain]byte
	key := buf[:0]
	for i := range len(label) {
		if isUpper(label[i]) != isUpper(label[0]) {
			return false
		}
		key = append(key, lower(label[i]))
	}
	return t.domains[string(key)]
}

// address looks for an email address, a URL or a host's name in the text from i on, where a run of
// the bytes begins that the local part of an email address may have. It returns where a URL ends
// that it found, and where its path begins; else 0.
func (f *finder) address(r *reader, i int, inLink bool) (end, path int) {
	// Read the run.
	j := i
	dots := 0
	label := i     // where the last label of a host begins
	hosted := true // all bytes may be of a host
	for j < len(r.text) && kinds[r.text[j]]&localByte != 0 {
		switch c := r.text[j]; {
		case c == '.' && j > i:
			dots++
			label = j
		case !isAlnum(c) && c != '-':
			hosted = false
		}
		j++
		if j-i > localBytes && (!hosted || j-label > 64 || j-i > hostBytes) { // neither an address nor a host
			return 0, 0
		}
	}

	switch c := r.peek(j); {
	case c == '@' && j-i <= localBytes:
		f.email(r, i, j)
	case inLink:
	case c == ':' && dots == 0 && r.peek(j+1) == '/' && r.peek(j+2) == '/' && j-i > 1 && j-i <= 10:
		return f.link(r, i, j+3)
	case dots > 0:
		return f.bareHost(r, i)
	}
	return 0, 0
}

// bareHost finds a host's name without a scheme, and the URL that it begins: www.example.org,
// example.com/a.
func (f *finder) bareHost(r *reader, i int) (end, path int) {
	if r.back(i, 1) == '@' || r.back(i, 1) == '/' || r.back(i, 1) == '\\' {
		return 0, 0
	}
	start := i
	for !isAlnum(r.text[start]) {
		start++
	}
	end, top := r.host(start)
	if end == 0 {
		return 0, 0
	}
	if len(r.text)-start > 4 && strings.EqualFold(r.text[start:start+4], "www.") {
		if strings.IndexByte(r.text[start+4:end], '.') < 0 {
			return 0, 0
		}
	} else if !f.isCommonDomain(r.text[top:end]) {
		return 0, 0
	}
	switch c := r.peek(end); {
	case c == ':', c == '/', c == '?':
		return f.link(r, start, end)
	case isAlnum(c), c == '_', c == '(':
		return 0, 0
	}
	f.add("URL", "host", start, end, .5)
	return 0, 0
}

// host returns where a host's name of two labels or more ends that begins at i, and where its last
// label begins; 0 if there is none. Labels may have letters of other scripts.
func (r *reader) host(i int) (end, top int) {
	label := i
	labels := 0
	for n := i; ; n++ {
		if n-i > hostBytes {
			return 0, 0
		}
		c := r.peek(n)
		if isAlnum(c) || c == '-' || leadsLetter(c) || continues(c) && n > label && n < len(r.text) {
			continue
		}

		// A label ends.
		last := n
		for last > label && r.text[last-1] == '-' {
			last--
		}
		if last == label || last-label > 63 || r.text[label] == '-' {
			break
		}
		labels++
		end = last
		top = label
		if c != '.' || last < n {
			break
		}
		label = n + 1
	}
	if labels < 2 {
		return 0, 0
	}
	return end, top
}

// link finds the URL from start on, of which the text up to i is known. It returns where it ends,
// and where its path begins.
func (f *finder) link(r *reader, start, i int) (end, path int) {
	from := i
	for {
		c := r.peek(i)
		letter := c >= 0xc3 && c < 0xe2 || i > from && continues(c)
		if kinds[c]&linkByte == 0 && !letter {
			break
		}
		if path == 0 && i > from && (c == '/' || c == '?' || c == '#') {
			path = i
		}
		i++
		if i-start >= linkBytes {
			break
		}
	}

	// Marks at the end belong to the sentence around the URL.
	behind := ".,;:!?'*_~)]"
	if strings.ContainsAny(r.text[start:i], "([") {
		behind = ".,;:!?'*_~"
	}
	end = i
	for end > from && strings.IndexByte(behind, r.text[end-1]) >= 0 {
		end--
	}
	if end == from && r.back(from, 1) == '/' && r.back(from, 2) == '/' {
		return 0, 0
	}
	if path == 0 {
		path = i
	}
	f.add("URL", "link", start, end, .6)
	return i, path
}
