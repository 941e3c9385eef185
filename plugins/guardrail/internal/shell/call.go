package shell

import (
	"cmp"
	"path"
	"strings"
)

// call adds a simple command, and what it runs in turn.
func (p *parse) call(words []string, in *input) {
	if len(words) == 0 || len(p.Calls) > maxCalls {
		return
	}
	if p.words += len(words); p.words > maxWords {
		p.unresolved("the commands have more than %d words", maxWords)
		return
	}
	command := words[0]
	name := path.Base(command)
	if command == "" {
		return // an empty word is no command
	}
	dir := strings.TrimSuffix(command, name)
	if known(name) != name || name[0] == '-' || strings.Contains(dir, anything) || strings.ContainsAny(name, " \t\n") {
		p.unresolved("the command %s is not known before it runs", shown(command))
		p.add(shown(name), command, words)
		return
	}
	p.add(name, command, words)
	if p.chain == maxChain {
		p.unresolved("more than %d commands run one another", maxChain)
		return
	}
	p.chain++
	defer func() { p.chain-- }()
	if strings.Contains(command, "/") {
		p.executed = append(p.executed, clean(command))
	}
	name = strings.ToLower(name)
	args := words[1:]
	if given[name] {
		p.unresolved("what %s runs is not known", name)
	}
	p.names(name, args)
	switch {
	case shells[name]:
		p.shell(name, args, in)
	case inline[name] != nil || interpreter(name) != "":
		p.interpreted(name, args, in)
	case strings.HasPrefix(name, "ld-") && strings.Contains(name, ".so"):
		p.call(p.after(name, args, options{long: "list verify inhibit-cache library-path= preload= argv0= inhibit-rpath= audit="}), in)
	default:
		if run, ok := runners[name]; ok {
			run(p, name, args, in)
		}
	}
	p.made(name, args)
	if r, ok := risks[cmp.Or(interpreter(name), name)]; ok {
		p.risky(name, r, args)
		if r.reads && in != nil {
			p.fed(name, r, in)
		}
	}
}

// makers are commands that leave files whose last argument, or every one, is run no more as it was.
var makers = map[string]bool{"cp": true, "mv": true, "ln": true, "install": true, "tee": true, "dd": true, "curl": true, "wget": true, "rsync": true, "scp": true, "sed": true, "patch": true}

func (p *parse) made(name string, args []string) {
	if !makers[name] {
		return
	}
	for i, a := range args {
		file := strings.TrimPrefix(a, "of=")
		p.written[clean(file)] = true
		if last := args[len(args)-1]; i < len(args)-1 { // into a directory
			p.written[path.Join(last, path.Base(file))] = true
		}
	}
}

// assignments skips NAME=value words, and notes those that change what runs.
func (p *parse) assignments(args []string) []string {
	for len(args) > 0 && isAssignment(args[0]) {
		name, value, _ := strings.Cut(args[0], "=")
		p.set(name, value)
		p.exported(name, value)
		args = args[1:]
	}
	return args
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz_0123456789") == ""
}
