package shell

import (
	"regexp"
	"strings"
)

func runGit(p *parse, name string, args []string, _ *input) {
	for i, a := range args {
		value := ""
		if i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case a == "-c":
			if !quietKey.MatchString(value) {
				p.unresolved("the setting %s of git may run a command", shown(value))
			}
		case strings.HasPrefix(a, "--exec-path="), strings.HasPrefix(a, "--config-env"), strings.HasPrefix(a, "--upload-pack"), strings.HasPrefix(a, "--receive-pack"), strings.HasPrefix(a, "--extcmd"), strings.HasPrefix(value, "ext::"):
			p.unresolved("%s of git runs what it names", a)
		case a == "--exec" || a == "-x" && (args[0] == "rebase" || args[0] == "difftool"):
			p.nested(name, value)
		case strings.HasPrefix(a, "--exec="):
			p.nested(name, strings.TrimPrefix(a, "--exec="))
		case a == "run" && i > 0 && args[i-1] == "bisect":
			p.call(args[i+1:], nil)
			return
		case a == "foreach":
			p.nested(name, strings.Join(after(args[i+1:], option{}), " "))
			return
		case a == "filter-branch", a == "config" && strings.Contains(strings.Join(args[i:], " "), "!"):
			p.unresolved("git %s may run a command", a)
		}
	}
}

// quietKey are settings of git that run nothing.
var quietKey = regexp.MustCompile(`(?i)^(user\.(name|email)|color\.[a-z.]+|advice\.[a-z]+|core\.(quotepath|autocrlf|abbrev|eol|filemode|ignorecase|pager=(cat|)$)|init\.defaultbranch|commit\.gpgsign|pull\.rebase|merge\.conflictstyle|safe\.directory|http\.[a-z]+timeout|protocol\.version|diff\.(renames|algorithm)|log\.[a-z]+)(=|$)|^core\.pager=(cat)?$`)
