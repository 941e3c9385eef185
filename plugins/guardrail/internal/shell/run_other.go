package shell

import (
	"cmp"
	"strings"
)

// runSSH runs the line made of the words after the host. Options may stand behind it, too.
func runSSH(p *parse, name string, args []string, in *input) {
	o := options{"46AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOopPQRSWw", "", ""}
	p.risky(name, sshRisk, args[:len(args)-len(p.after(name, args, o))])
	rest := p.after(name, args, o)
	if len(rest) == 0 {
		return
	}
	if known(rest[0]) != rest[0] && unsure(rest[0]) {
		p.unresolved("the host of ssh may be an option")
	}
	line := p.after(name, rest[1:], o)
	p.risky(name, sshRisk, rest[1:len(rest)-len(line)])
	switch {
	case len(line) > 0:
		p.nested(name, strings.Join(line, " "))
	case in != nil:
		p.shell(name, nil, in)
	}
}

// runSu runs the line after -c; without one it runs a shell.
func runSu(p *parse, name string, args []string, in *input) {
	o := options{"flmpPThV", "cgGswu", "", "command= session-command= group= supp-group= shell= whitelist-environment= user= login preserve-environment fast pty no-pty help version"}
	user, found := false, false
	for i := 0; i < len(args); i++ {
		a := args[i]
		key, value, attached := strings.Cut(a, "=")
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		switch {
		case key == "--command" || key == "--session-command":
			if !attached {
				value = next
			}
			p.nested(name, value)
			found = true
		case len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a, "c"):
			if _, value, _ = strings.Cut(a, "c"); value == "" {
				value = next
			}
			p.nested(name, value)
			found = true
		case a == "-u" || key == "--user":
			user = true
		}
	}
	if rest := p.after(name, args, o); user {
		p.call(rest, in)
	} else if !found {
		p.shell(name, nil, in)
	}
}

// runScript runs the line after -c, or what stands after the file; without one it runs a shell.
func runScript(p *parse, name string, args []string, in *input) {
	for i, a := range args {
		key, line, attached := strings.Cut(a, "=")
		switch {
		case len(key) > 2 && strings.HasPrefix("--command", key):
		case len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a, "c"):
			_, line, _ = strings.Cut(a, "c")
			attached = line != ""
		default:
			continue
		}
		if !attached && i+1 < len(args) {
			line = args[i+1]
		}
		p.nested(name, line)
		return
	}
	rest := p.after(name, args, options{"adefFkpqrV", "EIOBtTmo", "", "append flush force quiet return log-io= log-in= log-out= log-timing= logging-format= echo= output-limit= version help"})
	if len(rest) > 1 {
		p.call(rest[1:], in)
		return
	}
	p.shell(name, nil, in)
}

// runUniq writes the second file that it is given.
func runUniq(p *parse, name string, args []string, _ *input) {
	if rest := p.after(name, args, options{"cdiuzD", "fsw", "", "count repeated ignore-case unique zero-terminated skip-fields= skip-chars= check-chars= all-repeated[=] group[=] help version"}); len(rest) > 1 {
		p.writes(rest[1])
	}
}

func runTrap(p *parse, name string, args []string, _ *input) {
	rest := p.after("trap", args, options{flags: "lpP"})
	if len(rest) > 1 && rest[0] != "-" && rest[0] != "" {
		p.nested(name, rest[0])
	}
}

func runAlias(p *parse, name string, args []string, _ *input) {
	for _, a := range args {
		if _, line, ok := strings.Cut(a, "="); ok || known(a) != a {
			p.nested(name, cmp.Or(line, a))
		}
	}
}

// runTee writes the files that it is given.
func runTee(p *parse, name string, args []string, _ *input) {
	for _, file := range p.after(name, args, options{"aip", "", "", "append ignore-interrupts output-error[=] help version"}) {
		p.writes(file)
	}
}

func runDD(p *parse, _ string, args []string, _ *input) {
	for _, a := range args {
		if file, ok := strings.CutPrefix(a, "of="); ok || known(a) != a {
			p.writes(file)
		}
	}
}

// quietDots are commands of sqlite3 that run nothing and write nothing. Others may be shortened, as .sh is.
var quietDots = map[string]bool{".tables": true, ".schema": true, ".mode": true, ".headers": true, ".header": true, ".databases": true, ".indexes": true, ".dump": true, ".quit": true, ".exit": true,
	".help": true, ".show": true, ".stats": true, ".timer": true, ".width": true, ".nullvalue": true, ".separator": true, ".echo": true, ".explain": true, ".eqp": true, ".bail": true, ".version": true}

// runSQLite looks at the commands with a dot among what sqlite3 is given or reads.
func runSQLite(p *parse, name string, args []string, in *input) {
	if in != nil {
		args = append(args[:len(args):len(args)], in.text)
	}
	for _, a := range args {
		for line := range strings.Lines(a) {
			dot, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if len(dot) > 1 && dot[0] == '.' && dot[1] != '/' && dot[1] != '.' && !quietDots[dot] {
				p.unresolved("the command %s of %s may run or write something", shown(dot), name)
				return
			}
		}
	}
}
