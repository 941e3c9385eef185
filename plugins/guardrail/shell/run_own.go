package shell

import "strings"

func runCommand(p *parse, _ string, args []string, in *input) {
	if len(args) > 0 && (args[0] == "-v" || args[0] == "-V") {
		return
	}
	p.call(after(args, option{}), in)
}

func runEnv(p *parse, name string, args []string, in *input) {
	for i, a := range args {
		switch line, long := strings.CutPrefix(a, "--split-string="); {
		case long:
			p.nested(name, strings.Join(append([]string{line}, args[i+1:]...), " "))
			return
		case len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a, "S"):
			_, line, _ := strings.Cut(a, "S")
			p.nested(name, strings.Join(append([]string{line}, args[i+1:]...), " "))
			return
		case !strings.HasPrefix(a, "-") && !isAssignment(a):
			p.call(p.assignments(after(args, option{"uC", []string{"--unset", "--chdir"}})), in)
			return
		}
	}
}

func runXargs(p *parse, _ string, args []string, _ *input) {
	rest := after(args, option{"EIdaLnPs", []string{"--max-args", "--max-procs", "--replace", "--delimiter", "--arg-file", "--max-lines", "--max-chars"}})
	if len(rest) == 0 {
		return // echo
	}
	p.call(append(append([]string{}, rest...), anything), &input{})
}

func runParallel(p *parse, name string, args []string, _ *input) {
	rest := after(args, option{"jNSaL", []string{"--jobs", "--arg-file", "--sshlogin", "--colsep"}})
	for i, a := range rest {
		if strings.HasPrefix(a, ":::") {
			rest = rest[:i]
			break
		}
	}
	if len(rest) == 0 {
		p.unresolved("what %s runs is its input", name)
		return
	}
	p.nested(name, strings.Join(rest, " "))
}

func runFind(p *parse, _ string, args []string, in *input) {
	for i, a := range args {
		switch a {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(args) && args[end] != ";" && args[end] != "+" {
				end++
			}
			words := append([]string{}, args[i+1:end]...)
			for n, w := range words {
				words[n] = strings.ReplaceAll(w, "{}", oneWord)
			}
			p.call(words, in)
		}
	}
}

func runFd(p *parse, _ string, args []string, in *input) {
	for i, a := range args {
		if a == "-x" || a == "-X" || a == "--exec" || a == "--exec-batch" {
			p.call(append(append([]string{}, args[i+1:]...), anything), in)
			return
		}
	}
}

func runSource(p *parse, name string, args []string, _ *input) {
	if len(args) > 0 {
		p.file(name, args[0])
	}
}

func runStdin(p *parse, name string, args []string, in *input) {
	for _, a := range args {
		if name == "crontab" && (a == "-l" || a == "-r") || name == "at" && a == "-l" {
			return
		}
	}
	p.shell(name, nil, in)
}

func runFlock(p *parse, name string, args []string, in *input) {
	rest := after(args, option{"wEc", []string{"--timeout", "--wait", "--conflict-exit-code"}})
	if len(rest) > 2 && (rest[1] == "-c" || rest[1] == "--command") {
		p.nested(name, rest[2])
	} else if len(rest) > 1 {
		p.call(rest[1:], in)
	}
}

func runTrap(p *parse, name string, args []string, _ *input) {
	rest := after(args, option{})
	if len(rest) > 1 && rest[0] != "-" && rest[0] != "" {
		p.nested(name, rest[0])
	}
}

func runAlias(p *parse, name string, args []string, _ *input) {
	for _, a := range args {
		if _, line, ok := strings.Cut(a, "="); ok {
			p.nested(name, line)
		}
	}
}
