package shell

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// call adds a command with its arguments, and the commands that it runs in turn. It knows these only
// for commands that are in the table.
func (p *parser) call(words []string, in *input) {
	if len(words) == 0 || words[0] == "" || len(p.calls) > maxCalls {
		return
	}
	p.words += len(words)
	if p.words > maxWords {
		p.unresolved("the commands have more than %d words", maxWords)
		return
	}
	name := path.Base(words[0])
	dir := strings.TrimSuffix(words[0], name)
	if known(name) != name || name[0] == '-' || strings.ContainsAny(name, " \t\n") ||
		strings.Contains(dir, anything) {
		p.unresolved("the command %s is not known before it runs", shown(words[0]))
		p.add(shown(name), words)
		return
	}
	p.add(name, words)
	if dir != "" {
		p.executed = append(p.executed, clean(words[0]))
	}
	if p.chain == maxChain {
		p.unresolved("more than %d commands run one another", maxChain)
		return
	}
	p.chain++
	c, name := lookup(name)
	if c != nil {
		p.run(name, c, words[1:], in)
	}
	p.chain--
}

// run adds the commands that a command of the table runs, and the files that it writes.
func (p *parser) run(name string, c *command, args []string, in *input) {
	if p.refused(name, c, args, in) {
		return
	}
	if c.runs == "shell" {
		p.shell(name, args, in)
		return
	}
	found, operands, dashes, err := c.scan(name, args)
	if err != nil {
		p.unresolved("%v", err)
	}
	if c.makes {
		p.made(operands)
	}
	if c.appends {
		in = &input{}
	}

	// What the options do.
	ran := false
	for _, o := range found {
		switch o.effect {
		case prints:
			if c.runs != "script" || len(args) == 1 {
				return
			}
		case asks:
			if c.quiet == nil || o.value == "" || c.quiet.ReplaceAllString(o.value, "") != "" {
				p.unresolved("%s of %s may run what it names", o.name, name)
			}
		case modules:
			if c.words[o.value] || known(o.value) != o.value {
				p.unresolved("the module %s of %s runs code that it is given", shown(o.value), name)
			}
			return
		case commands:
			if slices.ContainsFunc(o.words, unsure) { // it may be the ; that ends the command
				p.unresolved("where the command that %s runs ends is not known", name)
			}
			p.call(c.appended(o.words), in)
			ran = true
		case lines:
			if c.runs != "env" && c.runs != "sed" {
				p.nested(name, o.value)
				ran = true
			}
		case names:
			p.variable(name, o.value)
			p.assign(o.value, oneWord, false)
		case writes:
			p.writes(o.value)
		case into:
			p.writes(o.value + "/" + oneWord)
		}
	}

	if err != nil {
		return
	}

	// What the operands are.
	var rest []string
	if len(operands) > c.after {
		rest = operands[c.after:]
	}
	switch c.runs {
	case "anything":
		p.unresolved("what %s runs is not known", name)
	case "command":
		p.call(c.appended(rest), in)
	case "assigned":
		p.call(p.assignments(rest), in)
	case "line":
		isList := func(word string) bool { return strings.HasPrefix(word, ":::") } // of arguments that are added to the line
		end := slices.IndexFunc(rest, isList)
		if end >= 0 {
			rest = rest[:end]
		}
		if len(rest) > 0 {
			p.nested(name, strings.Join(rest, " "))
		}
	case "script":
		switch {
		case len(rest) == 0 || rest[0] == "-":
			p.unresolved("what %s runs is its input", name)
		case c.words[rest[0]]:
			p.unresolved("%s %s runs what it is given", name, rest[0])
		default:
			p.file(name, rest[0])
		}
	case "file":
		for _, file := range rest {
			p.writes(file)
		}
	case "dd":
		for _, a := range rest {
			file, ok := strings.CutPrefix(a, "of=")
			if ok || known(a) != a {
				p.writes(file)
			}
		}
	case "subcommand":
		p.subcommand(name, c, rest, in)
	case "env":
		p.env(name, found, rest, in)
	case "su":
		rest = p.su(name, found, operands, dashes, in)
	case "sed":
		p.sed(name, found, rest)
	case "tar":
		if len(args) > 0 && !strings.HasPrefix(args[0], "-") && strings.ContainsAny(args[0], "IF") {
			p.unresolved("an option of tar runs what it names") // letters without a dash
		}
	case "trap":
		if len(rest) > 1 && rest[0] != "-" && rest[0] != "" {
			p.nested(name, rest[0])
		}
	case "alias":
		for _, a := range rest {
			_, line, ok := strings.Cut(a, "=")
			if ok || known(a) != a {
				p.nested(name, cmp.Or(line, a))
			}
		}
	case "declares":
		for _, a := range rest {
			p.declare(name, a, true)
		}
	case "reads":
		if c.after > 0 && len(rest) > 0 { // getopts: only this one is the name of a variable
			rest = args[1:2]
		}
		for _, a := range rest {
			p.variable(name, a)
			p.assign(a, oneWord, false)
		}
	case "names":
		for _, a := range rest {
			p.variable(name, a)
		}
	case "printf":
		if len(rest) > 1 && unsure(rest[0]) {
			p.unresolved("whether printf is given an option is not known")
		}
	case "test":
		p.test(name, args)
	}
	if c.input && !ran && (c.runs == "" || len(rest) == 0) {
		p.shell(name, nil, in)
	}
}

// refused reports whether the arguments of a command may make it run anything, and notes why.
func (p *parser) refused(name string, c *command, args []string, in *input) bool {
	texts := args
	if c.reads && in != nil {
		if !in.known {
			p.unresolved("what %s reads may run commands", name)
			return true
		}
		texts = append(slices.Clone(args), in.text)
	}
	for _, a := range texts {
		if c.holds == nil {
			break
		}
		if c.quiet != nil {
			a = c.quiet.ReplaceAllString(a, "")
		}
		if c.holds.MatchString(a) {
			p.unresolved("an argument of %s may run commands", name)
			return true
		}
	}
	for _, a := range args {
		if c.words[a] && c.runs != "script" {
			p.unresolved("%s %s runs or removes what it is given", name, a)
			return true
		}
	}
	if c.only != nil {
		text := strings.Join(args, "\n") + "\n"
		if known(text) != text || !c.only.MatchString(text) {
			p.unresolved("what these arguments of %s run or write is not known", name)
			return true
		}
	}
	return false
}

// appended returns the words of a command that another command runs with arguments of its own choice:
// in the place of {}, or behind them.
func (c *command) appended(words []string) []string {
	words = slices.Clone(words)
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "{}", oneWord)
	}
	if c.appends && len(words) > 0 {
		words = append(words, anything)
	}
	return words
}

// file notes that a file is run.
func (p *parser) file(name, file string) {
	if strings.HasPrefix(file, anything) || strings.HasPrefix(file, "/dev/") ||
		strings.HasPrefix(file, "/proc/") ||
		file == "-" || known(file) != file && !strings.Contains(file, "/") {
		p.unresolved("the file that %s runs is not known before it runs", name)
		return
	}
	p.executed = append(p.executed, clean(file))
}

// made notes that a command makes or replaces the files that are its operands.
func (p *parser) made(operands []string) {
	for i, file := range operands {
		p.written[clean(file)] = true
		if i < len(operands)-1 { // the last one may be a directory
			p.written[path.Join(operands[len(operands)-1], path.Base(file))] = true
		}
	}
}

// writes adds a file that is written, as a call of > with the file, which a redirection is, too.
func (p *parser) writes(file string) {
	switch file {
	case "", "-", "/dev/null", "/dev/stdout", "/dev/stderr":
		return
	}
	p.written[clean(file)] = true
	p.add(">", []string{">", file})
}
