package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/form"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/glob"
	"github.com/plughook/plughook/yamlfile"
)

// A Seen is what a session has had before: what a tool has answered, or what a rule has found.
type Seen struct {
	Tool  string // whose answer it is, or was found in; "" for what was found elsewhere
	Rule  string // that has found it; "" for the answer as such
	Type  string // of what was found
	Event string // the id of the event
	Turn  string // the id of the run
}

// String says where it came from, for whoever is told that something is blocked.
func (s Seen) String() string {
	of := "a text"
	if s.Tool != "" {
		of = "an answer of " + s.Tool
	}
	if s.Rule != "" {
		of = "what the rule " + s.Rule + " found in " + of
	}
	return fmt.Sprintf("It comes after %s (event %s).", of, s.Event)
}

// source is what a flow comes from: the key from of a rule.
type source struct {
	tool  glob.List
	found []string // rules or types; empty for answers as such
	turn  bool     // only in this run
}

// in returns the first of what the session has had that is of the source.
func (f *source) in(s *Scope) (Seen, bool) {
	i := slices.IndexFunc(s.Seen, func(seen Seen) bool {
		switch {
		case f.turn && seen.Turn != s.Turn:
			return false
		case !f.tool.Empty() && (seen.Tool == "" || !f.tool.Match(seen.Tool)):
			return false
		case len(f.found) == 0:
			return seen.Rule == ""
		}
		return slices.ContainsFunc(f.found, seen.is)
	})
	if i < 0 {
		return Seen{}, false
	}
	return s.Seen[i], true
}

// is reports whether something was found by a rule of this name, or is of a type of this name.
func (s Seen) is(name string) bool { return s.Rule != "" && (s.Rule == name || s.Type == name) }

// Flows reports whether it has to be noted what tools have answered, and what was found: a rule has from, or its
// condition asks for it.
func (p *Policy) Flows() bool { return p.flows }

// Sources are the names of rules and types that the policy asks about in what a session has had before.
func (p *Policy) Sources() []string {
	var names []string
	for _, s := range p.sources {
		names = append(names, s.name)
	}
	return names
}

// sourceName is the name of a rule or a type, and where it stands.
type sourceName struct{ name, at string }

// history is what conditions know of what was before: session and turn.
type history struct {
	Flagged func(name string) bool `expr:"flagged"`
}

// histories returns what conditions can ask about the session and the turn. What they ask for and is there, is
// kept: a finding says from where it came.
func (a *Active) histories() (session, turn history) {
	ask := func(turn bool) history {
		return history{Flagged: func(name string) bool {
			s, ok := (&source{found: []string{name}, turn: turn}).in(a.scope)
			if ok {
				a.asked = &s
			}
			return ok
		}}
	}
	return ask(false), ask(true)
}

// from returns the finding of a rule with where it came from.
func (a *Active) from(f Finding, r *rule) Finding {
	switch {
	case r.from != nil:
		if s, ok := r.from.in(a.scope); ok {
			f.From = s.Event
			f.origin = s.String()
		}
	case r.when != nil && r.when.history && a.asked != nil:
		f.From = a.asked.Event
		f.origin = a.asked.String()
	}
	return f
}

// flow reads where a rule's data come from and go to. What it goes to stands for stages, and for a scope or a
// detector. It returns the types that are found.
func (r *reader) flow(path string, f *form.Rule, made *rule) (types []string) {
	from := path + ".from"
	to := path + ".to"
	switch {
	case r.Has(to) && !r.Has(from):
		r.bad(to, "to: says where data go that come from:; write from:, or stages:, scope: and detect:")
	case r.Has(from):
		made.from = &source{
			tool: r.globs(from+".tool", f.From.Tool),
			turn: r.oneOf(from+".within", f.From.Within, "session", "turn") == "turn",
		}
		r.policy.flows = true
		r.nameTools(from+".tool", made.from.tool.Patterns()...)
		for i, name := range f.From.Found {
			made.from.found = append(made.from.found, name)
			r.source(fmt.Sprintf("%s.found[%d]", from, i), name)
		}
		if made.from.tool.Empty() && len(made.from.found) == 0 {
			r.bad(from, "from: names no source; write tool: and the names of tools, found: and rules or types, or both")
		}
	}
	if !r.Has(to) {
		return nil
	}
	var kinds []string
	for _, key := range []string{"tool", "links", "answer"} {
		if r.Has(to + "." + key) {
			kinds = append(kinds, key)
		}
	}
	if len(kinds) != 1 || kinds[0] == "answer" && !f.To.Answer {
		r.bad(to, "to: is one of tool: NAMES, links: {allow: [HOSTS]} and answer: true")
		return nil
	}
	for key, why := range map[string]string{"stages": "", "scope.tool": "tool", "detect.urls": "links", "tools": ""} {
		if r.Has(path+"."+key) && (why == "" || why == kinds[0]) {
			r.bad(path+"."+key, "to: stands for %s; leave out one of them", key)
		}
	}
	made.stages = []Stage{Output}
	switch kinds[0] {
	case "tool":
		made.stages = []Stage{ToolArgs}
		made.scope.tool = r.globs(to+".tool", f.To.Tool)
		r.nameTools(to+".tool", made.scope.tool.Patterns()...)
	case "links":
		types = r.urls(to+".links", &f.To.Links, made)
	}
	return types
}

// source notes the name of a rule or a type that the policy asks about.
func (r *reader) source(path, name string) {
	r.policy.sources = append(r.policy.sources, sourceName{name: name, at: r.Name() + ":" + r.At(path)})
}

// checkSources refuses names of sources that are of no rule and no type.
func (r *reader) checkSources() {
	var ids []string
	for _, made := range r.policy.rules {
		ids = append(ids, made.id)
	}
	for _, s := range r.policy.sources {
		if !slices.Contains(ids, s.name) && !judging.TypeForm.MatchString(s.name) {
			r.badText(listed{at: s.at}, "no rule has the id %q%s; a type of finding is in capital letters", s.name,
				strings.TrimSuffix(yamlfile.Meant(s.name, ids), "?"))
		}
	}
}
