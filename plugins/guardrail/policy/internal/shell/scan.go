package shell

import (
	"maps"
	"slices"
	"strings"
)

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
	for len(args) > 0 {
		if p.isRun(len(operands) - 1) {
			return found, append(operands, args...), ""
		}
		word := args[0]
		args = args[1:]
		if p.matters() && unsure(word) && !p.isRun(len(operands)) {
			return found, operands, isUnsure
		}
		if word == "--" && !p.traits["whole"] {
			return found, append(operands, args...), ""
		}
		beginning := p.beginning(word)
		if beginning == "" && (len(word) < 2 || word[0] != '-') {
			operands = append(operands, word)
			continue
		}

		// It is an option, or several letters of which the last may take the next word for its value.
		options, takesNext := p.optionsOf(word, beginning)
		if options == nil {
			return found, operands, shown(word) + " is no known option of " + p.name + ": what it runs is not known"
		}
		last := &options[len(options)-1]
		if takesNext && len(args) > 0 {
			last.value = args[0]
			args = args[1:]
			if p.matters() && strings.Contains(last.value, anything) {
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
	return found, operands, ""
}

// isRun reports whether the operand i is run, with what stands behind it.
func (p *program) isRun(i int) bool {
	if i < 0 {
		return false
	}
	if i == 0 && p.subcommands {
		return true
	}
	switch p.role(i) {
	case runs, line, script, subcommand:
		return true
	}
	return false
}

// role is what the operand i is for.
func (p *program) role(i int) role {
	if len(p.operands) == 0 {
		return file
	}
	return p.operands[min(i, len(p.operands)-1)]
}

// matters reports whether an unknown argument could be an option that runs or writes something.
func (p *program) matters() bool {
	if p.strict() {
		return true
	}
	for _, does := range p.options {
		switch does {
		case asks, line, runs, writes, into, variable:
			return true
		}
	}
	return false
}

// strict reports whether an option has to be listed: an unknown one may have a value, and then
// something else is run than it seems.
func (p *program) strict() bool {
	return p.traits["strict"] || slices.ContainsFunc(p.operands, func(r role) bool {
		return r == runs || r == line || r == script || r == subcommand
	})
}

// beginning returns the option with which a word begins, if it is one that is known by that.
func (p *program) beginning(word string) string {
	for _, o := range p.beginnings {
		if strings.HasPrefix(word, o) {
			return o
		}
	}
	return ""
}

// optionsOf returns the options in one word, and whether the next word is the value of the last one.
// It returns none if one of them has to be listed and is not.
func (p *program) optionsOf(word, beginning string) (found []option, takesNext bool) {
	if beginning != "" {
		value := strings.TrimPrefix(word[len(beginning):], "=")
		does := p.options[beginning]
		return []option{{name: beginning, value: value, does: does}}, value == "" && p.takesValue(does)
	}
	unlisted := []option{{value: word, does: p.unlisted()}}
	if p.strict() {
		unlisted = nil
	}
	if p.traits["whole"] || strings.HasPrefix(word, "--") {
		name, value, attached := strings.Cut(word, "=")
		name = p.long(name)
		does, listed := p.options[name]
		if !listed || does == flags && attached {
			return unlisted, false
		}
		return []option{{name: name, value: value, does: does}}, p.takesValue(does) && !attached
	}
	isUnlisted := false
	for i, letter := range word[1:] {
		o := option{name: "-" + string(letter)}
		rest := word[1+i+len(string(letter)):]
		does, listed := p.options[o.name]
		o.does = does
		switch {
		case !listed && p.strict(), p.traits["detached"] && rest != "" && p.takesValue(does):
			return nil, false
		case !listed && !isUnlisted:
			isUnlisted = true
			found = append(found, unlisted...)
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

// unlisted is what an option may do that is not listed: what the last operand does with a file.
func (p *program) unlisted() role {
	switch does := p.role(len(p.operands)); does {
	case reads, changes, directory:
		return does
	}
	return file
}

// long returns the option that a word is, which may be shortened. One that is asked about comes first.
func (p *program) long(name string) string {
	if p.traits["whole"] {
		return "-" + strings.TrimLeft(name, "-")
	}
	if p.options[name] != "" || len(name) < 3 {
		return name
	}
	full := name
	for _, o := range slices.Sorted(maps.Keys(p.options)) {
		if strings.HasPrefix(o, name) && (full == name || p.options[o] == asks) {
			full = o
		}
	}
	return full
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
