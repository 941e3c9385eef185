package shell

import "strings"

// A runner adds what a command runs that runs others.
type runner func(p *parse, name string, args []string, in *input)

// prefix runs the command that stands after its options and so many other words.
func prefix(skip int, o options) runner {
	return func(p *parse, name string, args []string, in *input) {
		rest := p.after(name, args, o)
		if len(rest) >= skip {
			p.call(rest[skip:], in)
		}
	}
}

// prefixed is a runner of a command, environment variables before it.
func prefixed(o options) runner {
	return func(p *parse, name string, args []string, in *input) {
		rest := p.after(name, args, o)
		for _, a := range args[:len(args)-len(rest)] {
			if a == "-e" || a == "--edit" || strings.HasPrefix(a, "-") && a[len(a)-1] == 's' || strings.HasPrefix(a, "-") && a[len(a)-1] == 'i' || a == "--shell" || a == "--login" {
				p.unresolved("%s of %s runs a shell, or an editor", a, name)
			}
		}
		p.call(p.assignments(rest), in)
	}
}

// joined runs a line made of all words after its options.
func joined(o options) runner {
	return func(p *parse, name string, args []string, _ *input) {
		if rest := p.after(name, args, o); len(rest) > 0 {
			p.nested(name, strings.Join(rest, " "))
		}
	}
}

var runners map[string]runner

func init() { // it refers to itself through call
	runners = map[string]runner{
		"sudo":        prefixed(options{"AbBEeHiKklNnPSsVv", "ugpCDhRrtTU", "", "user= group= prompt= chdir= host= chroot= role= type= close-from= command-timeout= other-user= preserve-env[=] askpass background bell set-home login non-interactive preserve-groups stdin shell edit list validate version help reset-timestamp remove-timestamp no-update"}),
		"doas":        prefixed(options{"Lns", "uC", "", ""}),
		"nohup":       prefix(0, options{long: "help version"}),
		"nice":        prefix(0, options{"0123456789", "n", "", "adjustment= help version"}),
		"ionice":      prefix(0, options{"tVh", "cnpPu", "", "class= classdata= ignore pid= pgid= uid= help version"}),
		"chrt":        prefix(1, options{"abdefimorRvhV0", "TPDp", "", "all-tasks batch deadline fifo idle other rr reset-on-fork sched-runtime= sched-period= sched-deadline= max verbose help version"}),
		"taskset":     prefix(1, options{"acphV", "", "", "all-tasks cpu-list pid help version"}),
		"time":        prefix(0, options{"apvqV", "fo", "", "append portability verbose quiet format= output= version help"}),
		"timeout":     prefix(1, options{"vfp", "ks", "", "kill-after= signal= foreground preserve-status verbose help version"}),
		"stdbuf":      prefix(0, options{"", "ioe", "", "input= output= error= help version"}),
		"setsid":      prefix(0, options{"cfwVh", "", "", "ctty fork wait version help"}),
		"setarch":     prefix(1, options{"vRFIXZBLST3hV", "", "", "verbose addr-no-randomize fdpic-funcptrs short-inode addr-compat-layout mmap-page-zero read-implies-exec 32bit 3gb 4gb whole-seconds sticky-timeouts uname-2.6 help version list"}),
		"chroot":      prefix(1, options{long: "groups= userspec= skip-chdir help version"}),
		"unshare":     prefix(0, options{"frchV", "SGRwl", "minpuCTU", "mount[=] uts[=] ipc[=] net[=] pid[=] user[=] cgroup[=] time[=] fork map-root-user map-current-user map-auto map-user= map-group= map-users= map-groups= kill-child[=] mount-proc[=] root= wd= setuid= setgid= keep-caps propagation= setgroups= help version"}),
		"nsenter":     prefix(0, options{"aFZeckhV", "tSGWN", "muinpUCTrw", "all target= mount[=] uts[=] ipc[=] net[=] pid[=] user[=] cgroup[=] time[=] root[=] wd[=] wdns= setuid= setgid= no-fork preserve-credentials follow-context help version"}),
		"strace":      prefix(0, options{"cCdDfFhiknNqrtTvVwxyYzZA", "abeEIoOpPsSuUX", "", ""}),
		"ltrace":      prefix(0, options{"bcCfhiLrStTV", "aADeFlnopsuwxX", "", ""}),
		"unbuffer":    prefix(0, options{flags: "p"}),
		"chronic":     prefix(0, options{flags: "ve"}),
		"command":     runCommand,
		"builtin":     prefix(0, options{}),
		"exec":        prefix(0, options{flags: "cl", value: "a"}),
		"coproc":      prefix(0, options{}),
		"busybox":     prefix(0, options{long: "list list-full help"}),
		"toybox":      prefix(0, options{long: "long help version"}),
		"systemd-run": prefix(0, options{"dtPqSGrh", "upHMEC", "", "scope user system unit= property= slice= slice-inherit host= machine= setenv= uid= gid= nice= working-directory= same-dir remain-after-exit send-sighup service-type= wait quiet pty pipe shell collect no-block on-active= on-boot= on-calendar= on-startup= on-unit-active= timer-property= description= no-ask-password expand-environment= help version"}),
		"catchsegv":   prefix(0, options{}),
		"env":         runEnv,
		"xargs":       runXargs,
		"parallel":    runParallel,
		"find":        runFind,
		"fd":          runFd,
		"fdfind":      runFd,
		"eval":        joined(options{}),
		"watch":       joined(options{"bcCdegprtwxvh", "nqs", "", "interval= equexit= beep color no-color differences[=] errexit chgexit precise no-rerun no-title no-wrap exec help version"}),
		"ssh":         runSSH,
		"flock":       runFlock,
		"su":          runSu,
		"runuser":     runSu,
		"script":      runScript,
		"trap":        runTrap,
		"alias":       runAlias,
		"set":         runSet,
		"git":         runGit,
		"sed":         runSed,
		"gsed":        runSed,
		"at":          runStdin,
		"batch":       runStdin,
		"crontab":     runStdin,
		".":           runSource,
		"source":      runSource,
		"uniq":        runUniq,
		"tee":         runTee,
		"dd":          runDD,
		"sqlite3":     runSQLite,
	}
}
