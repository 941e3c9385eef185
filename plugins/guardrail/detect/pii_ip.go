package detect

import "strings"

const (
	versionWords = "version,ver,v,release,build,section,chapter,firmware,oid,upgrade,upgraded,update,updated,downgrade,downgraded,tag,patch"
	netWords     = "ip,ips,ipv4,address,addresses,addr,server,servers,host,hosts,hostname,ping,dns,resolver,nameserver,gateway,router,subnet,network,netmask,inet,client,peer,remote,src,dst,source,dest,destination," +
		"proxy,firewall,listen,bind,connect,connected,connection,connections,ssh,telnet,route,traceroute,forwarded,endpoint,traffic,attacker,blocked,adresse,adressen,dirección,indirizzo,endereço,adres,адрес"
	macWords = "mac,bssid,ethernet,hardware address"
)

// ipv4 finds addresses of four numbers, but for masks and those that every machine has. After a word such as version, they are none; nor are four small numbers, which
// versions have and few addresses, unless a word, a port or a mask says so.
func (f *finder) ipv4(v *numeral) {
	if v.plain < 4 {
		return
	}
	small := true
	for i := range 4 {
		g := &v.groups[i]
		if i > 0 && g.sep != '.' || g.size() > 3 || g.size() > 1 && v.text[g.start] == '0' {
			return
		}
		n := v.value(i)
		if n > 255 {
			return
		}
		small = small && n < 32
	}
	end := v.groups[3].end
	if v.at(end) == '.' && aDigit(v.at(end+1)) || v.at(end) == '-' && alnum(v.at(end+1)) || v.joinedLeft() && v.back(v.pre, 1) != '/' && v.back(v.pre, 1) != ':' {
		return
	}
	switch first, second := v.value(0), v.value(1); {
	case first == 127 && second == 0, first == 255 && second == 255, first == 0:
		return
	}
	if near, ok := v.said(versionList); ok && (near == 0 || small && near < 3) || small && !v.networked(end) {
		return
	}
	f.add("IP_ADDRESS", "ipv4", v.start, end, .95)
}

// networked says whether four small numbers that end at end are an address all the same: of a private network or of a
// well-known resolver, with a port or a mask, in a URL, or where a word says so.
func (v *numeral) networked(end int) bool {
	switch before := v.back(v.start, 1); {
	case before == '=' && strings.IndexByte("=<>~!^", v.back(v.start, 2)) >= 0, before == '-', before == '_':
		return false // of a package
	case before == '@', before == '/' && v.back(v.start, 2) == '/':
		return true
	}
	switch c := v.at(end); {
	case c == '.' && aLetter(v.at(end+1)), c == '_' && alnum(v.at(end+1)):
		return false // a file's name
	case (c == ':' || c == '/') && aDigit(v.at(end+1)):
		return true
	}
	switch v.text[v.start:end] {
	case "1.1.1.1", "8.8.8.8", "9.9.9.9", "8.8.4.4":
		return true
	}
	near, ok := v.said(netList)
	return v.value(0) == 10 || ok && near < 5
}

// ipv6 finds addresses of RFC 4291 in the text from i on, and hardware addresses with colons. The word at i is hexadecimal
// digits before a colon, or i is at two colons.
func (f *finder) ipv6(r *reader, i int) {
	b := r.back(i, 1)
	if b == ':' || alnum(b) {
		return
	}
	slice := b == '[' && (alnum(r.back(i, 2)) || r.back(i, 2) == ']' || r.back(i, 2) == ')') // list[::2]
	start, groups, gap, digits, pairs, wide := i, 0, 0, false, true, false
	if r.at(i) == ':' {
		i, gap = i+2, 1
	}
	for groups < 8 {
		begin := i
		for aHex(r.at(i)) && i-begin < 5 {
			digits = digits || aDigit(r.at(i))
			i++
		}
		if i == begin && gap > 0 && r.back(i, 1) == ':' {
			break
		}
		c := r.at(i)
		if i == begin || i-begin > 4 || alnum(c) || leadsLetter(c) {
			return
		}
		pairs, wide = pairs && i-begin == 2, wide || i-begin == 4
		groups++
		if c != ':' {
			break
		}
		switch next := r.at(i + 1); {
		case next == ':':
			if gap++; gap > 1 || r.at(i+2) == ':' {
				return
			}
			i += 2
		case aHex(next) && groups < 8:
			i++
		default:
			begin = i
		}
		if begin == i {
			break
		}
	}
	if r.at(i) == ':' && aHex(r.at(i+1)) {
		return
	}
	switch {
	case groups == 6 && gap == 0 && pairs:
		f.add("MAC_ADDRESS", "colons", start, i, .95)
	case groups == 8 && gap == 0, !slice && gap == 1 && groups > 0 && groups < 8 && (digits && (wide || r.text[start] == ':') || groups > 2):
		f.add("IP_ADDRESS", "ipv6", start, i, .95)
	}
}

// mac finds hardware addresses with hyphens, and in three groups with points. With digits only they must be said to be ones.
func (f *finder) mac(r *reader, v *numeral) {
	groups, size, sep := 6, 2, byte('-')
	if v.groups[0].size() == 4 {
		groups, size, sep = 3, 4, '.'
	}
	if v.n < groups || v.joinedLeft() {
		return
	}
	digits := 0
	for i := range groups {
		g := &v.groups[i]
		if g.size() != size || i > 0 && g.sep != sep {
			return
		}
		for n := g.start; n < g.end; n++ {
			if !aHex(v.text[n]) {
				return
			}
		}
		digits += g.digits
	}
	end := v.groups[groups-1].end
	if r.at(end) == sep && alnum(r.at(end+1)) {
		return
	}
	if _, ok := v.said(macList); ok || digits < groups*size && digits > 0 {
		f.add("MAC_ADDRESS", "groups", v.start, end, .9)
	}
}
