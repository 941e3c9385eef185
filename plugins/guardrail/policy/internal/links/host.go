package links

import (
	"strings"
	"sync"
)

// domains are top-level domains that hosts have more often than anything else with a dot in it
// (true), and endings that files have rather than hosts (false).
var domains = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq(`
		com net org io dev ai co info biz xyz site online store shop tech cloud page link live click top club vip icu tv
		me us uk de fr es it nl be ch at se no dk fi cz sk hu ro bg gr pt ie ru ua by cn jp kr tw hk sg my th vn pk au nz
		ca mx br ar cl pe za ng ke eg il tr ir sa ae eu asia edu gov mil int example tk ml ga cf gq pw ly gl la su ee lv
		lt si hr lu li mobi arpa onion internal work world today space fun website host press`) {
		m[word] = true
	}
	for word := range strings.FieldsSeq("sh py md pl rs so ps cc ms ag am as name pro in is to ws app run local id") {
		m[word] = false
	}
	return m
})

// bare says whether the word from i to end is a host that stands without a scheme. A word that ends
// as files do is one if it begins with "www.", or if a path or a port follows: main.rs is rather a
// file, main.rs/x is none.
func bare(text string, i, end int) bool {
	if i > 0 && strings.IndexByte(`@/\$`, text[i-1]) >= 0 {
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
	next := text[end:]
	ending := host[dot+1:]
	isWeb := len(host) > 4 && fold(host[:4], "www.")
	hasPath := strings.HasPrefix(next, "/")
	hasPort := len(next) > 1 && next[0] == ':' && '0' <= next[1] && next[1] <= '9'
	often, listed := domain(ending)
	if listed {
		return !strings.HasPrefix(next, "@") && (often || isWeb || hasPath || hasPort)
	}
	return isWeb || hasPath && dotted(host)
}

// domain looks a word up in domains, in whatever letters it is, without an allocation.
func domain(word string) (often, listed bool) {
	var small [8]byte
	if len(word) > len(small) {
		return false, false
	}
	for n := range len(word) {
		small[n] = word[n] | 0x20
	}
	often, listed = domains()[string(small[:len(word)])]
	return often, listed
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
