package shell

import "strings"

// runSed holds the scripts of sed to what they run and write, and says what files it changes in place.
func runSed(p *parse, name string, args []string, _ *input) {
	var scripts, operands []string
	given, inPlace := false, false
	for i := 0; i < len(args); i++ {
		a := args[i]
		key, value, attached := strings.Cut(a, "=")
		switch {
		case unsure(a):
			p.unresolved("the %s program is not known before it runs", name)
			return
		case a == "--":
			operands, i = append(operands, args[i+1:]...), len(args)
		case len(key) > 3 && strings.HasPrefix("--expression", key), a == "-e":
			if !attached && i+1 < len(args) {
				i++
				value = args[i]
			}
			scripts, given = append(scripts, value), true
		case a == "--quiet", a == "--silent", a == "--regexp-extended", a == "--separate", a == "--unbuffered", a == "--null-data", a == "--posix", a == "--debug", a == "--sandbox", a == "--version", a == "--help", key == "--line-length" && attached:
		case key == "--in-place":
			inPlace = true
		case strings.HasPrefix(a, "--"):
			p.unresolved("%s is no known option of %s: it may run commands", shown(a), name)
			return
		case len(a) > 1 && a[0] == '-':
			letters := strings.TrimLeft(a[1:], "nErsuz")
			switch {
			case letters == "":
			case letters[0] == 'i' || letters[0] == 'I':
				inPlace = true
			case letters == "e" && i+1 < len(args):
				i++
				scripts, given = append(scripts, args[i]), true
			case letters[0] == 'e':
				scripts, given = append(scripts, letters[1:]), true
			case letters[0] == 'l' && strings.Trim(letters[1:], "0123456789") == "":
			default:
				p.unresolved("%s is no known option of %s: it may run commands", shown(a), name)
				return
			}
		default:
			operands = append(operands, a)
		}
	}
	if !given && len(operands) > 0 {
		script := operands[0]
		operands = operands[1:]
		if script == "" && len(operands) > 0 { // some take it for the ending of -i, and the next for the script
			scripts = append(scripts, operands[0])
			operands = operands[1:]
		}
		scripts = append(scripts, script)
	}
	for _, script := range scripts {
		if s := (sedScript{p, script}); known(script) != script || !s.harmless() {
			p.unresolved("the %s program may run commands", name)
		}
	}
	if inPlace {
		for _, file := range operands {
			p.writes(file)
		}
	}
}

type sedScript struct {
	p    *parse
	text string
}

// harmless reads a script to its end; false if it runs something, or cannot be read.
func (s *sedScript) harmless() bool {
	for {
		s.text = strings.TrimLeft(s.text, " \t\n;{}")
		if s.text == "" {
			return true
		}
		if !s.address() {
			return false
		}
		if s.text == "" {
			return false
		}
		c := s.text[0]
		s.text = s.text[1:]
		switch {
		case c == '{' || c == '}' || strings.IndexByte("=dDgGhHnNpPxFz", c) >= 0:
		case strings.IndexByte("lLqQ", c) >= 0:
			s.text = strings.TrimLeft(s.text, " 0123456789")
		case strings.IndexByte("#:btTv", c) >= 0:
			s.upTo(strings.IndexAny(s.text, "\n;"), c != '#')
		case strings.IndexByte("aic", c) >= 0:
			s.upTo(lineEnd(s.text), true)
		case c == 'r' || c == 'R':
			if file := s.upTo(strings.IndexByte(s.text, '\n'), true); file != "" {
				s.p.add("<", "<", []string{"<", file})
			}
		case c == 'w' || c == 'W':
			s.p.writes(s.upTo(strings.IndexByte(s.text, '\n'), true))
		case c == 'y' || c == 's':
			if !s.replaces(c) {
				return false
			}
		default:
			return false // e among them
		}
	}
}

// upTo cuts the text off, and returns what stood before. A comment ends with its line, not with a semicolon.
func (s *sedScript) upTo(end int, all bool) string {
	if !all {
		end = strings.IndexByte(s.text, '\n')
	}
	if end < 0 {
		end = len(s.text)
	}
	cut := s.text[:end]
	s.text = s.text[end:]
	return strings.TrimSpace(cut)
}

// lineEnd is the end of the first line that no backslash continues.
func lineEnd(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			i++
		} else if text[i] == '\n' {
			return i
		}
	}
	return -1
}

// address skips the addresses before a command.
func (s *sedScript) address() bool {
	for s.text != "" {
		switch c := s.text[0]; {
		case strings.IndexByte("0123456789$,+~! \t", c) >= 0:
			s.text = s.text[1:]
		case c == '/' || c == '\\' && len(s.text) > 1:
			end := c
			if c == '\\' {
				end, s.text = s.text[1], s.text[1:]
			}
			s.text = s.text[1:]
			if !s.delimited(end) {
				return false
			}
			s.text = strings.TrimLeft(s.text, "IM")
		default:
			return true
		}
	}
	return true
}

// delimited skips a text up to a delimiter that no backslash stands before. Where a class holds the delimiter, some end the text
// there and some do not: it is not known then.
func (s *sedScript) delimited(end byte) bool {
	for i := 0; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '[':
			if class := strings.IndexByte(s.text[i:], ']'); class > 0 && strings.IndexByte(s.text[i:i+class], end) >= 0 {
				return false
			}
		case end:
			s.text = s.text[i+1:]
			return true
		}
	}
	return false
}

// replaces skips what stands after s or y.
func (s *sedScript) replaces(c byte) bool {
	if s.text == "" || s.text[0] == '\\' || s.text[0] == '\n' || s.text[0] == '[' {
		return false
	}
	end := s.text[0]
	s.text = s.text[1:]
	for range 2 {
		if !s.delimited(end) {
			return false
		}
	}
	if c == 'y' {
		return true
	}
	for s.text != "" {
		switch f := s.text[0]; {
		case strings.IndexByte("gpiImM0123456789", f) >= 0:
			s.text = s.text[1:]
		case f == 'w':
			s.text = s.text[1:]
			s.p.writes(s.upTo(strings.IndexByte(s.text, '\n'), true))
		case strings.IndexByte(" \t\n;}#", f) >= 0:
			return true
		default:
			return false
		}
	}
	return true
}
