package detect

import (
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
	"github.com/plughook/plughook/plugins/guardrail/detect/internal/table"
)

// A command is given a password by an option.
type command struct {
	names, options  []string
	apart, attached bool // the password is the next word, or is written against the option
	behindUser      bool // a user and a colon are before it
}

// maxCommand is how far behind a command's name an option is looked for, in bytes, on the same
// line.
const maxCommand = 256

// readCommands reads the commands that are given passwords.
func readCommands() (commands []command) {
	for _, row := range rowsOf("commands.txt", "names", "options", "value") {
		value := table.List(row.Cells[2])
		c := command{
			names:      table.List(row.Cells[0]),
			apart:      slices.Contains(value, "apart"),
			attached:   slices.Contains(value, "attached"),
			behindUser: slices.Contains(value, "user"),
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
	hiddenSet   = pattern.MustSet("\x00- ")
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
	line, _, _ := strings.Cut(s.text[end:min(len(s.text), end+maxCommand)], "\n")
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
			if c.behindUser {
				colon := userSet.Run(s.text, next, 128)
				if colon == len(s.text) {
					s.hold(next)
					continue
				}
				next = colon + 1
				if s.text[colon] != ':' {
					continue
				}
			}
			if s.argument("command-password", next, !apart) {
				break
			}
		}
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
