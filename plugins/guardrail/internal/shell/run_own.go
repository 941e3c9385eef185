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
