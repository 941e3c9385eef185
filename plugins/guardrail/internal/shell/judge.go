package shell

import "fmt"

// Rules say what commands may do. The zero Rules say nothing.
type Rules struct {
	Deny, Ask, Allow []Pattern
}

// A Decision is what rules say of a line, the strictest that they say of its calls.
type Decision int

// The decisions, the strictest last.
const (
	Unsaid  Decision = iota // some call is of no rule
	Allowed                 // every call is allowed
	Asked
	Denied
)

func (d Decision) String() string {
	return [...]string{"unsaid", "allowed", "asked", "denied"}[d]
}

// Judge decides on a command line, and says why. A line is denied if a call is surely denied; asked about if a call is
// perhaps denied, or is to be asked about, or something is unresolved, or the line cannot be parsed; allowed if every
// call is surely allowed. Deny counts before ask, ask before allow, whatever their order and however exact they are.
func (r Rules) Judge(command string) (Decision, string) {
	line, err := Parse(command)
	if err != nil {
		return Asked, err.Error()
	}
	decision, why := Allowed, ""
	say := func(d Decision, format string, args ...any) {
		if d > decision || decision == Allowed && d == Unsaid {
			decision, why = d, fmt.Sprintf(format, args...)
		}
	}
	for _, reason := range line.Unresolved {
		say(Asked, "%s", reason)
	}
	for _, c := range line.Calls {
		if p, a := best(r.Deny, c); a == Yes {
			say(Denied, "%s is denied by %s", c.Name, p)
		} else if a == Perhaps {
			say(Asked, "%s may be what %s denies", c.Name, p)
		}
		if p, a := best(r.Ask, c); a != No {
			say(Asked, "%s is to be asked about by %s", c.Name, p)
		}
		if _, a := best(r.Allow, c); a != Yes {
			say(Unsaid, "nothing allows %s", c.Name)
		}
	}
	if len(line.Calls) == 0 && decision == Allowed {
		return Unsaid, "no command is run"
	}
	return decision, why
}

// best returns the surest answer of patterns, and whose it is.
func best(patterns []Pattern, c Call) (by Pattern, a Answer) {
	for _, p := range patterns {
		if m := p.Match(c); m > a {
			by, a = p, m
		}
	}
	return by, a
}
