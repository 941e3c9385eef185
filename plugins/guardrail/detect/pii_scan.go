package detect

// scan goes over a text, word by word. If it is to stop, it stops where what was found depends on how the text goes on,
// and returns that place; else it returns the text's length.
func (f *finder) scan(text string, stop bool) int {
	r := reader{text: text}
	v := numeral{reader: &r, vocabulary: &f.tables.vocabulary}
	linkEnd, path := 0, 0 // of the last URL
	undecided := len(text)
	if stop {
		undecided = mayBegin(text)
	}
	for i := 0; i < len(text); {
		c := text[i]
		if kinds[c]&wordByte == 0 {
			switch {
			case c == ':' && r.text[i:min(i+2, len(text))] == "::":
				open := f.opens(min(i, undecided))
				r.past = false
				f.ipv6(&r, i)
				if r.past && stop {
					return open
				}
				i += 2
			case c == '@' && localStart(text[:i]) >= 0:
				low := localStart(text[:i])
				open := f.opens(min(low, undecided))
				r.past = false
				f.written(&r, low, i)
				if r.past && stop {
					return open
				}
				i++
			case leadsLetter(c):
				i = skipWord(text, i)
			default:
				i++
			}
			continue
		}
		start, has := i, uint8(0)
		for i < len(text) && kinds[text[i]]&wordByte != 0 {
			has |= kinds[text[i]]
			i++
		}
		var next byte
		if i < len(text) {
			if next = text[i]; leadsLetter(next) {
				i = skipWord(text, i)
				continue
			}
			// Most words end here: with small letters only, before a space or a comma.
			if has&digitByte == 0 && kinds[next]&localByte == 0 && next != '@' && next != ':' && (next != ' ' || !monthly(text[start]) && (has&lowerByte != 0 || i-start > 4)) {
				continue
			}
		}
		if i-start > wordBytes {
			continue
		}
		low := lowest(text, start)
		open := f.opens(min(low, undecided))
		r.past = false
		if i == len(text) {
			r.past = true
		}
		inLink := start < linkEnd
		if beginsRun(text, start) && (!inLink || start >= path) {
			if end, p := f.address(&r, start, inLink); end > 0 {
				linkEnd, path = end, p
			}
		}
		if next == ':' && i-start <= 4 {
			f.ipv6(&r, start)
		}
		if has&digitByte == 0 && !inLink && monthly(text[start]) {
			f.monthFirst(&v, start, i)
		}
		if has&digitByte != 0 || i-start <= 4 && has&lowerByte == 0 && f.introduces(&r, i) {
			v.read(start)
			v.link = inLink
			f.number(&r, &v)
		}
		if r.past && stop {
			return open
		}
	}
	if stop {
		return f.opens(min(lowest(text, len(text)), undecided))
	}
	f.decide()
	return len(text)
}

// opens returns where the text is open if what begins at low is: there, or where the earliest of the findings begins
// that are not decided. Those that end before low are decided now.
func (f *finder) opens(low int) int {
	if f.n > 0 && f.until <= low {
		f.decide()
	}
	if f.n > 0 {
		return f.waiting[0].Start
	}
	return max(low, f.closed)
}

// lowest returns where a finding can begin whose first word begins at i: before it a + or ( or : may belong to it.
func lowest(text string, i int) int {
	low := i
	for low > 0 && i-low < 2 && (text[low-1] == '+' || text[low-1] == '(' || text[low-1] == ':') {
		low--
	}
	return low
}

// skipWord returns where a word ends that goes on at i with a letter of two bytes.
func skipWord(text string, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case kinds[c]&wordByte != 0:
			i++
		case leadsLetter(c):
			if i++; i < len(text) && text[i]&0xc0 == 0x80 {
				i++
			}
		default:
			return i
		}
	}
	return i
}

// introduces says whether capitals that end at i have a number behind them: AB 12 34 56 C.
func (f *finder) introduces(r *reader, i int) bool {
	sep, next := r.separator(i)
	return (sep == ' ' || sep == '-' || sep == '.') && aDigit(r.at(next))
}

// number looks for all kinds of numbers at the beginning of what is written.
func (f *finder) number(r *reader, v *numeral) {
	if v.n == 0 {
		return
	}
	if v.plain == 0 {
		f.iban(v)
	}
	if g := &v.groups[0]; g.size() <= 4 {
		f.dayFirst(v)
		if v.n == 1 {
			return
		}
	}
	if v.plain > 0 {
		f.card(v)
		f.phone(v)
		f.ipv4(v)
		f.idNumbers(v)
		f.date(v)
	}
	f.crypto(v)
	f.mac(r, v)
	f.idCodes(v)
	f.driverLicense(v)
}
