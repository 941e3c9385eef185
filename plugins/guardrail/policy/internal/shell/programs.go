package shell

import (
	_ "embed"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/plughook/plughook/internal/lazyregexp"
)

// programsText is the table of programs. Its first lines say how to read it.
//
//go:embed programs.txt
var programsText string

// A program is what the table says about a program, or about a subcommand.
type program struct {
	name       string
	operands   []role // what the operands are for; the last role counts for all that follow
	last       role   // what the last operand is for, if there are several
	options    map[string]role
	beginnings []string // options that are known by how a word begins: -fplugin, +
	traits     map[string]bool
	conditions map[string][]*regexp.Regexp
}

// A role is what a word is for, or what an option does. The roles are listed in programs.txt.
type role string

const (
	text        role = "text"
	file        role = "file"
	perhapsFile role = "perhaps"
	reads       role = "reads"
	writes      role = "writes"
	changes     role = "changes"
	both        role = "both"
	into        role = "into"
	target      role = "target"
	directory   role = "directory"
	data        role = "data"
	remote      role = "remote"
	subcommand  role = "subcommand"
	runs        role = "runs"
	line        role = "line"
	script      role = "script"
	variable    role = "variable"
	asks        role = "asks"
	flags       role = "flags"
	maybe       role = "maybe"
	prints      role = "prints"
)

var (
	areRun = []role{runs, line, script, subcommand}
	// areRisky are the roles for which an unknown word must not be taken for an operand.
	areRisky   = append([]role{asks, writes, into, variable}, areRun...)
	conditions = []string{
		"holds", "deep", "unpacks", "only", "fine", "also", "instead", "edits", "harmless", "changing", "telling",
	}
)

// table returns the programs by their names.
var table = sync.OnceValue(func() map[string]*program {
	programs := map[string]*program{}
	var block *program
	for entry := range strings.Lines(programsText) {
		entry = strings.TrimRight(entry, "\n")
		switch {
		case entry == "" || entry[0] == '#':
		case entry[0] == '\t':
			block.say(entry[1:])
		default:
			names, short, _ := strings.Cut(entry, ": ")
			block = &program{
				options:    map[string]role{},
				traits:     map[string]bool{},
				conditions: map[string][]*regexp.Regexp{},
			}
			for name := range strings.SplitSeq(names, ", ") {
				programs[name] = block
				if end := strings.LastIndex(name, " "); end > 0 {
					parent := programs[name[:end]]
					if parent == nil {
						unknown := *programs["*"]
						unknown.traits = map[string]bool{}
						parent = &unknown
						programs[name[:end]] = parent
					}
					parent.traits["subcommands"] = true
				}
			}
			for part := range strings.SplitSeq(short, "; ") {
				block.say(part)
			}
		}
	}
	return programs
})

// lookup returns what the table says about a program, by its name. Python3.11 is python.
func lookup(name string) program {
	name = strings.ToLower(name)
	if m := versioned.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	if strings.HasPrefix(name, "ld-") && strings.Contains(name, ".so") {
		name = "ld.so"
	}
	row := table()[name]
	if row == nil {
		row = table()["*"]
	}
	p := *row
	p.name = name
	return p
}

var versioned = lazyregexp.New(`^(python|pypy|perl|ruby|php|lua|node|tclsh)[0-9][0-9.]*$`)

// say takes in a line of a block: a key, and the words or the regular expression behind it.
func (p *program) say(entry string) {
	key, rest, _ := strings.Cut(entry, " ")
	rest = strings.TrimSpace(rest)
	does := role(key)
	switch {
	case rest == "":
		p.traits[key] = true
		return
	case slices.Contains(conditions, key):
		p.conditions[key] = append(p.conditions[key], regexp.MustCompile(rest))
		return
	}
	for word := range strings.FieldsSeq(rest) {
		beginning, isBeginning := strings.CutSuffix(word, "…")
		switch {
		case key == "operands":
			does = role(word)
			p.operands = append(p.operands, does)
			p.traits["strict"] = p.traits["strict"] || slices.Contains(areRun, does)
		case key == "last":
			p.last = role(word)
		case isBeginning:
			p.options[beginning] = does
			p.beginnings = append(p.beginnings, beginning)
		case p.traits["whole"] || word[0] != '-' || strings.HasPrefix(word, "--"):
			p.options[word] = does
		default: // -abc are three options
			for _, letter := range word[1:] {
				p.options["-"+string(letter)] = does
			}
		}
	}
	isRisky := p.traits["strict"] || key != "operands" && slices.Contains(areRisky, does)
	p.traits["risky"] = p.traits["risky"] || isRisky
}

// holds reports whether a text meets a condition of a program.
func (p *program) holds(condition, text string) bool {
	return slices.ContainsFunc(p.conditions[condition], func(r *regexp.Regexp) bool { return r.MatchString(text) })
}

// role is what the operand i is for.
func (p *program) role(i int) role {
	if len(p.operands) == 0 {
		return file
	}
	return p.operands[min(i, len(p.operands)-1)]
}

// isRun reports whether the operand i is run, with what stands behind it.
func (p *program) isRun(i int) bool {
	return i == 0 && p.traits["subcommands"] || i >= 0 && slices.Contains(areRun, p.role(i))
}

// An option is an option of a command, and its value.
type option struct {
	name  string
	value string
	does  role
	words []string // the command behind an option that runs one
}

// scan tells the options of a command from its operands. Words behind the first operand that is run
// are operands. If it cannot tell them, it returns why, and what it found up to there.
func (p *program) scan(args []string) (found []option, operands []string, problem string) {
	isUnsure := "an argument of " + p.name + " may be an option: it is not known before it runs"
	for len(args) > 0 && !p.isRun(len(operands)-1) {
		word := args[0]
		args = args[1:]
		if p.traits["risky"] && unsure(word) && !p.isRun(len(operands)) {
			return found, operands, isUnsure
		}
		if word == "--" && !p.traits["whole"] {
			break
		}
		begins := func(beginning string) bool { return strings.HasPrefix(word, beginning) }
		beginning := slices.IndexFunc(p.beginnings, begins)
		if beginning < 0 && (len(word) < 2 || word[0] != '-') {
			operands = append(operands, word)
			continue
		}

		// It is an option, or several letters of which the last may take the next word for its value.
		var options []option
		takesNext := false
		switch {
		case beginning >= 0:
			name := p.beginnings[beginning]
			value := strings.TrimPrefix(word[len(name):], "=")
			options = []option{{name: name, value: value, does: p.options[name]}}
			takesNext = value == "" && p.takesValue(p.options[name])
		case p.traits["whole"] || strings.HasPrefix(word, "--"):
			options, takesNext = p.long(word)
		default:
			options, takesNext = p.letters(word)
		}
		if options == nil {
			return found, operands, shown(word) + " is no known option of " + p.name + ": what it runs is not known"
		}
		last := &options[len(options)-1]
		if takesNext && len(args) > 0 {
			last.value = args[0]
			args = args[1:]
			if p.traits["risky"] && strings.Contains(last.value, anything) {
				return found, operands, isUnsure
			}
		}
		if last.does == runs {
			end := slices.IndexFunc(args, func(word string) bool { return word == ";" || word == "+" })
			if end < 0 {
				end = len(args)
			}
			last.words = args[:end]
			args = args[min(len(args), end+1):]
		}
		found = append(found, options...)
		next := p.role(len(operands))
		if last.name == "" && len(args) > 0 && (next == text || next == remote) && !strings.HasPrefix(args[0], "-") {
			found = append(found, option{value: args[0], does: perhapsFile}) // perhaps the value of the option
		}
	}
	return found, append(operands, args...), ""
}

// unlisted is an option that the table does not have: it may do what the last operand does with a
// file. There is none if an option has to be listed.
func (p *program) unlisted(word string) []option {
	switch does := p.role(len(p.operands)); {
	case p.traits["strict"]:
		return nil
	case does == reads, does == changes, does == directory:
		return []option{{value: word, does: does}}
	}
	return []option{{value: word, does: file}}
}

// long returns the option that a word is, which may be shortened, and whether the next word is its
// value. Of several that begin so, one that is asked about counts.
func (p *program) long(word string) (found []option, takesNext bool) {
	name, value, attached := strings.Cut(word, "=")
	if p.traits["whole"] {
		name = "-" + strings.TrimLeft(name, "-")
	} else if p.options[name] == "" && len(name) > 2 {
		short := name
		for _, o := range slices.Sorted(maps.Keys(p.options)) {
			if strings.HasPrefix(o, short) && (name == short || p.options[o] == asks) {
				name = o
			}
		}
	}
	does, listed := p.options[name]
	if !listed || does == flags && attached {
		return p.unlisted(word), false
	}
	return []option{{name: name, value: value, does: does}}, p.takesValue(does) && !attached
}

// letters returns the options of which a word has the letters, and whether the next word is the
// value of the last one.
func (p *program) letters(word string) (found []option, takesNext bool) {
	isUnlisted := false
	for i, letter := range word[1:] {
		o := option{name: "-" + string(letter)}
		rest := word[1+i+len(string(letter)):]
		does, listed := p.options[o.name]
		o.does = does
		switch {
		case !listed && p.traits["strict"], p.traits["detached"] && rest != "" && p.takesValue(does):
			return nil, false
		case !listed && !isUnlisted:
			isUnlisted = true
			found = append(found, p.unlisted(word)...)
		case p.takesValue(does):
			o.value = rest
			return append(found, o), rest == ""
		case does == maybe:
			return append(found, o), false
		case listed:
			found = append(found, o)
		}
	}
	return found, false
}

// takesValue reports whether options that do this have a value.
func (p *program) takesValue(does role) bool {
	switch does {
	case "", flags, maybe, prints, runs:
		return false
	case asks:
		return p.conditions["fine"] != nil
	}
	return true
}

// unsure reports whether a word may be an option, or another option than it seems.
func unsure(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	return strings.Contains(word, anything) ||
		word != "" && strings.Contains(unknowns, word[:1]) ||
		strings.HasPrefix(word, "-") && known(name) != name
}
