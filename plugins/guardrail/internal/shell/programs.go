package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Some commands have arguments that the table alone does not describe.

// subcommand adds what a subcommand runs, which is the first operand.
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

// env adds the command that env runs: the operands behind assignments. With an option -S, the command
// is the option's value with all operands behind it.
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

// assignments assigns the NAME=value words at the beginning, and returns the words behind them.
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

// su runs a command as another user: the words behind -- if the option -u names the user. It returns
// those words.
func (p *parser) su(name string, found []option, operands []string, dashes int, in *input) []string {
	isUser := func(o option) bool { return o.name == "-u" || o.name == "--user" }
	if !slices.ContainsFunc(found, isUser) {
		return nil
	}
	if dashes < 0 {
		p.unresolved("where the command that %s runs begins is not known: write -- before it", name)
		return nil
	}
	p.call(operands[dashes:], in)
	return operands[dashes:]
}

// sed adds the files that sed changes. A script that sedScript does not match may run commands.
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

// sedScript returns an expression that matches scripts that print, delete and replace lines, and do
// nothing else.
var sedScript = sync.OnceValue(func() *regexp.Regexp {
	// A text up to a delimiter that is not in brackets. A delimiter in brackets ends the text for
	// some versions of sed and not for others.
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

// shell adds what a shell runs. With an option -c, that is the line behind the options; with -s, or
// without arguments, what it reads; else the file that it is given. Each o among the letters of an
// option takes the next word, as in -euo pipefail -c.
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
