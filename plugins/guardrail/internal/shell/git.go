package shell

import (
	"regexp"
	"slices"
	"strings"
)

// gitOptions are the options of git itself, before the subcommand.
var gitOptions = options{flags: "pPvh", value: "Cc", long: "git-dir= work-tree= namespace= super-prefix= attr-source= config-env= list-cmds= exec-path[=] paginate no-pager no-replace-objects bare no-lazy-fetch no-optional-locks no-advice literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs version help html-path man-path info-path"}

// gitCommands are the subcommands that there are: any other is an alias, or a program.
const gitCommands = "add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout cherry cherry-pick clean clone commit commit-graph commit-tree config count-objects describe diff diff-files diff-index diff-tree fast-export fast-import fetch fmt-merge-msg for-each-ref format-patch fsck gc get-tar-commit-id grep hash-object help index-pack init interpret-trailers log ls-files ls-remote ls-tree mailinfo merge merge-base merge-file merge-tree mktag mktree multi-pack-index mv name-rev notes pack-objects pack-refs patch-id prune pull push range-diff read-tree rebase reflog remote repack replace rerere reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref sparse-checkout stage stash status stripspace submodule switch symbolic-ref tag unpack-objects update-index update-ref update-server-info var verify-commit verify-pack verify-tag version whatchanged worktree write-tree lfs"

// gitRuns are subcommands that run what is configured or given, whatever their options are.
const gitRuns = "difftool mergetool filter-branch filter-repo send-email instaweb daemon web--browse for-each-repo hook maintenance credential cvsserver shell gui citool p4 svn imap-send"

var (
	gitDiff  = risk{writes: "--output", runs: "--ext-diff"}
	gitPick  = risk{writes: "--output", runs: "--ext-diff --strategy", takes: "mX"}
	gitFetch = risk{runs: "--upload-pack --receive-pack --exec"}
)

var gitRisks = map[string]risk{
	"diff": gitDiff, "log": gitDiff, "show": gitDiff, "whatchanged": gitDiff, "diff-tree": gitDiff, "diff-files": gitDiff, "diff-index": gitDiff, "range-diff": gitDiff, "reflog": gitDiff, "stash": gitDiff, "shortlog": gitDiff, "rev-list": gitDiff, "blame": gitDiff, "annotate": gitDiff, "cherry-pick": gitPick, "revert": gitPick,
	"format-patch": {writes: "--output", into: "-o --output-directory"}, "archive": {writes: "-o --output", runs: "--exec --remote"},
	"grep":  {runs: "-O --open-files-in-pager", takes: "efABCm"},
	"clone": {runs: "-c --config -u --upload-pack --template", takes: "obj"}, "init": {runs: "--template", takes: "b"},
	"fetch": gitFetch, "pull": {takes: "X", runs: "--strategy -s " + gitFetch.runs}, "push": gitFetch, "ls-remote": gitFetch, "rebase": {takes: "Xs", runs: "--strategy -s"}, "merge": {takes: "mFX", runs: "--strategy -s"},
	"bundle": {words: "create"}, "index-pack": {writes: "-o"}, "help": {runs: "-w --web -i --info"}, "fast-export": {writes: "--output --export-marks"}, "fast-import": {writes: "--export-marks --export-pack-edges"},
}

// gitCommand returns the subcommand of git and its arguments.
func gitCommand(args []string) []string {
	return (&parse{}).after("git", args, gitOptions)
}

func runGit(p *parse, name string, args []string, _ *input) {
	rest := p.after(name, args, gitOptions)
	p.gitSettings(args[:len(args)-len(rest)])
	for _, a := range args {
		if strings.HasPrefix(a, "ext::") || strings.Contains(a, "=ext::") || strings.Contains(a, "://-") {
			p.unresolved("an address that git is given runs a command")
		}
	}
	if len(rest) == 0 {
		return
	}
	command, args := rest[0], rest[1:]
	switch {
	case known(command) != command:
		p.unresolved("the command of git is not known before it runs")
	case slices.Contains(strings.Fields(gitRuns), command):
		p.unresolved("git %s may run a command", command)
	case !slices.Contains(strings.Fields(gitCommands), command):
		p.unresolved("git %s may be an alias, or a program", command)
	case command == "config":
		p.gitConfig(args)
	case command == "bisect" && len(args) > 0 && args[0] == "run":
		p.call(args[1:], nil)
	case command == "bisect" && len(args) > 0 && known(args[0]) != args[0]:
		p.unresolved("what git bisect does is not known before it runs")
	case command == "submodule":
		if i := slices.Index(args, "foreach"); i >= 0 {
			p.nested(name, strings.Join(p.after("git submodule foreach", args[i+1:], options{flags: "q", long: "recursive quiet"}), " "))
		} else if slices.ContainsFunc(args, unsure) {
			p.unresolved("what git submodule does is not known before it runs")
		}
	case command == "rebase":
		p.gitRebase(name, args)
	}
	if r, ok := gitRisks[command]; ok {
		p.risky("git "+command, r, args)
	}
}

// gitSettings holds the options before the subcommand to what is known to run nothing.
func (p *parse) gitSettings(args []string) {
	for i, a := range args {
		value := ""
		if i+1 < len(args) {
			value = args[i+1]
		}
		if rest, ok := strings.CutPrefix(a, "-c"); ok {
			if rest != "" {
				value = rest
			}
			if !quietKey.MatchString(value) {
				p.unresolved("the setting %s of git may run a command", shown(value))
			}
		}
		for _, o := range []string{"--exec-path=", "--config-env", "--git-dir"} {
			if strings.HasPrefix(a, o) {
				p.unresolved("%s of git may run a command", o)
			}
		}
	}
}

// gitRebase runs the lines after --exec.
func (p *parse) gitRebase(name string, args []string) {
	for i, a := range args {
		key, line, attached := strings.Cut(a, "=")
		switch {
		case len(key) > 3 && strings.HasPrefix("--exec", key), a == "-x":
			if !attached && i+1 < len(args) {
				line = args[i+1]
			}
			p.nested(name, line)
		case len(a) > 2 && a[0] == '-' && a[1] != '-' && strings.Contains(a, "x"):
			_, line, _ := strings.Cut(a, "x")
			if line == "" && i+1 < len(args) {
				line = args[i+1]
			}
			p.nested(name, line)
		}
	}
}

// gitConfig holds what is set to keys that run nothing.
func (p *parse) gitConfig(args []string) {
	var operands []string
	for _, a := range args {
		switch {
		case unsure(a):
			p.unresolved("which setting of git is meant is not known")
			return
		case strings.HasPrefix(a, "--get"), a == "--list", a == "-l":
			return
		case a == "--global", a == "--local", a == "--worktree", a == "--add", a == "--replace-all", strings.HasPrefix(a, "--unset"), strings.HasPrefix(a, "--type="), a == "--bool", a == "--int":
		case strings.HasPrefix(a, "-"):
			p.unresolved("%s of git config may run or write something", a)
			return
		default:
			operands = append(operands, a)
		}
	}
	if len(operands) > 0 && slices.Contains([]string{"get", "list"}, operands[0]) {
		return
	}
	if len(operands) > 0 && slices.Contains([]string{"set", "unset"}, operands[0]) {
		operands = operands[1:]
	}
	if len(operands) > 1 && !quietKey.MatchString(operands[0]) || len(operands) == 0 {
		p.unresolved("what is set in git config may run a command")
	}
}

// quietKey are settings of git that run nothing.
var quietKey = regexp.MustCompile(`(?i)^(user\.(name|email)|color\.[a-z.]+|advice\.[a-z]+|core\.(quotepath|autocrlf|abbrev|eol|filemode|ignorecase)|init\.defaultbranch|commit\.gpgsign|pull\.rebase|merge\.conflictstyle|http\.[a-z]+timeout|protocol\.version|diff\.(renames|algorithm)|log\.[a-z]+)(=|$)|^core\.pager=(cat)?$`)
