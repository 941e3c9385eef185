// Package shell says which commands a bash command line could run, and decides about them by rules
// such as "never rm, ask before git push". The spelling does not count: r\m, "rm", /bin/rm, sudo
// rm, sh -c 'rm x' and find -exec rm are all rm.
//
//	rules := shell.Rules{Deny: ..., Ask: ..., Allow: ...} // Patterns, see Compile
//	decision, why := rules.Judge("ls | xargs rm")
//
// Every command in a line counts, wherever it stands: in pipes, lists, loops, functions, command
// substitutions and here-documents, and behind commands that run others. What is known about those,
// and about options that run a program or write a file, is in commands.txt. A file that the line
// writes or reads by redirection is the command > or <, and so is a file that an option writes
// (sort -o), or tee, or dd.
//
// Only what stands literally in the line is judged. All else is unresolved, and a line with
// something unresolved is asked about: a command in a variable, eval of one, what is piped into a
// shell, code given to an interpreter (python -c), most scripts of sed, variables in arithmetic, a
// file that the same line writes and runs, an environment variable that may change what a command
// does, an option that runs another program (rg --pre), and an argument that may be such an option.
//
// The limits: paths are compared as they are written, wherever a cd or a link leads. What
// ./script.sh, make or a renamed copy of rm from an earlier line runs is not seen. A sandbox is the
// wall; this is the sign on the door.
package shell

import (
	"fmt"
	"regexp"
)

// Rules say what commands may do. The zero Rules say nothing.
type Rules struct {
	Deny  []Pattern
	Ask   []Pattern
	Allow []Pattern
	// DenyPaths and AskPaths are about the files that commands may read or write.
	DenyPaths []Path
	AskPaths  []Path
}

// A Decision is what rules say about a line: the strictest that they say about its commands.
type Decision int

// The decisions, the strictest last.
const (
	Unsaid  Decision = iota // no rule is about some command of the line
	Allowed                 // every command is allowed
	Asked
	Denied
)

func (d Decision) String() string {
	return [...]string{"unsaid", "allowed", "asked", "denied"}[d]
}

// Judge decides about a command line, and says why. The line is denied if a command in it is surely
// denied. It is asked about if a command is perhaps denied, or is to be asked about, or something
// is unresolved, or the line cannot be parsed, or it is too long. It is allowed if every command is
// surely allowed. Deny counts before ask, and ask before allow, whatever the order of the patterns
// and however exact they are.
func (r Rules) Judge(command string) (Decision, string) {
	line, err := parse(command)
	if err != nil {
		return Asked, err.Error()
	}
	decision := Allowed
	why := ""
	if len(line.calls) == 0 && len(line.reasons) == 0 {
		decision = Unsaid
		why = "no command is run"
	}
	say := func(d Decision, format string, args ...any) {
		if d > decision || decision == Allowed && d == Unsaid {
			decision = d
			why = fmt.Sprintf(format, args...)
		}
	}
	for _, reason := range line.reasons {
		say(Asked, "%s", reason)
	}
	if len(r.DenyPaths)+len(r.AskPaths) > 0 {
		uses, ok := line.uses()
		more, alsoOK := usesOnWindows(command)
		uses = append(uses, more...)
		if !ok || !alsoOK {
			say(Asked, "the files that the command names are too many to be checked: split it")
		}
		for _, u := range uses {
			for _, p := range r.DenyPaths {
				switch p.match(u) {
				case yes:
					say(Denied, "a path in it is denied by %s", p)
				case perhaps:
					say(Asked, "a path in it may be one that %s denies", p)
				}
			}
			for _, p := range r.AskPaths {
				if p.match(u) != no {
					say(Asked, "a path in it is to be asked about by %s", p)
				}
			}
		}
	}
	for _, c := range line.calls {
		texts := spellings(c)
		switch by, a := best(r.Deny, texts); a {
		case yes:
			say(Denied, "%s is denied by %s", c.name, by)
		case perhaps:
			say(Asked, "%s may be what %s denies", c.name, by)
		}
		if by, a := best(r.Ask, texts); a != no {
			say(Asked, "%s is to be asked about by %s", c.name, by)
		}
		if _, a := best(r.Allow, texts); a != yes {
			say(Unsaid, "nothing allows %s", c.name)
		}
	}
	return decision, why
}

// backslash is one that may stand between directories, and not before a sign that it takes the meaning of.
var backslash = regexp.MustCompile(`\\+([A-Za-z0-9._])`)

// usesOnWindows returns the files that a line may use if its backslashes stand between directories, as
// programs for Windows read them.
func usesOnWindows(command string) (all []use, ok bool) {
	slashed := backslash.ReplaceAllString(command, "/$1")
	if slashed == command {
		return nil, true
	}
	line, err := parse(slashed)
	if err != nil {
		return nil, true // it has no such reading
	}
	all, ok = line.uses()
	for i := range all {
		all[i].reads = min(all[i].reads, perhaps)
		all[i].writes = min(all[i].writes, perhaps)
	}
	return all, ok
}

// best returns the surest answer of patterns, and the pattern that gives it.
func best(patterns []Pattern, texts []spelling) (by Pattern, a answer) {
	for _, p := range patterns {
		for _, s := range texts {
			if m := p.match(s); m > a {
				by = p
				a = m
			}
		}
	}
	return by, a
}
