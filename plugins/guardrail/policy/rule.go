package policy

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/form"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/glob"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/permission"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/yamlfile"
)

// rule is a rule of a policy, checked.
type rule struct {
	id        string
	file      *yamlfile.File
	path      string // where it stands in the file
	message   string
	severity  string
	tags      []string
	with      string
	stages    []Stage
	scope     scope
	uses      []use
	length    int // the most bytes that a text may have, 0 for any
	tools     *permission.Lists
	judge     *judging.Judge // without the fields that depend on the policy
	when      *condition
	from      *source     // what data have to come from; nil for any
	allow     *exceptions // which findings pass; nil for none
	score     float64     // the least of a finding
	action    Action      // on types that byType has not; "" if that has "*" or every type
	byType    map[string]Action
	ask       session.Approver // who is asked
	shadow    bool
	window    string
	untrusted bool // it is only about what is not trusted
}

// severities are the values of a rule's severity.
var severities = []string{"low", "medium", "high", "critical"}

// at says where a key of the rule stands, with the file's name if that is another file.
func (r *rule) at(from *yamlfile.File, key string) string {
	place := r.file.At(r.path + key)
	if r.file != from {
		return r.file.Name() + ":" + place
	}
	return place
}

// use is a rule's use of a detector, for the types that it is about; nil is all of them.
type use struct {
	detector int
	types    map[string]bool
	pii      bool // it is a detector of personal data
}

// whole reports whether the rule is about whole texts, or has a judge: it has no detector that
// finds parts.
func (r *rule) whole() bool { return len(r.uses) == 0 }

// aboutFiles reports whether the rule is about files: its condition asks about them.
func (r *rule) aboutFiles() bool { return r.when != nil && r.when.files }

// actionOn returns the action on a finding of a type.
func (r *rule) actionOn(kind string) Action {
	if a, ok := r.byType[kind]; ok {
		return a
	}
	return r.action
}

// does reports whether the rule can ask for an action.
func (r *rule) does(a Action) bool {
	return r.action == a || slices.Contains(slices.Collect(maps.Values(r.byType)), a)
}

// strictest is the strictest action that the rule can ask for; of a rule with tools, which decides
// call by call, it is none.
func (r *rule) strictest() Action {
	most := r.action
	for _, a := range r.byType {
		most = stricter(most, a)
	}
	return most
}

// scope says whose texts a rule is about.
type scope struct{ app, user, tenant, agent, branch, tool glob.List }

func (g *scope) match(s *Scope, tenant string) bool {
	return g.app.Match(s.App) && g.user.Match(s.User) && g.tenant.Match(tenant) &&
		g.agent.Match(s.Agent) &&
		g.branch.Match(s.Branch) && g.tool.Match(s.Tool)
}

// mismatch says what the first thing is that does not match.
func (g *scope) mismatch(s *Scope, tenant string) string {
	for _, is := range []struct {
		what, name string
		list       glob.List
	}{
		{what: "app", name: s.App, list: g.app},
		{what: "user", name: s.User, list: g.user},
		{what: "tenant", name: tenant, list: g.tenant},
		{what: "agent", name: s.Agent, list: g.agent},
		{what: "branch", name: s.Branch, list: g.branch},
	} {
		if !is.list.Match(is.name) {
			return "it is about another " + is.what + ": " + is.list.String()
		}
	}
	return "it is about another tool: " + g.tool.String()
}

func (g *scope) empty() bool {
	return g.app.Empty() && g.user.Empty() && g.tenant.Empty() && g.agent.Empty() &&
		g.branch.Empty() && g.tool.Empty()
}

// rule reads one rule.
func (r *reader) rule(path string, f *form.Rule) {
	made := &rule{
		id:      f.ID,
		file:    r.File,
		path:    path,
		message: f.Message,
		with:    f.With,
		tags:    f.Tags,
		window:  r.oneOf(path+".window", f.Window, windows...),
	}
	r.refuseBlanks(path, reflect.ValueOf(*f))

	if f.Severity != "" {
		made.severity = r.oneOf(path+".severity", f.Severity, severities...)
	}

	// Its name.
	if f.ID == "" {
		r.bad(path, "the rule has no id; records and messages name a rule by its id")
	}
	for _, other := range r.policy.rules {
		if other.id == f.ID && f.ID != "" {
			r.bad(path+".id", "another rule, at %s, has the id %q", other.at(r.File, ".id"), f.ID)
		}
	}

	// Which texts it is about.
	made.stages = r.stages(path+".stages", f.Stages)
	if r.Has(path+".tools") && !r.Has(path+".stages") {
		made.stages = []Stage{ToolArgs}
	}
	made.scope = scope{
		app:    r.globs(path+".scope.app", f.Scope.App),
		user:   r.globs(path+".scope.user", f.Scope.User),
		tenant: r.globs(path+".scope.tenant", f.Scope.Tenant),
		agent:  r.globs(path+".scope.agent", f.Scope.Agent),
		branch: r.globs(path+".scope.branch", f.Scope.Branch),
		tool:   r.globs(path+".scope.tool", f.Scope.Tool),
	}
	r.nameTools(path+".scope.tool", made.scope.tool.Patterns()...)
	if !made.scope.tenant.Empty() && r.policy.tenantKey == "" {
		r.bad(path+".scope.tenant", "the policy does not say what a tenant is; write tenant_key: KEY at its top")
	}
	made.shadow = r.oneOf(path+".mode", f.Mode, "enforce", "shadow") == "shadow"
	made.ask = r.approver(path+".ask", f.Ask, r.policy.ask)
	made.untrusted = r.oneOf(path+".trust", f.Trust, "any", "untrusted") == "untrusted"
	if made.untrusted {
		r.policy.taints = true
	}
	made.when = r.condition(path+".when", f.When)

	// What it looks for in them.
	made.length = r.length(path+".detect.length", &f.Detect.Length)
	errs := len(r.errs)
	types := append(r.detect(path+".detect", &f.Detect, made), r.flow(path, f, made)...)
	r.unread = len(r.errs) > errs
	if made.length > 0 && !made.whole() {
		r.bad(path+".detect.length", "length: is about the whole text, and other detectors are about parts of it; move it to a rule of its own")
	}
	made.judge = r.judge(path+".judge", &f.Judge)
	made.tools = r.permissions(path+".tools", &f.Tools)

	if made.aboutFiles() && (r.Has(path+".detect") || r.Has(path+".judge") || r.Has(path+".tools")) {
		r.bad(path+".when", "a rule whose condition asks about files is about files alone; leave out detect:, judge: and tools:")
	}

	if made.aboutFiles() && slices.Equal(made.stages, []Stage{ToolArgs}) {
		r.bad(path+".when", "calls have no files, so the rule would never have an effect: what a caller says, an agent says or a tool answers has some")
	}

	// What of it passes.
	made.allow = r.exceptions(path+".allow", &f.Allow, nil)
	made.score = f.Score
	for _, key := range []string{"allow", "min_score"} {
		if r.Has(path+"."+key) && made.whole() && !r.unread {
			r.bad(path+"."+key, "%s: is about what detectors find, and the rule has no detector that finds parts of a text", key)
		}
	}
	if r.Has(path+".min_score") && !(f.Score > 0 && f.Score <= 1) {
		r.bad(path+".min_score", "min_score is %v; it must be above 0 and at most 1", f.Score)
	}

	// What it does.
	if made.tools == nil {
		r.actions(path, f, made, types)
	} else if f.Action != nil || r.Has(path+".detect") ||
		!slices.Equal(made.stages, []Stage{ToolArgs}) {
		r.bad(path+".tools", "a rule with tools: must not have action: or detect:, and its stages must be [tool_args]")
	}
	asks := made.does(Ask) || made.tools != nil && (len(made.tools.Ask) > 0 || made.tools.Other == permission.Ask)
	if r.Has(path+".ask") && !asks {
		r.bad(path+".ask", "the rule asks nobody; add the action ask, or tools: with ask:")
	}
	r.judgeFits(path, made)
	r.policy.rules = append(r.policy.rules, made)
}

// approver returns who is asked.
func (r *reader) approver(path string, a, otherwise session.Approver) session.Approver {
	if !r.Has(path) {
		return cmp.Or(otherwise, session.Approver{By: session.UserRole})
	}
	if err := a.Check(); err != nil {
		r.bad(path, "%w", err)
	}
	return a
}

// length returns the most bytes that a text may have, 0 for any.
func (r *reader) length(path string, f *form.Length) int {
	most := f.Bytes
	if f.Tokens > 0 && (most == 0 || 4*f.Tokens < most) {
		most = 4 * f.Tokens
	}
	nothing := r.Has(path) && most <= 0
	if nothing || f.Bytes <= 0 && r.Has(path+".bytes") || f.Tokens <= 0 && r.Has(path+".tokens") {
		r.bad(path, "a length must be more than 0, in bytes or tokens")
	}
	return most
}

func (r *reader) stages(path string, names []string) []Stage {
	var list []Stage
	for i, name := range names {
		at := fmt.Sprintf("%s[%d]", path, i)
		s := Stage(r.oneOf(at, name, stringsOf(Stages())...))
		if name == "" || slices.Contains(list, s) {
			r.bad(at, "stage %q is empty or there twice", name)
		}
		list = append(list, s)
	}
	if len(names) > 0 {
		return list
	}
	if r.Has(path) {
		r.bad(path, "the list of stages is empty, so the rule could never apply; leave the key out for all stages")
	}
	return slices.DeleteFunc(Stages(), func(s Stage) bool { return s == Prompt })
}

// permissions reads a rule's permissions; nil if it has none.
func (r *reader) permissions(at string, f *form.Tools) *permission.Lists {
	if !r.Has(at) {
		return nil
	}
	p := &permission.Lists{CommandTools: r.policy.commands}
	for _, list := range []struct {
		name  string
		words []string
		into  *[]permission.Permission
	}{
		{name: "deny", words: f.Deny, into: &p.Deny},
		{name: "ask", words: f.Ask, into: &p.Ask},
		{name: "approve", words: f.Approve, into: &p.Approve},
		{name: "allow", words: f.Allow, into: &p.Allow},
	} {
		for i, word := range r.expand(at+"."+list.name, list.words) {
			at := fmt.Sprintf("%s.%s[%d]", at, list.name, i)
			made, err := permission.Parse(word, r.policy.commands)
			if made.Tool != "" && !made.OfAnyTool() {
				r.nameTools(at, made.Tool)
			}
			if err == nil && made.OfPaths() && (list.name == "allow" || list.name == "approve") {
				r.bad(at, "reads(…) and writes(…) are for deny and ask: which commands are allowed is said by their names")
			}
			if err != nil {
				r.bad(at, "%w", err)
				continue
			}
			*list.into = append(*list.into, made)
		}
	}
	other := Action(r.oneOf(at+".other", f.Other, string(Allow), string(Ask), string(Block)))
	for decision, action := range decisions {
		if action == other {
			p.Other = decision
		}
	}
	if len(f.Deny)+len(f.Ask)+len(f.Approve) == 0 && p.Other == permission.Allow {
		r.bad(at, "the rule denies nothing and asks about nothing; add deny:, ask:, approve: or other:")
	}
	return p
}

// actions reads what the rule does; types are those that its detectors find.
func (r *reader) actions(path string, f *form.Rule, made *rule, types []string) {
	one := func(at string, value any) Action {
		name, ok := value.(string)
		if !ok {
			r.bad(at, "this must be an action, or an object with an action for each type")
			return Allow
		}
		a := Action(r.oneOf(at, name, stringsOf(ruleActions())...))
		r.actionFits(at, a, f, made)
		return a
	}
	at := path + ".action"
	switch v := f.Action.(type) {
	case nil:
		r.bad(path, "the rule has no action")
	case map[string]any:
		made.byType = map[string]Action{}
		made.action = Allow
		for _, kind := range slices.Sorted(maps.Keys(v)) {
			a := one(at+"."+kind, v[kind])
			// Nobody knows which types a service finds.
			known := r.unread || slices.Contains(types, kind) || made.judge != nil && judging.TypeForm.MatchString(kind)
			switch {
			case kind == "*":
				made.action = a
			case !known:
				r.bad(at+"."+kind, "the rule never finds the type %q%s", kind, yamlfile.Meant(kind, types))
			default:
				made.byType[kind] = a
			}
		}
	default:
		made.action = one(at, v)
	}
	if made.strictest() == Allow {
		r.bad(at, "a rule that only allows never has an effect, since the strictest rule decides")
	}
	if f.With != "" && !made.does(Replace) {
		r.bad(path+".with", "with: is for the action replace only, which the rule does not have")
	}
}

// actionFits checks one action of a rule against the rest of the rule.
func (r *reader) actionFits(at string, a Action, f *form.Rule, made *rule) {
	switch {
	case a.edits() && made.whole() && made.judge == nil && !r.unread:
		r.bad(at, "%s takes out what a detector has found, and the rule has no detector that finds parts of a text; use block, ask or flag, or add detect:", a)
	case a == Replace && f.With == "":
		r.bad(at, "replace needs with: TEXT")
	case a == Ask && !slices.Equal(made.stages, []Stage{ToolArgs}):
		r.bad(at, "only a tool's call can be held until a human answers; write stages: [tool_args], or use block with a message")
	}
}
