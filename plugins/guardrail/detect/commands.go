package detect

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/table"
)

// A command is given a password by an option.
type command struct {
	names, options  []string
	apart, attached bool // the password is the next word, or is written against the option
	second, last    bool // it is the word after the next one, or the last of the command
}

// maxCommand is how far behind a command's name an option is looked for, in bytes, on the same
// line.
const maxCommand = 256

// readCommands reads the commands that are given passwords.
func readCommands() (commands []command) {
	for _, row := range rowsOf("commands.txt", "names", "options", "value") {
		value := table.List(row.Cells[2])
		c := command{
			names:    table.List(row.Cells[0]),
			apart:    slices.Contains(value, "apart"),
			attached: slices.Contains(value, "attached"),
			second:   slices.Contains(value, "second"),
			last:     slices.Contains(value, "last"),
		}
		for _, option := range table.List(row.Cells[1]) {
			c.options = append(c.options, " "+option)
		}
		commands = append(commands, c)
	}
	return commands
}

// command looks for the password that a command is given, whose name is text[start:end].
func (s *scan) command(c *command, start, end int) {
	if start > 0 && isWord(s.text[start-1]) {
		return
	}
	line := s.text[end:min(len(s.text), end+maxCommand)]
	n := strings.IndexByte(line, '\n')
	if n >= 0 {
		line = line[:n]
	}
	for _, option := range c.options {
		for from := 0; ; {
			n := strings.Index(line[from:], option)
			if n < 0 {
				break
			}
			from += n + len(option)
			at := end + from
			if c.last && s.lastWord(at) || c.second && s.second(at) {
				break
			}
			apart := at < len(s.text) && s.text[at] == ' '
			if apart && !c.apart || !apart && !c.attached {
				continue
			}
			if apart {
				at++
			}
			if s.argument("command-password", at, !apart) {
				break
			}
		}
	}
}

// second adds the word after the one that begins at a place.
func (s *scan) second(at int) bool {
	text := s.text
	for from := at; at < len(text) && text[at] > ' ' && at-from < 128; {
		at++
	}
	if at >= len(text) || text[at] != ' ' {
		return false
	}
	return s.argument("command-password", at+1, false)
}

// lastWord adds the third word, or the second, behind an option: file, user and password, or user
// and password.
func (s *scan) lastWord(at int) bool {
	text := s.text
	if at >= len(text) || text[at] != ' ' {
		return false
	}
	words := 0
	last := at
	for i := at; i < len(text) && words < 3 && i-at < maxCommand; {
		for i < len(text) && text[i] == ' ' {
			i++
		}
		if i == len(text) && words > 1 { // another word may follow
			s.hold(last)
		}
		if i == len(text) || text[i] < ' ' || strings.IndexByte(";|&", text[i]) >= 0 {
			break
		}
		last = i
		words++
		for i < len(text) && text[i] > ' ' {
			i++
		}
		if i == len(text) && words > 1 {
			s.hold(last)
		}
	}
	if words < 2 {
		return false
	}
	return s.argument("command-password", last, false)
}

// piped looks for the password in echo PASSWORD | command --password-stdin, behind echo and a space.
func (s *scan) piped(start, at int) {
	text := s.text
	if start > 0 && isWord(text[start-1]) {
		return
	}
	line := text[at:min(len(text), at+maxCommand)]
	n := strings.IndexByte(line, '\n')
	if n >= 0 {
		line = line[:n]
	}
	for strings.HasPrefix(line, "-") { // an option
		next := strings.IndexByte(line, ' ')
		if next < 0 {
			break
		}
		at += next + 1
		line = line[next+1:]
	}
	if line == "" {
		return
	}

	// What is written, and what reads it.
	end := 0
	quote := line[0]
	if quote == '"' || quote == '\'' {
		end = 1
		for end < len(line) && line[end] != quote {
			end++
		}
	}
	for end < len(line) && line[end] > ' ' && line[end] != '|' {
		end++
	}
	behind := strings.TrimLeft(line[end:], " ")
	unended := n < 0 && at+len(line) == len(text)
	if behind == "" || behind[0] != '|' {
		if unended && behind == "" {
			s.hold(at)
		}
		return
	}
	if !strings.Contains(behind, "--password-stdin") && !strings.Contains(behind, "chpasswd") {
		if unended {
			s.hold(at)
		}
		return
	}
	s.argument("command-password", at, false)
}

// argument adds a word of a command line as a password, if it may be one. If strict is true, it
// must look like a password: mysql -print is another option and no password.
func (s *scan) argument(rule string, at int, strict bool) bool {
	text := s.text
	quote := byte(0)
	if at < len(text) && (text[at] == '"' || text[at] == '\'') {
		quote = text[at]
		at++
	}
	end := at
	for end < len(text) && end-at < maxValue && text[end] != quote {
		c := text[end]
		if quote == 0 && (c <= ' ' || strings.IndexByte("\"';|`)", c) >= 0) || c < ' ' {
			break
		}
		end++
	}
	if end == len(text) {
		s.hold(at)
	}
	return s.given(rule, at, end, strict)
}

// given adds text[at:end] as a password, if it is no placeholder.
func (s *scan) given(rule string, at, end int, strict bool) bool {
	value := s.text[at:end]
	if len(value) < 4 || len(value) >= maxValue || !s.isFilledIn(value) || isNumber(value) {
		return false
	}
	if strict && !s.isPassword(value) {
		return false
	}
	s.add(rule, at, end, .8)
	return true
}

// curlUser looks for the password in curl's --user name:password, where curl is named before in
// the command.
func (s *scan) curlUser(start, end int) {
	text := s.text
	if end >= len(text) || text[end] != ' ' && text[end] != '=' {
		return
	}
	i := end
	for i < len(text) && i-end < 8 && (text[i] == ' ' || text[i] == '=') {
		i++
	}
	var quote byte
	if i < len(text) && (text[i] == '"' || text[i] == '\'') {
		quote = text[i]
		i++
	}

	// The name.
	colon := i
	for colon < len(text) && colon-i < 128 && text[colon] > ' ' && text[colon] != ':' {
		if text[colon] == quote {
			quote = 0
		}
		colon++
	}
	if colon < len(text) && text[colon] != ':' || !s.isInCurl(start) {
		return
	}
	if colon == len(text) {
		s.hold(i)
		return
	}

	// The password.
	from := colon + 1
	if from < len(text) && quote == 0 && (text[from] == '"' || text[from] == '\'') {
		quote = text[from]
		from++
	}
	stop := from
	for stop < len(text) && stop-from < 256 && text[stop] > ' ' && text[stop] != quote {
		if quote == 0 && (text[stop] == '"' || text[stop] == '\'') {
			break
		}
		stop++
	}
	if stop == len(text) {
		s.hold(i)
	}
	for stop < len(text) && stop > from && !utf8.RuneStart(text[stop]) {
		stop-- // one that is cut short divides no character
	}
	password := text[from:stop]
	if len(password) >= 6 && s.isFilledIn(password) {
		s.add("curl-user", from, stop, .8)
		return
	}

	// A name without a password may be a token.
	name := text[i:colon]
	if len(password) == 0 && stop < len(text) && len(name) >= 8 && s.isPassword(name) {
		s.add("curl-user", i, colon, .7)
	}
}

// isInCurl tells whether the command that a place is in begins with curl, at most 640 bytes before.
func (s *scan) isInCurl(at int) bool {
	for i := at; i > 0 && at-i < 640; i-- {
		switch c := s.text[i-1]; {
		case c == '\n' && (i < 2 || s.text[i-2] != '\\'):
			return false
		case c == 'c' && foldPrefix(s.text[i-1:at], "curl") && (i < 2 || !isWord(s.text[i-2])):
			return true
		}
	}
	return false
}
