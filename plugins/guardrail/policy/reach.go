package policy

import "slices"

// reachable refuses rules that can never have an effect.
func (r *reader) reachable() {
	for _, idle := range r.policy.rules {
		r.File = idle.file
		r.applies(idle)
	}
	for i, weak := range r.policy.rules {
		for k, strong := range r.policy.rules {
			if k != i && strong.covers(weak, k < i) {
				r.File = weak.file
				r.bad(weak.path, "the rule %q never has an effect: the rule %q, at %s, finds everything that it finds and is at least as strict", weak.id, strong.id, strong.at(weak.file, ""))
				break
			}
		}
	}
}

// applies refuses what of a rule can never come true, and a message that nobody is told.
func (r *reader) applies(made *rule) {
	tools := slices.ContainsFunc(made.stages,
		func(s Stage) bool { return s == ToolArgs || s == ToolResult || s == Prompt })
	input := !slices.ContainsFunc(made.stages, func(s Stage) bool { return s != Input })
	switch {
	case !made.scope.tool.Empty() && !tools:
		r.bad(made.path+".scope.tool", "the rule can never apply: only texts at the stages tool_args, tool_result and prompt belong to a tool")
	case input && made.untrusted:
		r.bad(made.path+".trust", "the rule can never apply: the input is always trusted; leave trust out, or add later stages")
	case input && !made.scope.agent.Match(""):
		r.bad(made.path+".scope.agent", "the rule can never apply: the input belongs to no agent; leave agent out, or add later stages")
	case made.message != "" && made.tools == nil && !made.does(Block) && !made.does(Ask):
		r.bad(made.path+".message", "the message is never shown: only block and ask show one; leave message out")
	}
}

// covers reports whether a rule always decides in another's place. It says no where it cannot tell.
// Of two rules that do the same, the first covers the second.
func (r *rule) covers(weak *rule, first bool) bool {
	// It has to see all that the other sees.
	if !r.scope.empty() || r.when != nil || r.from != nil || r.allow != nil || r.score > weak.score || r.untrusted || r.shadow != weak.shadow ||
		r.window != weak.window {
		return false
	}
	for _, s := range weak.stages {
		if !slices.Contains(r.stages, s) {
			return false
		}
	}

	// It has to find all that the other finds.
	undecidable := r.tools != nil || weak.tools != nil || r.judge != nil || weak.judge != nil
	if undecidable || r.length != weak.length || weak.whole() != r.whole() {
		return false
	}
	for _, u := range weak.uses {
		same := func(mine use) bool {
			sees := mine.detector == u.detector || mine.pii && u.pii
			return sees && contains(mine.types, u.types)
		}
		if !slices.ContainsFunc(r.uses, same) {
			return false
		}
	}

	// It has to be as strict, whatever it finds.
	mildest := r.action
	for _, a := range r.byType {
		if mildest.StricterThan(a) {
			mildest = a
		}
	}
	theirs := weak.strictest()
	if theirs.StricterThan(mildest) || mildest == theirs && !first {
		return false
	}
	return mildest != Allow
}

// contains reports whether a set of types has all types of another set; nil is the set of all types.
func contains(set, other map[string]bool) bool {
	if set == nil {
		return true
	}
	for kind := range other {
		if !set[kind] {
			return false
		}
	}
	return other != nil
}
