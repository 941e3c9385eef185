package shell

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// commandsText says what is known about commands, in a form that its first lines explain.
//
//go:embed commands.txt
var commandsText string

// A command is a block of commands.txt.
type command struct {
	runs    string // the word after "runs"
	after   int    // the number after it
	also    map[string]bool
	words   map[string]bool
	options map[string]effect
	begins  []string // options that are known by the beginning of a word: -fplugin, +
	holds   *regexp.Regexp
	quiet   *regexp.Regexp
	only    *regexp.Regexp

	input   bool
	appends bool
	strict  bool
	stops   bool // options end where what is run begins
	whole   bool
	reads   bool
	makes   bool
	minds   bool // an argument that may be an option makes the call unresolved
}

// An effect is what an option does.
type effect string

// The effects have the names that they have in commands.txt.
const (
	flags    effect = "flags"
	values   effect = "values"
	maybe    effect = "maybe"
	prints   effect = "prints"
	asks     effect = "asks"
	lines    effect = "lines"
	commands effect = "commands"
	modules  effect = "modules"
	names    effect = "names"
	writes   effect = "writes"
	into     effect = "into"
)

// table returns the commands by their names.
var table = sync.OnceValue(readTable)

func readTable() map[string]*command {
	all := map[string]*command{}
	var block *command
	patterns := map[*command]map[string][]string{}
	for line := range strings.Lines(commandsText) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '\t':
			key, rest, _ := strings.Cut(line[1:], " ")
			rest = strings.TrimSpace(rest)
			switch key {
			case "holds", "quiet", "only":
				patterns[block][key] = append(patterns[block][key], "(?:"+rest+")")
			default:
				block.set(key, strings.Fields(rest))
			}
		default:
			block = &command{
				also:    map[string]bool{},
				words:   map[string]bool{},
				options: map[string]effect{},
			}
			patterns[block] = map[string][]string{}
			names, short, _ := strings.Cut(line, ": ")
			for name := range strings.SplitSeq(names, ", ") {
				all[name] = block
			}
			for part := range strings.SplitSeq(short, "; ") {
				if words := strings.Fields(part); len(words) > 0 {
					block.set(words[0], words[1:])
				}
			}
		}
	}
	for block, texts := range patterns {
		block.holds = anyOf(texts["holds"])
		block.quiet = anyOf(texts["quiet"])
		block.only = anyOf(texts["only"])
	}
	return all
}

func anyOf(patterns []string) *regexp.Regexp {
	if len(patterns) == 0 {
		return nil
	}
	return regexp.MustCompile(strings.Join(patterns, "|"))
}

// set takes in a line of a block.
func (c *command) set(key string, words []string) {
	switch key {
	case "runs":
		c.runs = words[0]
		if len(words) > 1 {
			c.after, _ = strconv.Atoi(words[1])
		}
		switch c.runs {
		case "command", "assigned", "line", "script", "subcommand", "env", "trap", "printf":
			c.strict = true
			c.stops = true
		case "file", "sed", "su":
			c.strict = true
		}
		c.minds = c.minds || c.strict
	case "also":
		for _, word := range words {
			c.also[word] = true
		}
	case "words":
		for _, word := range words {
			c.words[word] = true
		}
		c.minds = true
	case "input":
		c.input = true
	case "appends":
		c.appends = true
	case "strict":
		c.strict = true
		c.minds = true
	case "whole":
		c.whole = true
	case "reads":
		c.reads = true
	case "makes":
		c.makes = true
	case "flags", "values", "maybe", "prints":
		for _, word := range words {
			c.letters(word, effect(key))
		}
	case "asks", "lines", "commands", "modules", "names", "writes", "into":
		for _, word := range words {
			c.options[word] = effect(key)
			if !c.whole && (word[0] != '-' || len(word) > 2 && word[1] != '-') {
				c.begins = append(c.begins, word)
			}
		}
		c.minds = true
	default:
		panic("commands.txt: unknown word " + key) // the tests read the table
	}
}

// letters sets the effect of a long option, or of each letter in a word such as -abc.
func (c *command) letters(word string, e effect) {
	if strings.HasPrefix(word, "--") {
		c.options[word] = e
		return
	}
	for _, letter := range word[1:] {
		c.options["-"+string(letter)] = e
	}
}

// lookup returns what is known about a command, nil if nothing is, and the name under which it is
// known.
func lookup(name string) (*command, string) {
	name = strings.ToLower(name)
	if m := versioned.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	if strings.HasPrefix(name, "ld-") && strings.Contains(name, ".so") {
		name = "ld.so"
	}
	return table()[name], name
}

// versioned are names of interpreters with a version, such as python3.11.
var versioned = regexp.MustCompile(`^(python|pypy|perl|ruby|php|lua|node|tclsh)[0-9][0-9.]*$`)

// An option is an option of a call, with its value.
type option struct {
	name   string
	value  string
	effect effect
	words  []string // the command after an option of effect commands
}

// scan tells the options of a call from its operands; dashes is how many operands stand before
// "--", -1 if there is none. It returns an error, and the options up to there, if they cannot be
// told.
func (c *command) scan(name string,
	args []string) (found []option, operands []string, dashes int, err error) {
	dashes = -1
	for len(args) > 0 {
		if c.stops && len(operands) > c.after {
			if c.runs == "command" && c.input && slices.ContainsFunc(args, c.isLine) {
				return found, nil, -1, fmt.Errorf("an option behind the operands of %s may be a command line", name)
			}
			return found, append(operands, args...), dashes, nil
		}
		a := args[0]
		args = args[1:]
		if a == "--" && !c.whole {
			return found, append(operands, args...), len(operands), nil
		}
		begun := c.beginning(a)
		if begun == "" && (len(a) < 2 || a[0] != '-') {
			isRun := c.stops && len(operands) == c.after
			if c.minds && !isRun && unsure(a) {
				return found, nil, -1, fmt.Errorf("an argument of %s may be an option: it is not known before it runs", name)
			}
			operands = append(operands, a)
			continue
		}

		// It is an option, or several letters of which the last may take the next word for its value.
		if unsure(a) && c.minds {
			return found, nil, -1, fmt.Errorf("an argument of %s may be an option: it is not known before it runs", name)
		}
		options, next, known := c.read(a, begun)
		if !known {
			return found, nil, -1, fmt.Errorf("%s is no known option of %s: what it runs is not known",
				shown(a), name)
		}
		if len(options) == 0 {
			continue
		}
		last := &options[len(options)-1]
		if next && len(args) > 0 {
			last.value = args[0]
			args = args[1:]
			if strings.Contains(last.value, anything) {
				return found, nil, -1, fmt.Errorf("an argument of %s may be an option: it is not known before it runs", name)
			}
		}
		switch last.effect {
		case commands:
			if last.name != a { // it stands with other letters, or with a value
				return found, nil, -1, fmt.Errorf("what %s runs is not known before it runs", name)
			}
			end := 0
			for end < len(args) && args[end] != ";" && args[end] != "+" {
				end++
			}
			last.words = args[:end]
			args = args[min(len(args), end+1):]
		case modules:
			return append(found, options...), append(operands, args...), dashes, nil
		}
		found = append(found, options...)
	}
	return found, operands, dashes, nil
}

// isLine says whether a word is an option whose value is a command line.
func (c *command) isLine(word string) bool {
	if !strings.HasPrefix(word, "-") {
		return false
	}
	found, _, _ := c.read(word, "")
	return slices.ContainsFunc(found, func(o option) bool { return o.effect == lines })
}

// beginning returns the option with which a word begins, if it is one that is known by that.
func (c *command) beginning(word string) string {
	for _, o := range c.begins {
		if strings.HasPrefix(word, o) {
			return o
		}
	}
	return ""
}

// read returns the options in one word, and whether the next word is the value of the last one. If
// one of them is not listed and has to be, known is false.
func (c *command) read(word, begun string) (found []option, next, known bool) {
	if begun != "" {
		rest := word[len(begun):]
		o := option{name: begun, value: strings.TrimPrefix(rest, "="), effect: c.options[begun]}
		return []option{o}, c.takes(o.effect) && rest == "", true
	}
	name, value, attached := strings.Cut(word, "=")
	if c.whole || strings.HasPrefix(word, "--") {
		name, e := c.long(name)
		listed := e != "" && !(e == flags && attached)
		o := option{name: name, value: value, effect: e}
		return []option{o}, c.takes(e) && !attached, listed || !c.strict
	}
	for i, letter := range word[1:] {
		rest := word[1+i+len(string(letter)):]
		e := c.options["-"+string(letter)]
		o := option{name: "-" + string(letter), effect: e}
		switch {
		case e == "" && c.strict:
			return nil, false, false
		case c.takes(e):
			o.value = rest
			return append(found, o), rest == "", true
		case e == maybe, e == commands:
			return append(found, o), false, true
		case e != "":
			found = append(found, o)
		}
	}
	return found, false, true
}

// long finds an option that is a whole word. One that matters counts when it is shortened, too.
func (c *command) long(name string) (string, effect) {
	if c.whole {
		name = "-" + strings.TrimLeft(name, "-")
		return name, c.options[name]
	}
	if e, ok := c.options[name]; ok {
		return name, e
	}
	for _, o := range slices.Sorted(maps.Keys(c.options)) {
		switch c.options[o] {
		case flags, values, maybe, prints:
		default:
			if len(name) > 2 && strings.HasPrefix(o, name) {
				return o, c.options[o]
			}
		}
	}
	return name, ""
}

// takes says whether options of an effect have a value.
func (c *command) takes(e effect) bool {
	switch e {
	case values, lines, modules, names, writes, into:
		return true
	case asks:
		return c.quiet != nil
	}
	return false
}

// unsure says whether a word may be an option, or another option than it seems.
func unsure(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	return strings.Contains(word, anything) ||
		word != "" && strings.Contains(unknowns, word[:1]) ||
		strings.HasPrefix(word, "-") && known(name) != name
}
