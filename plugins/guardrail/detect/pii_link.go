package detect

import "strings"

// The longest parts that are looked at: an email address (RFC 5321: 64 before the @, 255 behind), a URL. A longer URL
// counts as ending there.
const (
	localBytes = 64
	hostBytes  = 255
	linkBytes  = 2048
)

// address looks for an email address, a URL or a host's name in the text from i on, where a run of the bytes that stand
// before an @ begins. It returns where a URL found ends, and where its path begins, else 0.
func (f *finder) address(r *reader, i int, inLink bool) (end, path int) {
	j, dots, label, hosted := i, 0, i, true
	for j < len(r.text) && kinds[r.text[j]]&localByte != 0 {
		switch c := r.text[j]; {
		case c == '.' && j > i:
			dots++
			label = j
		case !alnum(c) && c != '-':
			hosted = false
		}
		if j++; j-i > localBytes && (!hosted || j-label > 64 || j-i > hostBytes) { // neither an address nor a host
			return 0, 0
		}
	}
	switch c := r.at(j); {
	case c == '@' && j-i <= localBytes:
		f.email(r, i, j)
	case inLink:
	case c == ':' && dots == 0 && r.at(j+1) == '/' && r.at(j+2) == '/' && j-i > 1 && j-i <= 10:
		return f.link(r, i, j+3)
	case dots > 0:
		if r.back(i, 1) == '@' || r.back(i, 1) == '/' || r.back(i, 1) == '\\' {
			return 0, 0
		}
		host := i
		for !alnum(r.text[host]) {
			host++
		}
		end, top := r.host(host)
		if end == 0 {
			return 0, 0
		}
		www := len(r.text)-host > 4 && strings.EqualFold(r.text[host:host+4], "www.")
		if www && strings.IndexByte(r.text[host+4:end], '.') < 0 || !www && !commonTop(r.text[top:end]) {
			return 0, 0
		}
		if r.at(end) == ':' || r.at(end) == '/' || r.at(end) == '?' {
			return f.link(r, host, end)
		}
		if alnum(r.at(end)) || r.at(end) == '_' || r.at(end) == '(' {
			return 0, 0
		}
		f.add("URL", "host", host, end, .5)
	}
	return 0, 0
}

// host returns where a host's name of two labels or more that begins at i ends, and where its last label begins; 0 if
// there is none. Labels may have letters of other scripts.
func (r *reader) host(i int) (end, top int) {
	label, labels := i, 0
	for n := i; ; n++ {
		if n-i > hostBytes {
			return 0, 0
		}
		c := r.at(n)
		if alnum(c) || c == '-' || c >= 0xc3 && c <= 0xdf || c >= 0x80 && c < 0xc0 && n > label && n < len(r.text) {
			continue
		}
		last := n
		for last > label && r.text[last-1] == '-' {
			last--
		}
		if last == label || last-label > 63 || r.text[label] == '-' {
			break
		}
		labels++
		end, top = last, label
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

// link finds the URL from start on, of which the text up to i is known. It returns where it ends, and its path begins.
func (f *finder) link(r *reader, start, i int) (end, path int) {
	from := i
	for {
		c := r.at(i)
		if kinds[c]&linkByte == 0 && (c < 0xc3 || c >= 0xe2) && (i == from || c < 0x80 || c >= 0xc0) {
			break
		}
		if path == 0 && i > from && (c == '/' || c == '?' || c == '#') {
			path = i
		}
		if i++; i-start >= linkBytes {
			break
		}
	}
	behind := ".,;:!?'*_~)]" // what belongs to the sentence around it
	if strings.ContainsAny(r.text[start:i], "([") {
		behind = behind[:len(behind)-2]
	}
	for end = i; end > from && strings.IndexByte(behind, r.text[end-1]) >= 0; {
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

// commonTops are top-level domains by which a bare name is taken for a host's: those in wide use that are no usual
// ending of a file's name, a type's or a sentence's.
const commonTops = " com org net edu gov mil int info biz name app dev cloud online store shop site xyz tech ai io co uk de fr it es nl be ch at dk no se fi cz sk hu ro bg gr pt ie lu li " +
	"ru ua tr il ae sa eg za ng ke jp cn kr tw hk sg my th vn ph au nz ca us mx br ar cl pe eu asia mobi travel museum jobs pro tv me cc "

// commonTop says whether a label is one of commonTops, written in one case.
func commonTop(label string) bool {
	if len(label) < 2 || len(label) > 6 {
		return false
	}
	var buf [8]byte
	key := append(buf[:0], ' ')
	for i := range len(label) {
		c := label[i]
		if kinds[c]&upperByte != 0 {
			if kinds[label[0]]&upperByte == 0 {
				return false
			}
			c += 'a' - 'A'
		} else if kinds[label[0]]&upperByte != 0 {
			return false
		}
		key = append(key, c)
	}
	return contains(commonTops, append(key, ' '))
}
