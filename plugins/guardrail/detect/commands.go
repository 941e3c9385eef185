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
	user            bool // the word is name:password
}

// maxCommand is how far behind a command's name an option is looked for, in bytes, on the same
// line or those that it goes on in behind a backslash.
const maxCommand = 640

// readCommands reads the commands that are given passwords.
func readCommands() (commands []command) {
	for _, row := range rowsOf("commands.txt", "names", "options", "value") {
		value := table.List(row.Cells[2])
		c := command{
			names:    table.List(row.Cells[0]),
			apart:    slices.Contains(value, "apart"),
			attached: slices.Contains(value, "attached"),
			user:     slices.Contains(value, "user"),
		}
		for _, option := range table.List(row.Cells[1]) {
			c.options = append(c.options, " "+option)
		}
		commands = append(commands, c)
	}
	return commands
}

// Sets of bytes in commands.
var (
	hiddenSet   = pattern.MustSet("\x00- ")
	equalSet    = pattern.MustSet(" =")
	argumentSet = pattern.MustSet("!#-&(*-:<-_a-{}-\xff")
	quotedSet   = pattern.MustSet(" -\xff")
)

// command looks for the password that a command is given, whose name is text[start:end].
func (s *scan) command(c *command, start, end int) {
	if start > 0 && isWord(s.text[start-1]) {
		return
	}
	line := s.text[end:min(len(s.text), end+maxCommand)]
	for n := range len(line) {
		if line[n] == '\n' && (n == 0 || line[n-1] != '\\') {
			line = line[:n]
			break
		}
	}
	for _, option := range c.options {
		for from := 0; ; {
			n := strings.Index(line[from:], option)
			if n < 0 {
				break
			}
			from += n + len(option)
			word := equalSet.Run(s.text, end+from, 8)
			apart := word > end+from
			if apart && !c.apart || !apart && !c.attached {
				continue
			}
			found := false
			if c.user {
				found = s.userPassword(word)
			} else {
				found = s.argument("command-password", word, !apart)
			}
			if found {
				break
			}
		}
	}
}

// shellWord returns where a word of a command line begins and ends, without its quotes.
func (s *scan) shellWord(pos int) (start, end int) {
	text := s.text
	if pos == len(text) || text[pos] != '"' && text[pos] != '\'' {
		return pos, argumentSet.Run(text, pos, maxValue)
	}
	start = pos + 1
	end = quotedSet.Run(text, start, maxValue)
	n := strings.IndexByte(text[start:end], text[pos])
	if n >= 0 {
		end = start + n
	}
	return start, end
}

// argument adds a word of a command line as a password, if it may be one. If strict is true, it
// must look like a password: mysql -print is another option and no password.
func (s *scan) argument(rule string, start int, strict bool) bool {
	start, end := s.shellWord(start)
	if end == len(s.text) {
		s.hold(start)
	}
	return s.given(rule, start, end, strict)
}

// userPassword adds the password in a word of a command line, name:password or name:'password'. A
// name with nothing behind its colon may be a token.
func (s *scan) userPassword(pos int) bool {
	start, end := s.shellWord(pos)
	name, _, ok := strings.Cut(s.text[start:end], ":")
	from := min(start+len(name)+1, end)
	to := end
	if ok && from == end && start == pos {
		from, to = s.shellWord(from)
	}
	if end == len(s.text) || to == len(s.text) {
		s.hold(start)
	}
	switch {
	case !ok || end-start >= maxValue:
		return false
	case from == to && len(name) >= 8 && s.isPassword(name):
		return s.given("command-password", start, start+len(name), false)
	}
	return s.given("command-password", from, to, false)
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
