package detect

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
	"github.com/plughook/plughook/plugins/guardrail/detect/internal/table"
)

// A command is given a password by an option.
type command struct {
	names, options  []string
	apart, attached bool // the password is the next word, or is written against the option
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
		}
		for _, option := range table.List(row.Cells[1]) {
			c.options = append(c.options, " "+option)
		}
		commands = append(commands, c)
	}
	return commands
}

// Bytes that are seen, those that are not, and others.
var (
	visibleSet  = pattern.MustSet("!-\xff")
	hiddenSet   = pattern.MustSet("\x00- ")
	equalSet    = pattern.MustSet(" =")
	userSet     = pattern.MustSet("!-9;-\xff") // without the colon that ends a user's name
	argumentSet = pattern.MustSet("!#-&(*-:<-_a-{}-\xff")
	quotedSet   = pattern.MustSet(" -\xff")
)

// commandLine returns the text from a place on up to the end of the line, or the part of it in which an
// option is looked for. It is not ended if the text ends before.
func (s *scan) commandLine(from int) (line string, ended bool) {
	line, _, ended = strings.Cut(s.text[from:min(len(s.text), from+maxCommand)], "\n")
	return line, ended || len(s.text)-from > maxCommand
}

// openQuote returns the quote at a place and where it ends; 0 if there is none.
func openQuote(text string, i int) (quote byte, after int) {
	if i < len(text) && (text[i] == '"' || text[i] == '\'') {
		return text[i], i + 1
	}
	return 0, i
}

// command looks for the password that a command is given, whose name is text[start:end].
func (s *scan) command(c *command, start, end int) {
	if start > 0 && isWord(s.text[start-1]) {
		return
	}
	line, _ := s.commandLine(end)
	for _, option := range c.options {
		for from := 0; ; {
			n := strings.Index(line[from:], option)
			if n < 0 {
				break
			}
			from += n + len(option)
			next := end + from
			apart := next < len(s.text) && s.text[next] == ' '
			if apart && !c.apart || !apart && !c.attached {
				continue
			}
			if apart {
				next++
			}
			if s.argument("command-password", next, !apart) {
				break
			}
		}
	}
}

// piped looks for the password in echo PASSWORD | command --password-stdin, behind echo and a space.
func (s *scan) piped(start, from int) {
	if start > 0 && isWord(s.text[start-1]) {
		return
	}
	line, ended := s.commandLine(from)
	for strings.HasPrefix(line, "-") { // an option
		_, rest, ok := strings.Cut(line, " ")
		if !ok {
			break
		}
		from += len(line) - len(rest)
		line = rest
	}

	// What is written, and what reads it.
	quote, end := openQuote(line, 0)
	if quote != 0 {
		closing := strings.IndexByte(line[end:], quote)
		if closing < 0 {
			closing = len(line) - end
		}
		end += closing
	}
	for end < len(line) && line[end] > ' ' && line[end] != '|' {
		end++
	}
	behind := strings.TrimLeft(line[end:], " ")
	switch {
	case strings.HasPrefix(behind, "|") &&
		(strings.Contains(behind, "--password-stdin") || strings.Contains(behind, "chpasswd")):
		s.argument("command-password", from, false)
	case line != "" && !ended && (behind == "" || behind[0] == '|'):
		s.hold(from)
	}
}

// argument adds a word of a command line as a password, if it may be one. If strict is true, it
// must look like a password: mysql -print is another option and no password.
func (s *scan) argument(rule string, start int, strict bool) bool {
	text := s.text
	quote, start := openQuote(text, start)
	end := argumentSet.Run(text, start, maxValue)
	if quote != 0 {
		end = quotedSet.Run(text, start, maxValue)
		n := strings.IndexByte(text[start:end], quote)
		if n >= 0 {
			end = start + n
		}
	}
	if end == len(text) {
		s.hold(start)
	}
	return s.given(rule, start, end, strict)
}

// given adds text[start:end] as a password, if it is no placeholder.
func (s *scan) given(rule string, start, end int, strict bool) bool {
	value := s.text[start:end]
	if len(value) < 4 || len(value) >= maxValue || !s.isFilledIn(value) || isNumber(value) ||
		strict && !s.isPassword(value) {
		return false
	}
	s.add(rule, start, end, .8)
	return true
}

// curlUser looks for the password in curl's --user name:password, where curl is named before in
// the command.
func (s *scan) curlUser(_, end int) {
	text := s.text
	start := equalSet.Run(text, end, 8)
	quote, i := openQuote(text, start)
	colon := userSet.Run(text, i, 128)
	if start == end || colon < len(text) && text[colon] != ':' || !s.isInCurl(end) {
		return
	}
	if colon == len(text) {
		s.hold(i)
		return
	}

	// The password ends at the quote that is open, or at any.
	from := colon + 1
	if strings.IndexByte(text[i:colon], quote) >= 0 {
		quote = 0
	}
	closing := "\"'"
	if quote == 0 {
		quote, from = openQuote(text, from)
	}
	if quote != 0 {
		closing = string(rune(quote))
	}
	stop := visibleSet.Run(text, from, 256)
	n := strings.IndexAny(text[from:stop], closing)
	if n >= 0 {
		stop = from + n
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
func (s *scan) isInCurl(pos int) bool {
	for i := pos; i > 0 && pos-i < 640; i-- {
		switch c := s.text[i-1]; {
		case c == '\n' && (i < 2 || s.text[i-2] != '\\'):
			return false
		case c == 'c' && foldPrefix(s.text[i-1:pos], "curl") && (i < 2 || !isWord(s.text[i-2])):
			return true
		}
	}
	return false
}
