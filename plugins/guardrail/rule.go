package guardrail

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/plughook/plughook/yamlfile"
)

// rule is a rule of a policy, checked.
type rule struct {
	id, path      string // path is where it stands in the file
	message, with string
	stages        []Stage
	scope         scopeGlobs
	uses          []use
	length        int // bytes that a text may have, 0 for any
	tools         *permissions
	ask           *ask
	when          *condition
	action        Action // of what byType has not; "" if that has "*" or every type
	byType        map[string]Action
	shadow        bool
	window        string
	untrusted     bool
}

// use is a detector that a rule uses, and the types it is about; nil is all.
type use struct {
	detector int
	types    map[string]bool
}

// whole reports whether the rule has no detector of parts: it is about texts as wholes, or has a judge.
func (r *rule) whole() bool { return len(r.uses) == 0 }

// acts returns the action on a finding of a type.
func (r *rule) acts(kind string) Action {
	if a, ok := r.byType[kind]; ok {
		return a
	}
	return r.action
}

// does reports whether the rule can ask for an action.
func (r *rule) does(a Action) bool {
	return r.action == a || slices.Contains(slices.Collect(maps.Values(r.byType)), a)
}

// strictest is the strictest action it can ask for; a rule with tools says that call by call.
func (r *rule) strictest() Action {
	most := r.action
	for _, a := range r.byType {
		most = stricter(most, a)
	}
	return most
}

// rule reads one rule.
func (r *reader) rule(path string, f *formRule) {
	made := &rule{id: f.ID, path: path, message: f.Message, with: f.With, window: r.oneOf(path+".window", f.Window, "part", "turn", "session")}
	r.blanks(path, reflect.ValueOf(*f))
	if f.ID == "" {
		r.bad(path, "the rule has no id; records and refusals name it by one")
	}
	for _, other := range r.policy.rules {
		if other.id == f.ID && f.ID != "" {
			r.bad(path+".id", "another rule, at %s, has the id %q", r.At(other.path+".id"), f.ID)
		}
	}
	if made.stages = r.stages(path+".stages", f.Stages); r.Has(path+".tools") && !r.Has(path+".stages") {
		made.stages = []Stage{ToolArgs}
	}
	made.scope = scopeGlobs{r.globs(path+".scope.app", f.Scope.App), r.globs(path+".scope.user", f.Scope.User), r.globs(path+".scope.tenant", f.Scope.Tenant),
		r.globs(path+".scope.agent", f.Scope.Agent), r.globs(path+".scope.branch", f.Scope.Branch), r.globs(path+".scope.tool", f.Scope.Tool)}
	r.names(path+".scope.tool", made.scope.tool)
	if !made.scope.tenant.empty() && r.policy.tenantKey == "" {
		r.bad(path+".scope.tenant", "nobody has a tenant: say tenant_key: KEY at the top of the policy")
	}
	made.shadow = r.oneOf(path+".mode", f.Mode, "enforce", "shadow") == "shadow"
	made.untrusted = r.oneOf(path+".trust", f.Trust, "any", "untrusted") == "untrusted"
	r.policy.taints = r.policy.taints || made.untrusted
	made.when = r.condition(path+".when", f.When)
	if r.Has(path + ".limit") {
		r.bad(path+".limit", "a policy has no limits: count with the plugin budget, which is a plugin of its own in plugins: of the configuration")
		r.policy.rules = append(r.policy.rules, made) // tests may name it
		return
	}
	if made.length = f.Detect.Length.Bytes; f.Detect.Length.Tokens > 0 && (made.length == 0 || 4*f.Detect.Length.Tokens < made.length) {
		made.length = 4 * f.Detect.Length.Tokens
	}
	if r.Has(path+".detect.length") && made.length <= 0 || f.Detect.Length.Bytes <= 0 && r.Has(path+".detect.length.bytes") || f.Detect.Length.Tokens <= 0 && r.Has(path+".detect.length.tokens") {
		r.bad(path+".detect.length", "a length is more than 0, in bytes or tokens")
	}
	errs := len(r.errs)
	types := r.detect(path+".detect", &f.Detect, made)
	r.unread = len(r.errs) > errs
	if made.length > 0 && !made.whole() {
		r.bad(path+".detect.length", "a length is about the whole text, and other detectors about parts of it; make it a rule of its own")
	}
	made.ask = r.judge(path+".judge", &f.Judge)
	if made.tools = r.tools(path+".tools", &f.Tools); made.tools == nil {
		r.actions(path, f, made, types)
	} else if f.Action != nil || r.Has(path+".detect") || !slices.Equal(made.stages, []Stage{ToolArgs}) {
		r.bad(path+".tools", "tools says what becomes of calls: it has no action and no detect beside it, and its stages are [tool_args]")
	}
	r.judged(path, f, made)
	r.policy.rules = append(r.policy.rules, made)
}

func (r *reader) stages(path string, names []string) (list []Stage) {
	var words []string
	for _, s := range Stages() {
		words = append(words, string(s))
	}
	for i, name := range names {
		s := Stage(r.oneOf(fmt.Sprintf("%s[%d]", path, i), name, words...))
		if name == "" || slices.Contains(list, s) {
			r.bad(fmt.Sprintf("%s[%d]", path, i), "stage %q is empty or there twice", name)
		}
		list = append(list, s)
	}
	if len(names) == 0 {
		if r.Has(path) {
			r.bad(path, "no stages: the rule could never decide anything; leave the key out for all of them")
		}
		return slices.DeleteFunc(Stages(), func(s Stage) bool { return s == Prompt })
	}
	return list
}

// actions reads what the rule does; types are those that its detectors find.
func (r *reader) actions(path string, f *formRule, made *rule, types []string) {
	one := func(at string, value any) Action {
		name, ok := value.(string)
		if !ok {
			r.bad(at, "this wants an action, or one for each type")
			return Allow
		}
		var words []string
		for _, a := range actions {
			words = append(words, string(a))
		}
		a := Action(r.oneOf(at, name, words...))
		r.action(at, a, f, made)
		return a
	}
	at := path + ".action"
	switch v := f.Action.(type) {
	case nil:
		r.bad(path, "the rule has no action")
	case map[string]any:
		made.byType = map[string]Action{}
		for _, kind := range slices.Sorted(maps.Keys(v)) {
			a := one(at+"."+kind, v[kind])
			switch {
			case kind == "*":
				made.action = a
			case !r.unread && !slices.Contains(types, kind) && !(made.ask != nil && typeForm.MatchString(kind)): // who knows what a service finds
				r.bad(at+"."+kind, "the rule finds no %q%s", kind, yamlfile.Meant(kind, types))
			default:
				made.byType[kind] = a
			}
		}
		if _, rest := v["*"]; !rest {
			made.action = Allow
		}
	default:
		made.action = one(at, v)
	}
	if made.strictest() == Allow {
		r.bad(at, "allow is what happens anyway: the strictest rule decides, and so this one never does")
	}
	if f.With != "" && !made.does(Replace) {
		r.bad(path+".with", "with is what replace puts in; the rule does not replace")
	}
}

// action checks one action of a rule.
func (r *reader) action(at string, a Action, f *formRule, made *rule) {
	switch {
	case a.edits() && made.whole() && made.ask == nil && !r.unread:
		r.bad(at, "%s takes out what a detector has found, and the rule has none that finds parts; block, ask or flag, or give it detect:", a)
	case a == Replace && f.With == "":
		r.bad(at, "replace needs with: TEXT")
	case a == Ask && !slices.Equal(made.stages, []Stage{ToolArgs}):
		r.bad(at, "ask holds a tool's call for a human; a text cannot wait for one. Say stages: [tool_args], or block with a message")
	}
}
