package detect

import "strings"

// ipv4 finds addresses of four numbers. Masks, 127.0.x.x and 0.x.x.x are not found: they say
// nothing about anybody. Nor is what a word such as version says to be one; four small numbers,
// which are rather a version, are found only if isNetworked.
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
	if v.peek(end) == '.' && isDigit(v.peek(end+1)) || v.peek(end) == '-' && isAlnum(v.peek(end+1)) {
		return
	}
	if v.joinedLeft() && v.back(v.pre, 1) != '/' && v.back(v.pre, 1) != ':' {
		return
	}

	// Masks, this machine, any machine.
	first := v.value(0)
	second := v.value(1)
	if first == 127 && second == 0 || first == 255 && second == 255 || first == 0 {
		return
	}

	near, labelled := v.labelBefore(versionList)
	if labelled && (near == 0 || small && near < 3) {
		return
	}
	if small && !v.isNetworked(end) && !f.isAsked(v, end) {
		return
	}
	f.add("IP_ADDRESS", "ipv4", v.start, end, .95)
}

// isNetworked tells whether four small numbers that end at end are an address and no version. They
// are if they are of a private network or of a well-known resolver, have a port or a mask, are in a
// URL, or a word before them says so.
func (v *numeral) isNetworked(end int) bool {
	switch before := v.back(v.start, 1); {
	case before == '=' && strings.IndexByte("=<>~!^", v.back(v.start, 2)) >= 0, before == '-',
		before == '_':
		return false // of a package
	case before == '@', before == '/' && v.back(v.start, 2) == '/':
		return true
	}
	switch c := v.peek(end); {
	case c == '.' && isLetter(v.peek(end+1)), c == '_' && isAlnum(v.peek(end+1)):
		return false // a file's name
	case (c == ':' || c == '/') && isDigit(v.peek(end+1)):
		return true
	}
	switch v.text[v.start:end] {
	case "1.1.1.1", "8.8.8.8", "9.9.9.9", "8.8.4.4":
		return true
	}
	near, labelled := v.labelBefore(networkList)
	return v.value(0) == 10 || labelled && near < 5
}

// ipv6 finds addresses of RFC 4291 in the text from i on, and hardware addresses with colons. The
// word at i is hexadecimal digits before a colon, or i is at two colons.
func (f *finder) ipv6(r *reader, i int) {
	b := r.back(i, 1)
	if b == ':' || isAlnum(b) {
		return
	}
	c := r.back(i, 2)
	slice := b == '[' && (isAlnum(c) || c == ']' || c == ')') // list[::2]
	start := i
	groups := 0
	gaps := 0 // how often :: was read
	digits := false
	pairs := true // all groups have two digits
	wide := false // a group has four digits
	if r.peek(i) == ':' {
		i += 2
		gaps = 1
	}
	for groups < 8 {
		// A group.
		begin := i
		for isHex(r.peek(i)) && i-begin < 5 {
			digits = digits || isDigit(r.peek(i))
			i++
		}
		if i == begin && gaps > 0 && r.back(i, 1) == ':' {
			break
		}
		c := r.peek(i)
		if i == begin || i-begin > 4 || isAlnum(c) || leadsLetter(c) {
			return
		}
		pairs = pairs && i-begin == 2
		wide = wide || i-begin == 4
		groups++
		if c != ':' {
			break
		}

		// What is between it and the next one.
		next := r.peek(i + 1)
		if next == ':' {
			gaps++
			if gaps > 1 || r.peek(i+2) == ':' {
				return
			}
			i += 2
			continue
		}
		if !isHex(next) || groups == 8 {
			break
		}
		i++
	}
	if r.peek(i) == ':' && isHex(r.peek(i+1)) {
		return
	}
	switch {
	case groups == 6 && gaps == 0 && pairs:
		f.add("MAC_ADDRESS", "colons", start, i, .95)
	case groups == 8 && gaps == 0:
		f.add("IP_ADDRESS", "ipv6", start, i, .95)
	case slice || gaps != 1 || groups == 0 || groups == 8:
	case groups > 2, digits && (wide || r.text[start] == ':'):
		f.add("IP_ADDRESS", "ipv6", start, i, .95)
	}
}
