package shell

import (
	"path"
	"slices"
	"strings"
)

// call adds a simple command, and what it runs in turn.
func (p *parse) call(words []string, in *input) {
	if len(words) == 0 || len(p.Calls) > maxCalls {
		return
	}
	command := words[0]
	name := path.Base(command)
	if command == "" {
		return // an empty word is no command
	}
	dir := strings.TrimSuffix(command, name)
	if known(name) != name || strings.Contains(dir, anything) || strings.ContainsAny(name, " \t\n") {
		p.unresolved("the command %s is not known before it runs", shown(command))
		p.add(shown(name), command, words)
		return
	}
	p.add(name, command, words)
	if strings.Contains(command, "/") {
		p.executed = append(p.executed, clean(command))
	}
	name = strings.ToLower(name)
	args := words[1:]
	switch {
	case shells[name]:
		p.shell(name, args, in)
	case inline[name] != nil || interpreter(name) != "":
		p.interpreted(name, args, in)
	case strings.HasPrefix(name, "ld-") && strings.Contains(name, ".so"):
		p.call(after(args, option{}), in)
	default:
		if run, ok := runners[name]; ok {
			run(p, name, args, in)
		}
	}
	p.made(name, args)
	for _, hook := range hooks[name] {
		for _, a := range args {
			if a == hook || strings.HasPrefix(a, hook) && len(hook) > 2 {
				p.unresolved("%s of %s runs what it names", hook, name)
			}
		}
	}
}

// hooks are the options with which a program runs another.
var hooks = map[string][]string{
	"tar":       {"--checkpoint-action", "--to-command", "--use-compress-program", "-I", "-F", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command"},
	"rsync":     {"-e", "--rsh", "--rsync-path"},
	"scp":       {"-S", "-oProxyCommand"},
	"sftp":      {"-S"},
	"zip":       {"-TT", "--unzip-command"},
	"man":       {"-P", "--pager", "-H", "--html"},
	"sort":      {"--compress-program"},
	"split":     {"--filter"},
	"mapfile":   {"-C"},
	"readarray": {"-C"},
	"complete":  {"-C", "-F"},
	"compgen":   {"-C", "-F"},
	"bind":      {"-x"},
	"hash":      {"-p"},
	"enable":    {"-f"},
	"shopt":     {"dotglob", "expand_aliases"},
	"tcpdump":   {"-z"},
	"nmap":      {"--script"},
	"openssl":   {"-engine", "-provider"},
	"wget":      {"--use-askpass"},
	"gdb":       {"-ex", "-x", "--eval-command", "--command"},
	"vi":        {"-c", "--cmd", "-S", "+"},
	"vim":       {"-c", "--cmd", "-S", "+"},
	"nvim":      {"-c", "--cmd", "-S", "+", "-l"},
	"emacs":     {"--eval", "-eval", "--execute", "-f", "-l", "--load"},
	"docker":    {"--entrypoint"},
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

// option says which options of a command take the next word: short ones by their letters, long ones in full.
type option struct {
	short string
	long  []string
}

// after skips the options at the beginning of arguments, and returns the rest.
func after(args []string, o option) []string {
	for len(args) > 0 {
		a := args[0]
		switch {
		case a == "--":
			return args[1:]
		case len(a) < 2 || a[0] != '-' && a[0] != '+':
			return args
		case strings.HasPrefix(a, "--"):
			if slices.Contains(o.long, a) && len(args) > 1 {
				args = args[1:]
			}
		default:
			if i := strings.IndexAny(a[1:], o.short); o.short != "" && i == len(a)-2 && len(args) > 1 {
				args = args[1:]
			}
		}
		args = args[1:]
	}
	return nil
}

// assignments skips NAME=value words, and notes those that change what runs.
func (p *parse) assignments(args []string) []string {
	for len(args) > 0 && isAssignment(args[0]) {
		name, value, _ := strings.Cut(args[0], "=")
		p.set(name, value)
		args = args[1:]
	}
	return args
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz_0123456789") == ""
}
