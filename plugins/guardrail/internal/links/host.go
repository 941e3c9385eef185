package links

import "strings"

// domains are top-level domains of which bare hosts are found; those of files (see files) only with a path.
var domains = func() map[string]bool {
	m := map[string]bool{}
	for _, d := range strings.Fields(`com net org io dev app ai co info biz xyz site online store shop tech cloud page link live click top club vip icu cc tv me
		us uk de fr es it nl be ch at se no dk fi pl cz sk hu ro bg gr pt ie ru ua by cn jp kr tw hk sg my th vn id in pk au nz ca mx br ar cl pe za ng ke eg il tr ir sa ae eu asia
		edu gov mil int example tk ml ga cf gq pw ws to ly gl la su ee lv lt si hr rs is lu li mobi name pro arpa onion local internal run work world today space fun website host press
		sh py md pl rs so ps cc ms ag am as`) {
		m[d] = true
	}
	return m
}()

// files are endings that files have more often than hosts.
var files = func() map[string]bool {
	m := map[string]bool{}
	for _, d := range strings.Fields("sh py md pl rs so ps cc ms ag am as name pro in is to ws app run local id") {
		m[d] = true
	}
	return m
}()

// bare says whether the word from i to end is a host that stands without a scheme.
func bare(text string, i, end int) bool {
	if i > 0 && (text[i-1] == '@' || text[i-1] == '/' || text[i-1] == '\\' || text[i-1] == '$') {
		return false
	}
	for end > i && text[end-1] == '.' {
		end--
	}
	host := text[i:end]
	dot := strings.LastIndexByte(host, '.')
	if dot <= 0 || !isHost(host) || !alnum(host[0]) || strings.Contains(host, "..") {
		return false
	}
	path := end < len(text) && (text[end] == '/' || text[end] == ':' && end+1 < len(text) && '0' <= text[end+1] && text[end+1] <= '9')
	if last := host[dot+1:]; len(last) <= 8 {
		var b [8]byte
		for n := range len(last) {
			b[n] = last[n] | 0x20
		}
		if domains[string(b[:len(last)])] {
			if end < len(text) && text[end] == '@' {
				return false
			}
			return path || !files[string(b[:len(last)])] || len(host) > 4 && strings.EqualFold(host[:4], "www.")
		}
	}
	if len(host) > 4 && strings.EqualFold(host[:4], "www.") {
		return true
	}
	return path && text[end] == '/' && dotted(host)
}

// isHost says whether a word is not too long for a host, nor any of its labels for one.
func isHost(word string) bool {
	label := 0
	for n := range len(word) {
		if word[n] == '.' {
			label = 0
		} else if label++; label > longestLabel {
			return false
		}
	}
	return len(word) <= longestHost
}

// dotted says whether a host is four numbers.
func dotted(host string) bool {
	dots := 0
	for n := range len(host) {
		switch c := host[n]; {
		case c == '.':
			dots++
		case c < '0' || c > '9':
			return false
		}
	}
	return dots == 3
}
