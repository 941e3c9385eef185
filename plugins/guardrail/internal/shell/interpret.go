package shell

import (
	"regexp"
	"strings"
)

var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "mksh": true, "ash": true, "rbash": true, "fish": true, "csh": true, "tcsh": true}

// shell adds what a shell runs: the line behind its options if -c is one of them, what it reads, or the file it names. Each
// o among the letters takes a word of its own, whatever stands beside it, as in -euo pipefail -c.
func (p *parse) shell(name string, args []string, in *input) {
	line, reads := false, false
	for len(args) > 0 {
		a := args[0]
		if a == "" || a[0] != '-' && a[0] != '+' {
			break
		}
		args = args[1:]
		if a == "-" || a == "--" {
			break
		}
		if strings.HasPrefix(a, "--") {
			switch a {
			case "--version", "--help":
				return
			case "--login", "--norc", "--noprofile", "--posix", "--restricted", "--verbose", "--noediting", "--no-config":
				continue
			}
			p.unresolved("what %s runs with %s is not known", name, shown(a))
			return
		}
		if known(a) != a || name == "fish" && strings.Trim(a[1:], "cilnNPv") != "" {
			p.unresolved("what %s runs with %s is not known", name, shown(a))
			return
		}
		for _, letter := range a[1:] {
			switch letter {
			case 'c':
				line = true
			case 's':
				reads = true
			case 'o', 'O':
				if len(args) > 0 {
					runSet(p, name, args[:1], nil)
					args = args[1:]
				}
			case 'a', 'k':
				runSet(p, name, []string{a}, nil)
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

// file notes that a file is run.
func (p *parse) file(name, file string) {
	if known(file) != file && !strings.Contains(file, "/") || strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, "/proc/") || file == "-" || strings.HasPrefix(file, anything) {
		p.unresolved("the file that %s runs is not known before it runs", name)
		return
	}
	p.executed = append(p.executed, clean(file))
}

// inline are the options with which interpreters take code, nil if every first word is code.
var inline = map[string][]string{
	"python": {"-c"}, "pypy": {"-c"}, "perl": {"-e", "-E"}, "ruby": {"-e"}, "node": {"-e", "-p", "--eval", "--print"}, "nodejs": {"-e", "-p", "--eval", "--print"},
	"bun": {"-e", "--eval"}, "deno": {"eval"}, "php": {"-r", "-B", "-R", "-E"}, "lua": {"-e"}, "luajit": {"-e"}, "tclsh": {}, "expect": {"-c"}, "osascript": {"-e"},
	"pwsh": {"-c", "-Command", "-EncodedCommand", "-e", "-enc"}, "rscript": {"-e"}, "guile": {"-c"}, "groovy": {"-e"}, "scala": {"-e"}, "julia": {"-e", "-E"}, "elixir": {"-e"},
	"awk": {}, "gawk": {}, "mawk": {}, "nawk": {}, "ipython": {"-c"}, "jrunscript": {"-e"}, "jshell": {}, "kotlin": {"-e"}, "runghc": {"-e"}, "ocaml": {"-e"}, "erl": {"-eval", "-run", "-s"},
	"iex": {"-e", "--eval", "--rpc-eval"}, "swift": {"-e"}, "racket": {"-e", "--eval"}, "sbcl": {"--eval", "--load"}, "clisp": {"-x"}, "octave": {"--eval"}, "raku": {"-e"}, "crystal": {"eval"}, "clojure": {"-e", "-M"}, "bb": {"-e"},
}

var version = regexp.MustCompile(`^(python|pypy|perl|ruby|php|lua|node|tclsh)[0-9][0-9.]*$`)

// interpreter is a name without its version, "" if it has none.
func interpreter(name string) string {
	if m := version.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}

// awkRuns is where an awk program, or an option, runs commands or writes files; all else there is harmless.
var awkRuns = regexp.MustCompile(`system|\||getline|>|@|^-[^Fv-]|^--.|[\x00-\x04]`)

// interpreted says whether code that is given to an interpreter is known to be harmless.
func (p *parse) interpreted(name string, args []string, in *input) {
	base := name
	if v := interpreter(name); v != "" {
		base = v
	}
	switch base {
	case "awk", "gawk", "mawk", "nawk":
		for _, a := range args {
			if awkRuns.MatchString(a) {
				p.unresolved("the %s program may run commands", name)
				return
			}
		}
		return
	}
	for _, a := range args {
		for _, o := range inline[base] {
			if a == o || strings.HasPrefix(a, o+"=") || len(o) == 2 && len(a) > 2 && a[0] == '-' && a[1] != '-' && strings.Contains(a, o[1:]) {
				p.unresolved("the code given to %s may run commands", name)
				return
			}
		}
	}
	rest := skip(args, "mWX")
	switch {
	case len(args) == 1 && (args[0] == "--version" || args[0] == "-V" || args[0] == "-v"), len(args) > 0 && strings.HasPrefix(args[0], "-m") && !codeModule.MatchString(strings.Join(args, " ")):
	case len(args) > 0 && strings.HasPrefix(args[0], "-m"):
		p.unresolved("the module that %s runs may run code that it is given", name)
	case len(rest) == 0, len(rest) > 0 && rest[0] == "-":
		p.unresolved("what %s runs is its input", name)
	case len(rest) > 0:
		p.file(name, rest[0])
	}
}

// codeModule are modules of python that run what they are given.
var codeModule = regexp.MustCompile(`^-m ?(timeit|code|pdb|trace|profile|cProfile|runpy|IPython|doctest|\S*[\x00-\x04])`)

// skip skips options, those of some letters with their value.
func skip(args []string, value string) []string {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		if i := strings.IndexAny(a[1:], value); a[1] != '-' && i >= 0 && i == len(a)-2 && len(args) > 0 {
			args = args[1:]
		}
	}
	return args
}
