package detect

import (
	"fmt"
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
	percent         bool // the word is name%password
	word            int  // the password is this word behind the name, 0 if an option says which; with options, one stands behind it
	argument        int  // the password is this argument of a call, a text in quotes
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
			percent:  slices.Contains(value, "percent"),
		}
		for n := 1; n <= 3; n++ {
			if slices.Contains(value, fmt.Sprintf("word %d", n)) {
				c.word = n
			}
			if slices.Contains(value, fmt.Sprintf("argument %d", n)) {
				c.argument = n
			}
		}
		for _, option := range table.List(row.Cells[1]) {
			if option != "-" {
				c.options = append(c.options, " "+option)
			}
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
	switch {
	case c.word > 0:
		s.wordOf(c, end)
		return
	case c.argument > 0:
		s.argumentOf(c, end)
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
			if c.user || c.percent {
				found = s.userPassword(word, c.percent)
			} else {
				found = s.argument("command-password", word, !apart)
			}
			if found {
				break
			}
		}
	}
}

// wordOf looks for the password that is a word behind a command's name, which ends at pos. If the command has
// options, one of them stands behind the word: echo PASSWORD | sudo -S.
func (s *scan) wordOf(c *command, pos int) {
	start, end := s.shellWord(pos)
	for range c.word - 1 {
		if end >= len(s.text) || s.text[end] != ' ' {
			return
		}
		start, end = s.shellWord(end + 1)
	}
	after := end
	if start > pos && start > 0 && (s.text[start-1] == '"' || s.text[start-1] == '\'') {
		after = min(end+1, len(s.text))
	}
	if c.options == nil {
		if end == len(s.text) {
			s.hold(start)
		}
		if start < end && s.text[start] != '/' && s.text[start] != '-' {
			s.given("command-password", start, end, false)
		}
		return
	}
	rest := s.text[after:]
	for _, option := range c.options {
		switch {
		case strings.HasPrefix(rest, option):
			s.given("command-password", start, end, false)
			return
		case strings.HasPrefix(option, rest):
			s.hold(start)
		}
	}
}

// argumentOf looks for the password that is an argument of a call, behind whose bracket pos is.
func (s *scan) argumentOf(c *command, pos int) {
	text := s.text
	for n := 1; ; n++ {
		pos = tabSet.Run(text, pos, 24)
		if pos >= len(text) {
			return
		}
		quoted := text[pos] == '"' || text[pos] == '\''
		if n == c.argument {
			if quoted {
				s.argument("command-password", pos, true)
			}
			return
		}
		if quoted {
			_, end := s.shellWord(pos)
			pos = end + 1
		} else {
			pos = callSet.Run(text, pos, maxValue)
		}
		if pos >= len(text) || text[pos] != ',' {
			return
		}
		pos++
	}
}

// callSet are the bytes of an argument that is no text in quotes.
var callSet = pattern.MustSet("A-Za-z0-9_.$:/>-")

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
func (s *scan) userPassword(pos int, percent bool) bool {
	start, end := s.shellWord(pos)
	sign := ":"
	if percent {
		sign = "%"
	}
	name, _, ok := strings.Cut(s.text[start:end], sign)
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
