package shell

import (
	"strings"
)

// A runner adds what a command runs that runs others.
type runner func(p *parse, name string, args []string, in *input)

// prefix runs the command that stands after its options and so many other words.
func prefix(skip int, short string, long ...string) runner {
	return func(p *parse, _ string, args []string, in *input) {
		rest := after(args, option{short, long})
		if len(rest) >= skip {
			p.call(rest[skip:], in)
		}
	}
}

// prefixed is a runner of a command, environment variables before it.
func prefixed(short string, long ...string) runner {
	return func(p *parse, name string, args []string, in *input) {
		for _, a := range args {
			if name == "sudo" && (a == "-s" || a == "-i" || a == "--shell" || a == "--login") {
				p.shell(name, nil, in)
			}
			if !strings.HasPrefix(a, "-") && !isAssignment(a) {
				break
			}
		}
		p.call(p.assignments(after(args, option{short, long})), in)
	}
}

// joined runs a line made of all words after its options and so many others.
func joined(skip int, short string, long ...string) runner {
	return func(p *parse, name string, args []string, _ *input) {
		rest := after(args, option{short, long})
		if len(rest) > skip {
			p.nested(name, strings.Join(rest[skip:], " "))
		}
	}
}

// optioned runs the line that stands after an option.
func optioned(options ...string) runner {
	return func(p *parse, name string, args []string, in *input) {
		found := false
		for i, a := range args {
			for _, o := range options {
				line, ok := strings.CutPrefix(a, o)
				switch {
				case !ok:
				case line == "" && i+1 < len(args):
					p.nested(name, args[i+1])
					found = true
				case strings.HasPrefix(line, "="):
					p.nested(name, line[1:])
					found = true
				}
			}
		}
		if !found && (name == "su" || name == "runuser") {
			p.shell(name, nil, in)
		}
	}
}

var runners map[string]runner

func init() { // it refers to itself through call
	runners = map[string]runner{
		"sudo":        prefixed("ugpCDhRrtTU", "--user", "--group", "--prompt", "--chdir", "--host", "--chroot", "--role", "--type", "--close-from", "--command-timeout", "--other-user"),
		"doas":        prefixed("uC"),
		"nohup":       prefix(0, ""),
		"nice":        prefix(0, "n", "--adjustment"),
		"ionice":      prefix(0, "cnpPu", "--class", "--classdata"),
		"chrt":        prefix(1, "TPD"),
		"taskset":     prefix(1, ""),
		"time":        prefix(0, "fo", "--format", "--output"),
		"timeout":     prefix(1, "ks", "--kill-after", "--signal"),
		"stdbuf":      prefix(0, "ioe", "--input", "--output", "--error"),
		"setsid":      prefix(0, ""),
		"setarch":     prefix(1, ""),
		"chroot":      prefix(1, ""),
		"unshare":     prefix(0, "SGRw"),
		"nsenter":     prefix(0, "tSG", "--target"),
		"strace":      prefix(0, "abeEIoOpPsSuUX"),
		"ltrace":      prefix(0, "aAeFlnopsuwxX"),
		"unbuffer":    prefix(0, ""),
		"chronic":     prefix(0, ""),
		"command":     runCommand,
		"builtin":     prefix(0, ""),
		"exec":        prefix(0, "a"),
		"coproc":      prefix(0, ""),
		"busybox":     prefix(0, ""),
		"toybox":      prefix(0, ""),
		"systemd-run": prefix(0, "uptHMGE", "--unit", "--property", "--slice", "--host", "--machine", "--setenv"),
		"catchsegv":   prefix(0, ""),
		"env":         runEnv,
		"xargs":       runXargs,
		"parallel":    runParallel,
		"find":        runFind,
		"fd":          runFd,
		"fdfind":      runFd,
		"eval":        joined(0, ""),
		"watch":       joined(0, "nq", "--interval", "--equexit"),
		"ssh":         joined(1, "BbcDEeFIiJLlmOopQRSWw"),
		"flock":       runFlock,
		"su":          optioned("-c", "--command", "--session-command"),
		"runuser":     optioned("-c", "--command"),
		"script":      optioned("-c", "-qc", "--command"),
		"trap":        runTrap,
		"alias":       runAlias,
		"git":         runGit,
		"at":          runStdin,
		"batch":       runStdin,
		"crontab":     runStdin,
		".":           runSource,
		"source":      runSource,
	}
}
