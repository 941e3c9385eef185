package plugin

import "time"

// About is what a plugin tells about itself, for programs that show it to people. Nothing is decided by it.
type About struct {
	// Policy is the policy that the plugin holds runs to; nil if it has none.
	Policy *Policy
	// Uses returns what is used of the plugin's limits by a session with that state; nil if it has none.
	Uses func(state map[string]any) []Use
}

// A Policy is a list of rules that are in force.
type Policy struct {
	Name, Revision, Release string
	Rules                   []Rule
	// Stages are the places in a run where texts are judged.
	Stages []string
	// Try says what the policy would make of a text at a stage. It keeps nothing and asks nobody.
	Try func(stage, text string) Trial
}

// A Rule is one of a policy.
type Rule struct {
	ID     string
	Stages []string
	// Action is the strictest that the rule may take. Shadow says that it only notes what it would do.
	Action string
	Shadow bool
}

// A Trial is what a policy would make of a text.
type Trial struct {
	// Action is what becomes of it, "" if nothing does; Rule decides that, and says Message.
	Action, Rule, Message string
	// Text is the text as it may pass.
	Text     string
	Findings []Finding
	// Silent says of rules why they do not judge it.
	Silent map[string]string
	Err    error
}

// A Finding is a part of a text, from a byte to a byte, on which a rule acts.
type Finding struct {
	Rule, Type, Action string
	Start, End         int
}

// A Use is what is used of a limit.
type Use struct {
	// Limit is its name, and Words say what it counts, such as "20000 tokens per user until 00:00 UTC".
	Limit, Words string
	Used         float64
	Max          int
	// Frees is when something is free again; zero if that is never, or nothing is used.
	Frees time.Time
}
