package shell

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// call adds a command with its arguments, and what it runs in turn. Of a command that is not in the
// table only the call itself is known.
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

// run adds what a command of the table runs and writes.
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
		if end := slices.IndexFunc(rest, isList); end >= 0 {
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
		isUser := func(o option) bool { return o.name == "-u" || o.name == "--user" }
		rest = nil
		switch {
		case !slices.ContainsFunc(found, isUser):
		case dashes < 0:
			p.unresolved("where the command that %s runs begins is not known: write -- before it", name)
		default:
			rest = operands[dashes:]
			p.call(rest, in)
		}
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
		if c.after > 0 && len(rest) > 0 { // getopts: the others are what it takes apart
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

// isList says whether a word begins the arguments that parallel adds to its line.
func isList(word string) bool {
	return strings.HasPrefix(word, ":::")
}

// refused notes arguments with which, for all that is known, a command may run anything.
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

// appended returns the words of a command to which its caller adds others.
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

// subcommand runs the subcommand that operands begin with.
func (p *parser) subcommand(name string, c *command, operands []string, in *input) {
	if len(operands) == 0 {
		return
	}
	sub := name + " " + operands[0]
	if known(sub) != sub {
		p.unresolved("the command of %s is not known before it runs", name)
		return
	}
	row := table()[sub]
	switch {
	case row != nil:
		p.run(sub, row, operands[1:], in)
	case !c.also[operands[0]]:
		p.unresolved("%s may run a command: it may be an alias, or a program", sub)
	}
}

// env runs a command behind assignments, or a line that is an option's value with what follows it.
func (p *parser) env(name string, found []option, rest []string, in *input) {
	for _, o := range found {
		if o.effect != lines {
			continue
		}
		// The line has escapes and variables of its own, and may begin with options.
		text := strings.Join(append([]string{o.value}, rest...), " ")
		if strings.ContainsAny(text, "\\$") || strings.HasPrefix(strings.TrimSpace(text), "-") {
			p.unresolved("what %s runs is not known before it runs", name)
		} else {
			p.nested(name, text)
		}
		return
	}
	if len(rest) > 0 && rest[0] == "-" {
		rest = rest[1:]
	}
	p.call(p.assignments(rest), in)
}

// assignments skips NAME=value words.
func (p *parser) assignments(words []string) []string {
	for len(words) > 0 {
		name, value, ok := strings.Cut(words[0], "=")
		if !ok || !plainName.MatchString(name) {
			break
		}
		p.assign(name, value, true)
		words = words[1:]
	}
	return words
}

// sed holds the scripts of sed to those that surely run nothing and write nothing, and adds the
// files that it changes.
func (p *parser) sed(name string, found []option, operands []string) {
	var scripts []string
	inPlace := false
	for _, o := range found {
		switch o.name {
		case "-e", "--expression":
			scripts = append(scripts, o.value)
		case "-i", "-I", "--in-place":
			inPlace = true
		}
	}
	if scripts == nil && len(operands) > 0 {
		scripts = operands[:1]
		operands = operands[1:]
	}
	for _, script := range scripts {
		if known(script) != script || !sedScript().MatchString(script) {
			p.unresolved("the %s program may run commands", name)
		}
	}
	for _, file := range operands {
		if inPlace {
			p.writes(file)
		}
	}
}

// sedScript returns an expression of scripts that print, delete and replace lines, and of nothing
// else.
var sedScript = sync.OnceValue(func() *regexp.Regexp {
	// A text up to a delimiter, which does not stand in brackets: there, some end the text with it
	// and some do not.
	upTo := func(d string) string {
		return `([^\\\[\n` + d + `]|\\[^\n]|\[[^\]\\\n` + d + `]+\])*` + d
	}
	address := `([0-9]+|\$|/` + upTo("/") + `I?)`
	step := `[pdDqgGhHxnN=]`
	for _, d := range []string{"/", ",", "#", ":", "@", "%", "_", "!", `\|`, `\+`} {
		step += `|s` + d + upTo(d) + upTo(d) + `[gpiIm0-9]*`
	}
	step = `(` + address + `(,(` + address + `|\+[0-9]+))?)? *!? *(` + step + `)`
	return regexp.MustCompile(`^\s*` + step + `(\s*[;\n]\s*` + step + `)*[\s;]*$`)
})

// shell adds what a shell runs: the line behind its options if -c is one of them, what it reads, or
// the file that it is given. Each o among the letters of an option takes a word of its own, as in
// -euo pipefail -c.
func (p *parser) shell(name string, args []string, in *input) {
	line := false
	reads := false
	for len(args) > 0 && args[0] != "" && (args[0][0] == '-' || args[0][0] == '+') {
		a := args[0]
		args = args[1:]
		if a == "-" || a == "--" {
			break
		}
		switch a {
		case "--version", "--help":
			return
		case "--login", "--norc", "--noprofile", "--posix", "--restricted", "--verbose", "--noediting",
			"--no-config":
			continue
		}
		if known(a) != a || strings.HasPrefix(a, "--") ||
			name == "fish" && strings.Trim(a[1:], "cilnNPv") != "" {
			p.unresolved("what %s runs with %s is not known", name, shown(a))
			return
		}
		for _, letter := range a[1:] {
			switch letter {
			case 'c':
				line = true
			case 's':
				reads = true
			case 'a', 'k':
				p.unresolved("%s of %s may pass variables to commands that are not known", a, name)
			case 'o', 'O':
				if len(args) > 0 {
					p.run("set", table()["set"], args[:1], nil)
					args = args[1:]
				}
			}
		}
	}
	switch {
	case line && len(args) > 0:
		p.nested(name, args[0])
	case line:
		p.unresolved("what %s runs is not known before it runs", name)
	case !reads && len(args) > 0:
		p.file(name, args[0])
	case in != nil && in.known:
		p.nested(name, in.text)
	default:
		p.unresolved("what %s runs is its input", name)
	}
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

// made notes that the operands of a command are no longer what they were.
func (p *parser) made(operands []string) {
	for i, file := range operands {
		p.written[clean(file)] = true
		if i < len(operands)-1 { // the last one may be a directory
			p.written[path.Join(operands[len(operands)-1], path.Base(file))] = true
		}
	}
}

// writes adds a file that is written: a call of > as by redirection.
func (p *parser) writes(file string) {
	switch file {
	case "", "-", "/dev/null", "/dev/stdout", "/dev/stderr":
		return
	}
	p.written[clean(file)] = true
	p.add(">", []string{">", file})
}
