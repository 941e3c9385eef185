// Package shell says which commands a bash command line could run, and decides about them by rules
// such as "never rm, ask before git push". The spelling does not count: r\m, "rm", /bin/rm, sudo
// rm, sh -c 'rm x' and find -exec rm are all rm.
//
//	rules := shell.Rules{Deny: ..., Ask: ..., Allow: ...} // Patterns, see Compile
//	decision, why := rules.Judge("ls | xargs rm")
//
// Every command in a line counts, wherever it stands: in pipes, lists, loops, functions, command
// substitutions and here-documents, and behind commands that run others. What is known about those,
// and about options that run a program or write a file, is in programs.txt. A file that the line
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
//
// What a line does (reads, writes, talks to the net, runs other code) is said by EffectsOf and the rules
// about effects. What is known about that is in effects.txt. A program that is not in it is unknown, whatever
// its name is.
//
// To have more known about a program, add a row to programs.txt or effects.txt, whose first lines say how. A
// new role of a word is one more constant in programs.go and one more case of reading.word in command.go.
package shell

import "fmt"

// Rules say what commands may do. The zero Rules say nothing.
type Rules struct {
	Deny  []Pattern
	Ask   []Pattern
	Allow []Pattern
	// Approve is like Allow, and says besides that nobody need be asked about the commands.
	Approve []Pattern
	// Commands with one of these effects, or perhaps with one, are denied, or to be asked about.
	DenyEffects, AskEffects Effects
	// Commands whose effects are all in one of these sets are allowed, or approved.
	AllowEffects, ApproveEffects []Effects
	// DenyPaths and AskPaths are about the files that commands may read or write.
	DenyPaths []Path
	AskPaths  []Path
}

// A Decision is what rules say about a line: the strictest that they say about its commands.
type Decision int

// The decisions, the strictest last.
const (
	Unsaid   Decision = iota // no rule is about some command of the line
	Approved                 // every command is approved
	Allowed                  // every command is allowed
	Asked
	Denied
)

func (d Decision) String() string {
	return [...]string{"unsaid", "approved", "allowed", "asked", "denied"}[d]
}

// Judge decides about a command line, and says why. The line is denied if a command in it is surely
// denied. It is asked about if a command is perhaps denied, or is to be asked about, or something
// is unresolved, or the line cannot be parsed, or it is too long. It is allowed, or approved, if every
// command surely is. Deny counts before ask, and ask before allow, whatever the order of the patterns
// and however exact they are.
func (r Rules) Judge(command string) (Decision, string) {
	l, err := read(command)
	if err != nil {
		return Asked, err.Error()
	}
	v := judgment{decision: Allowed}
	if len(l.commands) == 0 && len(l.reasons) == 0 {
		v = judgment{decision: Unsaid, why: "no command is run"}
	}
	for _, reason := range l.reasons {
		v.say(Asked, "%s", reason)
	}
	if len(r.DenyPaths)+len(r.AskPaths) > 0 {
		r.judgeFiles(l, command, &v)
	}
	approved := len(l.commands) > 0
	for _, c := range l.commands {
		effects := effectsOf(c)
		spellings := spellingsOf(c)
		switch pattern, match := best(r.Deny, spellings); match {
		case yes:
			v.say(Denied, "%s is denied by %s", c.name, pattern)
		case perhaps:
			v.say(Asked, "%s may be what %s denies", c.name, pattern)
		}
		switch effects.are(r.DenyEffects) {
		case yes:
			v.say(Denied, "%s is denied by effects(%s)", c.name, r.DenyEffects)
		case perhaps:
			v.say(Asked, "%s may do what effects(%s) denies", c.name, r.DenyEffects)
		}
		if effects.are(r.AskEffects) != no {
			v.say(Asked, "%s is to be asked about by effects(%s)", c.name, r.AskEffects)
		}
		if pattern, match := best(r.Ask, spellings); match != no {
			v.say(Asked, "%s is to be asked about by %s", c.name, pattern)
		}
		_, match := best(r.Approve, spellings)
		if match == yes || effects.within(r.ApproveEffects) {
			continue
		}
		approved = false
		if _, match := best(r.Allow, spellings); match != yes && !effects.within(r.AllowEffects) {
			v.say(Unsaid, "nothing allows %s", c.name)
		}
	}
	if approved && v.decision == Allowed {
		return Approved, "each of its commands is approved"
	}
	return v.decision, v.why
}

// judgeFiles decides about the files that a line may use.
func (r Rules) judgeFiles(l *reading, command string, v *judgment) {
	files, ok := l.files()
	if !ok {
		v.say(Asked, "the files that the command names are too many to be checked: split it")
	}
	for _, u := range append(files, onWindows(command)...) {
		for _, p := range r.DenyPaths {
			switch p.match(u) {
			case yes:
				v.say(Denied, "a path in it is denied by %s", p)
			case perhaps:
				v.say(Asked, "a path in it may be one that %s denies", p)
			}
		}
		for _, p := range r.AskPaths {
			if p.match(u) != no {
				v.say(Asked, "a path in it is to be asked about by %s", p)
			}
		}
	}
}

// A judgment is what is decided so far, and why.
type judgment struct {
	decision Decision
	why      string
}

// say takes in a decision, which counts if it is the strictest so far. What is not said of one command
// counts before what is allowed of others.
func (v *judgment) say(d Decision, format string, args ...any) {
	if d > v.decision || v.decision == Allowed && d == Unsaid {
		v.decision = d
		v.why = fmt.Sprintf(format, args...)
	}
}

// best returns the pattern that matches the most surely.
func best(patterns []Pattern, spellings []spelling) (surest Pattern, match certainty) {
	for _, p := range patterns {
		for _, s := range spellings {
			if m := p.match(s); m > match {
				surest = p
				match = m
			}
		}
	}
	return surest, match
}
