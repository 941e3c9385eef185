package shell

import "strings"

func runCommand(p *parse, name string, args []string, in *input) {
	rest := p.after(name, args, options{flags: "pvV"})
	for _, a := range args[:len(args)-len(rest)] {
		if strings.ContainsAny(a, "vV") {
			return
		}
	}
	p.call(rest, in)
}

var envOptions = options{"i0v", "uCSa", "", "unset= chdir= split-string= argv0= ignore-environment null debug default-signal[=] ignore-signal[=] block-signal[=] list-signal-handling help version"}

func runEnv(p *parse, name string, args []string, in *input) {
	for i, a := range args {
		key, line, attached := strings.Cut(a, "=")
		switch {
		case a == "-" || a == "--":
			p.call(p.assignments(args[i+1:]), in)
			return
		case len(key) > 2 && strings.HasPrefix("--split-string", key), len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a, "S"):
			if a[1] != '-' {
				_, line, _ = strings.Cut(a, "S")
				attached = true
			}
			rest := args[i+1:]
			if attached {
				rest = append([]string{line}, rest...)
			}
			// It has escapes and variables of its own, and options may stand in it.
			if text := strings.Join(rest, " "); strings.ContainsAny(text, "\\$") || strings.HasPrefix(strings.TrimSpace(text), "-") {
				p.unresolved("what %s runs is not known before it runs", name)
			} else {
				p.nested(name, text)
			}
			return
		case !strings.HasPrefix(a, "-"):
			rest := p.after(name, args, envOptions)
			if len(rest) > 0 && rest[0] == "-" {
				rest = rest[1:]
			}
			p.call(p.assignments(rest), in)
			return
		}
	}
}

func runXargs(p *parse, name string, args []string, _ *input) {
	rest := p.after(name, args, options{"0oprtx", "EIdaLnPs", "eil", "max-args= max-procs= replace[=] delimiter= arg-file= max-lines[=] max-chars= eof[=] null interactive no-run-if-empty verbose exit show-limits open-tty process-slot-var= help version"})
	if len(rest) == 0 {
		return // echo
	}
	p.call(append(append([]string{}, rest...), anything), &input{})
}

func runParallel(p *parse, name string, args []string, _ *input) {
	rest := p.after(name, args, options{"0kmqtuvX", "jNSaLIn", "", "jobs= arg-file= sshlogin= colsep= keep-order bar dry-run halt= null verbose quote will-cite progress max-args= eta"})
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
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(args) && args[end] != ";" && args[end] != "+" {
				end++
			}
			words := append([]string{}, args[i+1:end]...)
			i = end
			for n, w := range words {
				words[n] = strings.ReplaceAll(w, "{}", oneWord)
			}
			p.call(words, in)
		}
	}
}

func runFd(p *parse, name string, args []string, in *input) {
	for i, a := range args {
		key, _, _ := strings.Cut(a, "=")
		switch {
		case a == "-x" || a == "-X" || a == "--exec" || a == "--exec-batch":
			p.call(append(append([]string{}, args[i+1:]...), anything), in)
			return
		case unsure(a), len(key) > 3 && strings.HasPrefix("--exec-batch", key), len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.ContainsAny(a, "xX"):
			p.unresolved("what %s runs is not known before it runs", name)
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
	rest := p.after(name, args, options{"sexnuoFvhV", "wE", "", "timeout= wait= conflict-exit-code= shared exclusive nonblock nb unlock close no-fork verbose help version"})
	if len(rest) < 2 {
		return
	}
	switch a := rest[1]; {
	case (a == "-c" || a == "--command") && len(rest) == 3:
		p.nested(name, rest[2])
	case strings.HasPrefix(a, "-"):
		p.unresolved("%s is no known option of %s: what it runs is not known", shown(a), name)
	default:
		p.call(rest[1:], in)
	}
}

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
		if _, line, ok := strings.Cut(a, "="); ok {
			p.nested(name, line)
		}
	}
}
