package shell

import (
	"regexp"
	"slices"
	"strings"
)

// A risk says which arguments of a program make it run another, or write a file. Options are separated by blanks; a
// long one counts also when it is shortened, a short one also among others.
type risk struct {
	runs   string         // options whose value is run, or may say what is
	writes string         // options whose value is a file that is written
	into   string         // options whose value is a directory that is written into
	takes  string         // letters of other short options that take a value
	words  string         // other arguments, such as subcommands, with which it runs what it is given
	holds  string         // texts within any argument with which it does
	quiet  *regexp.Regexp // values of options that run nothing after all
	reads  bool           // what it reads may hold such texts, too
	bare   bool           // options are whole words, with one dash or two: no letters together, nothing shortened
	first  bool           // what stands after the first operand belongs to what is run
}

var (
	quietGo  = regexp.MustCompile(`^([\w./]+=)?((-[swNlSBm]|-m=\d|-d=\w+|-X[ =][\w./-]+=[\w.:/+-]*)(\s+|$))+$`)
	quietSSH = regexp.MustCompile(`(?i)^(stricthostkeychecking|connecttimeout|connectionattempts|batchmode|userknownhostsfile|globalknownhostsfile|loglevel|serveralive\w+|identitiesonly|identityfile|passwordauthentication|preferredauthentications|port|user|hostname|compression|requesttty|tcpkeepalive|addressfamily)[= ]`)
	sshRisk  = risk{runs: "-o -F -S -I -D -P", takes: "BbceEiJLlmpQRWw", quiet: quietSSH}
	vimRisk  = risk{runs: "-c --cmd -S + -l -u -U -i -s -es --remote-expr --remote-send", writes: "-w -W", takes: "T"}
	ccRisk   = risk{runs: "-wrapper -fplugin -B -specs --specs -Xclang -load -fuse-ld -ld-path"}
	boxRisk  = risk{words: "run exec create compose build buildx start debug cp"}
)

// risks are the programs whose options or words run others or write files. What runs its operands is in runners, what
// runs code in inline, git in git.go.
var risks = map[string]risk{
	"tar":     {runs: "--checkpoint-action --to-command --use-compress-program -I -F --info-script --new-volume-script --rsh-command --rmt-command", writes: "--index-file", takes: "CfTXbgKLNVH"},
	"rsync":   {runs: "-e --rsh --rsync-path -M --remote-option --early-input --config", writes: "--log-file --write-batch --only-write-batch", takes: "fTB"},
	"scp":     sshRisk,
	"sftp":    {runs: "-o -F -S -D -b -s", takes: "BcilPRJX", quiet: quietSSH},
	"ssh-add": {runs: "-s -S"}, "ssh-keygen": {runs: "-D -w", writes: "-f", takes: "bCEIimNnOPrstVYz"},
	"zip": {runs: "-TT --unzip-command"}, "shuf": {writes: "-o --output", takes: "in"}, "patch": {writes: "-o --output -r --reject-file", takes: "BDdFgipVYz"},
	"gpg": {writes: "-o --output --log-file --logger-file --status-file", runs: "--exec-path --options --agent-program --photo-viewer --homedir", takes: "urRN"}, "install": {runs: "--strip-program"}, "cpio": {runs: "--rsh-command"},
	"man": {runs: "-P --pager -H --html -C --config-file --preprocessor -p -X --gxditview -T --troff-device"}, "less": {runs: "+ -k --lesskey-file --lesskey-src --lesskey-content", writes: "-o -O --log-file --LOG-FILE"}, "more": {runs: "+"},
	"sort": {runs: "--compress-program", writes: "-o --output", takes: "kStT"}, "split": {runs: "--filter", takes: "abCln"},
	"mapfile": {runs: "-C", takes: "dnOsuc"}, "readarray": {runs: "-C", takes: "dnOsuc"}, "complete": {runs: "-C -F -W"}, "compgen": {runs: "-C -F -W"},
	"bind": {runs: "-x -f"}, "hash": {runs: "-p"}, "enable": {runs: "-f"}, "shopt": {words: "dotglob expand_aliases allexport keyword"}, "fc": {runs: "-s -e"}, "history": {writes: "-a -w"},
	"tcpdump": {runs: "-z", writes: "-w", takes: "cCDEFGijMrsTVWy"}, "nmap": {runs: "--script --datadir", writes: "-oN -oX -oG -oA -oS"},
	"openssl": {runs: "-engine -provider -provider-path -config", writes: "-out -keyout -writerand", bare: true},
	"wget":    {runs: "--use-askpass -e --execute --config", writes: "-O --output-document -o --output-file -a --append-output --save-cookies --warc-file", into: "-P --directory-prefix", takes: "tTwQBiUlARDIX"},
	"curl":    {runs: "-K --config --engine", writes: "-o --output -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --etag-save --libcurl --hsts --alt-svc", into: "--output-dir", takes: "AbCdeEFHhmPQrTtuUwxXYyz"},
	"rg":      {runs: "--pre --hostname-bin", takes: "ABCEefgjMmrtTd"}, "ag": {runs: "--pager"}, "ack": {runs: "--pager --ackrc --filter"}, "bat": {runs: "--pager"}, "delta": {runs: "--pager"},
	"vi": vimRisk, "vim": vimRisk, "nvim": vimRisk, "view": vimRisk, "vimdiff": vimRisk, "nano": {runs: "-s --speller -f --rcfile"},
	"emacs": {runs: "--eval -eval --execute -f -l --load --script -script --funcall --batch -batch"},
	"find":  {writes: "-fprint -fprint0 -fprintf -fls", runs: "-files0-from", words: "-delete", bare: true},
	"go":    {runs: "-toolexec -vettool -exec -fixtool -compiler -ldflags -gcflags -asmflags -gccgoflags -overlay -w -u", writes: "-o -debug-trace -debug-actiongraph -debug-runtime-trace -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace -test.coverprofile -test.cpuprofile -test.memprofile -test.blockprofile -test.mutexprofile -test.trace -test.testlogfile", into: "-outputdir -test.outputdir -test.gocoverdir", quiet: quietGo, bare: true},
	"cargo": {runs: "--config"}, "make": {runs: "--eval -E -f --file --makefile", takes: "CIjlOoW", holds: "SHELL= SHELLFLAGS= $ ` ; | &"}, "gmake": {runs: "--eval -E -f --file --makefile", takes: "CIjlOoW", holds: "SHELL= SHELLFLAGS= $ ` ; | &"},
	"gcc": ccRisk, "cc": ccRisk, "g++": ccRisk, "c++": ccRisk, "clang": ccRisk, "clang++": ccRisk, "ld": {runs: "-plugin --plugin"}, "cmake": {runs: "-P -E"},
	"apt": {runs: "-o --option -c --config-file"}, "apt-get": {runs: "-o --option -c --config-file"}, "rpm": {runs: "--eval -E --pipe --define -D --load --rcfile"}, "dpkg": {runs: "--pre-invoke --post-invoke --status-logger"},
	"python": {runs: "-i", takes: "mWX", first: true}, "perl": {runs: "-M -m -I -d -x -s", first: true}, "ruby": {runs: "-r -I -C -x", first: true}, "lua": {runs: "-l -i", first: true}, "php": {runs: "-d -c -z -f -S -F", first: true},
	"node":    {runs: "-r --require --import --loader --experimental-loader --env-file", first: true},
	"sqlite3": {holds: "writefile edit( load_extension", runs: "-cmd -init -A", bare: true, reads: true}, "psql": {holds: "\\ PROGRAM program", runs: "-f --file", writes: "-o --output -L --log-file", reads: true}, "mysql": {holds: "\\! system SYSTEM OUTFILE outfile DUMPFILE dumpfile", runs: "--pager --init-command", reads: true},
	"docker": boxRisk, "podman": boxRisk, "kubectl": {words: "exec run debug cp attach plugin", runs: "--kubeconfig"}, "nc": {runs: "-e -c"}, "ncat": {runs: "-e -c --exec --sh-exec --lua-exec"}, "ip": {words: "exec", runs: "-b -batch"}, "systemctl": {words: "edit enable link set-property"}, "nix": {words: "run shell develop"},
	"npm": {words: "exec x explore set", runs: "--script-shell --node-options"}, "pnpm": {words: "exec dlx set"}, "yarn": {words: "exec dlx set"}, "bun": {words: "x"}, "uv": {words: "run tool"}, "poetry": {words: "run"}, "pipenv": {words: "run shell"}, "pipx": {words: "run"}, "conda": {words: "run"}, "bundle": {words: "exec"}, "direnv": {words: "exec"}, "pip": {runs: "--config-settings --global-option", words: "config"},
}

// runsGiven are programs that run what they are given in ways of their own: nothing of it is known.
const runsGiven = "gdb lldb valgrind perf rlwrap socat hyperfine tmux screen dtach entr expect gnuplot logrotate run-parts start-stop-daemon pkexec sg newgrp ssh-agent gpg-agent " +
	"capsh setpriv numactl prlimit cpulimit faketime tini dumb-init linux32 linux64 i386 x86_64 dbus-run-session dbus-launch xvfb-run torify torsocks proxychains proxychains4 proot fakeroot firejail bwrap " +
	"ed ex red dc m4 npx bunx uvx nix-shell sudoedit visudo vipw xdg-open open coreutils eatmydata pipe-exec nodemon watchexec inotifywait incron anacron rpmbuild mutt crash zed zathura telnet ftp lftp"

var given = func() map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(runsGiven) {
		m[name] = true
	}
	return m
}()

// risky says what a risk sees in arguments.
func (p *parse) risky(name string, r risk, args []string) {
	runs, into, words, holds := strings.Fields(r.runs), strings.Fields(r.into), strings.Fields(r.words), strings.Fields(r.holds)
	writes := append(strings.Fields(r.writes), into...)
	for _, text := range holds {
		if slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, text) }) {
			p.unresolved("an argument of %s may run commands", name)
			return
		}
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--" && !r.bare:
			runs, writes = nil, nil
			continue
		case slices.Contains(words, a):
			p.unresolved("%s %s runs or removes what it is given", name, a)
			return
		case runs == nil && writes == nil && len(words) == 0:
			continue
		case unsure(a):
			p.unresolved("it is not known whether an argument of %s is an option that runs or writes something", name)
			return
		case name == "tar" && i == 0 && a != "" && a[0] != '-':
			if strings.ContainsAny(a, "IF") { // letters without a dash
				p.unresolved("an option of tar runs what it names")
			}
			continue
		}
		o, value, attached, takes := r.option(a, append(runs, writes...))
		if !attached && i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case slices.Contains(runs, o) && (r.quiet == nil || !r.quiet.MatchString(value)):
			p.unresolved("%s of %s may run what it names", o, name)
			return
		case slices.Contains(into, o):
			p.writes(value + "/" + oneWord)
			takes = true
		case slices.Contains(writes, o):
			p.writes(value)
			takes = true
		case o != "":
			takes = true
		case r.first && (a == "" || a[0] != '-'):
			return
		}
		if takes && !attached {
			i++
			if strings.Contains(value, anything) {
				p.unresolved("the arguments of %s are not known before it runs", name)
				return
			}
		}
	}
}

// fed says what a risk sees in what a program reads.
func (p *parse) fed(name string, r risk, in *input) {
	holds := slices.ContainsFunc(strings.Fields(r.holds), func(text string) bool { return strings.Contains(in.text, text) })
	if holds || !in.known {
		p.unresolved("what %s reads may run commands", name)
	}
}

// option finds which of some options an argument is, and its value if that stands in the same argument.
func (r risk) option(a string, options []string) (option, value string, attached, takes bool) {
	whole, value, attached := strings.Cut(a, "=")
	for _, o := range options {
		switch {
		case r.bare && strings.HasPrefix(a, "-") && strings.TrimLeft(whole, "-") == strings.TrimLeft(o, "-"),
			!r.bare && strings.HasPrefix(whole, "--") && len(whole) > 2 && strings.HasPrefix(o, whole):
			return o, value, attached, true
		case !r.bare && (len(o) > 2 && o[1] != '-' || o == "+") && strings.HasPrefix(a, o):
			return o, strings.TrimPrefix(a[len(o):], "="), len(a) > len(o), true
		}
	}
	if r.bare || len(a) < 2 || a[0] != '-' || a[1] == '-' {
		return "", "", true, false
	}
	for i, letter := range a[1:] {
		rest := a[1+i+len(string(letter)):]
		if o := "-" + string(letter); slices.Contains(options, o) {
			return o, rest, rest != "", true
		}
		if strings.ContainsRune(r.takes, letter) {
			return "", rest, rest != "", true
		}
	}
	return "", "", true, false
}

// unsure says whether an argument may be an option, or another one than is seen.
func unsure(a string) bool {
	name, _, _ := strings.Cut(a, "=")
	return strings.Contains(a, anything) || a != "" && strings.Contains(unsteady, a[:1]) || strings.HasPrefix(a, "-") && known(name) != name
}

// writes notes a file that an option has written: it is a call of > as by redirection.
func (p *parse) writes(file string) {
	if file == "" || file == "-" || file == "/dev/null" || file == "/dev/stdout" || file == "/dev/stderr" {
		return
	}
	p.written[clean(file)] = true
	p.add(">", ">", []string{">", file})
}
