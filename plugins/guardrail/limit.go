package guardrail

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// limit is how much there may be of something.
type limit struct {
	what  countable
	max   float64
	per   string        // session, user or app
	every time.Duration // 0 for ever
}

// countable is what a limit counts.
type countable string

const (
	countRuns       countable = "runs"
	countModelCalls countable = "model_calls"
	countToolCalls  countable = "tool_calls"
	countTokens     countable = "tokens"
)

// limitID is what the id of a limit is of: it is a part of keys in the state.
var limitID = regexp.MustCompile(`^[\w.-]{1,64}$`)

// maxCount is the greatest number to which a count is exact.
const maxCount = 1 << 53

// limit reads what a limit's rule says beyond what all rules do.
func (r *reader) limit(path string, f *formRule, made *rule) {
	l := &limit{per: r.oneOf(path+".limit.per", f.Limit.Per, "session", "user", "app"), every: f.Limit.Every}
	made.limit = l
	given := 0
	for _, one := range []struct {
		what countable
		n    int
	}{{countRuns, f.Limit.Runs}, {countModelCalls, f.Limit.ModelCalls}, {countToolCalls, f.Limit.ToolCalls}, {countTokens, f.Limit.Tokens}} {
		at := fmt.Sprintf("%s.limit.%s", path, one.what)
		if !r.Has(at) {
			continue
		}
		if given++; one.n <= 0 || one.n > maxCount {
			r.bad(at, "%d is no limit: it is 1 or more; to forbid something altogether, block it with a rule without a limit", one.n)
		}
		l.what, l.max = one.what, float64(one.n)
	}
	if given != 1 {
		r.bad(path+".limit", "a limit is about one thing: runs, model_calls, tool_calls or tokens; make a rule of each")
		return
	}
	if f.Limit.Per == "" {
		r.bad(path+".limit", "say whose %s are counted together: per: session, user or app", l.what)
	}
	if r.Has(path+".limit.every") && l.every < time.Second {
		r.bad(path+".limit.every", "a window of %v is too short: it is 1s or more; leave it out for a limit that never begins anew", l.every)
	}
	if f.ID != "" && !limitID.MatchString(f.ID) {
		r.bad(path+".id", "the id of a limit is a part of what it is counted under: up to 64 letters, digits, dots, - and _")
	}
	for _, key := range []string{"detect", "tools", "judge", "window", "with"} {
		if r.Has(path + "." + key) {
			r.bad(path+"."+key, "a limit counts, and looks at no text: it has no %s; make that a rule of its own", key)
		}
	}
	if made.when != nil && made.when.text {
		r.bad(path+".when", "a limit looks at no text: when can ask about whom it is and about the state, and of tool_calls about tool")
	}
	r.limitScope(path, f, made)
	r.limitAction(path, f, made)
}

// limitScope checks where a limit is decided, and about whom.
func (r *reader) limitScope(path string, f *formRule, made *rule) {
	what := made.limit.what
	stages := map[countable][]Stage{countRuns: {Input}, countModelCalls: {Input, Prompt}, countTokens: {Input, Prompt}, countToolCalls: {ToolArgs}}[what]
	if !r.Has(path + ".stages") {
		made.stages = stages
	}
	for i, s := range made.stages {
		if !slices.Contains(stages, s) {
			r.bad(fmt.Sprintf("%s.stages[%d]", path, i), "a limit of %s is not decided at %s, but at %s; leave stages out", what, s, joined(stages))
		}
	}
	if what != countToolCalls && !made.scope.tool.empty() {
		r.bad(path+".scope.tool", "only tool_calls are of a tool")
	}
	if what == countRuns && !(made.scope.agent.empty() && made.scope.branch.empty()) {
		r.bad(path+".scope", "a run begins before any agent does: count model_calls or tokens of an agent or a branch")
	}
	if what != countToolCalls && made.untrusted {
		r.bad(path+".trust", "only tool_calls can be counted from when on the session has what is not trusted")
	}
}

func (r *reader) limitAction(path string, f *formRule, made *rule) {
	name, ok := f.Action.(string)
	words := []string{string(Block), string(Flag)}
	if made.limit.what == countToolCalls {
		words = append(words, string(Ask))
	}
	switch {
	case f.Action == nil:
		r.bad(path, "the rule has no action: %s", strings.Join(words, ", "))
	case ok && name == string(Ask) && made.limit.what != countToolCalls:
		r.bad(path+".action", "ask holds a tool's call for a human, and %s cannot wait for one; block, with a message", made.limit.what)
	case !ok || !slices.Contains(words, name):
		r.bad(path+".action", "a limit takes nothing out of a text: its action is one of %s", strings.Join(words, ", "))
	}
	made.action = Action(name)
}

func joined(stages []Stage) string {
	var words []string
	for _, s := range stages {
		words = append(words, string(s))
	}
	return strings.Join(words, " and ")
}

// says is what is told of a limit that is used up, and when there is something of it again: after free, 0 for never.
func (r *rule) says(tool string, free time.Duration) string {
	if r.message != "" {
		return r.message
	}
	l := r.limit
	what := strings.ReplaceAll(string(l.what), "_", " ")
	if l.max == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	allowed := fmt.Sprintf("the policy's rule %s allows %.0f %s per %s", r.id, l.max, what, l.per)
	if l.every > 0 {
		allowed += " in " + short(l.every)
	}
	rest := "and nothing is left"
	if free > 0 {
		rest += "; try again in " + short(free)
	}
	switch {
	case r.action == Ask:
		return fmt.Sprintf("T%s, %s. Is this call of %s to be made?", allowed[1:], strings.Replace(rest, "try again", "there is more", 1), tool)
	case l.what == countToolCalls:
		return fmt.Sprintf("not executed: %s, %s; go on without it", allowed, rest)
	case free == 0 && l.per == "session":
		rest += "; begin another session"
	}
	return fmt.Sprintf("T%s, %s.", allowed[1:], rest)
}

// short writes a duration without its zeros, rounded up to what a reader can use.
func short(d time.Duration) string {
	unit := time.Second
	if d > time.Hour {
		unit = time.Minute
	}
	if d%unit > 0 {
		d += unit - d%unit
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
