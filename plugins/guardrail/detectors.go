package guardrail

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/links"
	"github.com/plughook/plughook/yamlfile"
)

// piiUse is a rule's use of the one detector of personal data, which is made once all rules are read.
type piiUse struct {
	rule  *rule
	types []string // nil is all
}

// detect reads a rule's detectors, and returns the types that they find.
func (r *reader) detect(path string, f *formDetect, made *rule) (types []string) {
	if f.Secrets != "" {
		r.oneOf(path+".secrets", f.Secrets, "default")
		r.use(made, r.share("secrets", func() detect.Detector { return detect.Secrets() }))
		types = append(types, "SECRET")
	}
	if f.Injection != "" {
		r.oneOf(path+".injection", f.Injection, "default")
		r.use(made, r.share("injection", detect.Injection))
		types = append(types, "PROMPT_INJECTION")
	}
	if f.PII != nil {
		kinds := r.piiTypes(path+".pii", f.PII)
		// Its number is not known yet: it finds what any rule asks for.
		made.uses = append(made.uses, use{detector: -1})
		r.pii = append(r.pii, piiUse{made, kinds})
		types = append(types, kinds...)
	}
	if r.Has(path + ".urls") {
		list, err := links.New(f.URLs.Allow, f.URLs.Schemes)
		if err != nil {
			r.bad(path+".urls", "%w", err)
		} else {
			r.use(made, r.own(disallowed{list}))
		}
		types = append(types, "URL")
	}
	for _, typed := range r.byType(path+".words", "WORD", f.Words, true) {
		words, err := detect.Words(typed.kind, typed.texts)
		if err != nil {
			r.bad(typed.path, "%w", err)
			continue
		}
		r.use(made, r.own(words))
		types = append(types, typed.kind)
	}
	for _, typed := range r.byType(path+".regexp", "REGEXP", f.Regexp, false) {
		for _, source := range typed.texts {
			re, err := regexp.Compile(source)
			switch {
			case err != nil:
				r.bad(typed.path, "%w", err)
			case re.MatchString(""):
				r.bad(typed.path, "%q matches the empty text, so it is everywhere", source)
			default:
				r.use(made, r.own(lines{typed.kind, re}))
			}
		}
		types = append(types, typed.kind)
	}
	return types
}

func (r *reader) use(made *rule, detector int) {
	made.uses = append(made.uses, use{detector: detector})
}

// own adds a detector of one rule.
func (r *reader) own(d detect.Detector) int {
	r.policy.detectors = append(r.policy.detectors, d)
	return len(r.policy.detectors) - 1
}

// share returns the detector of a name, which is made once.
func (r *reader) share(name string, create func() detect.Detector) int {
	i, ok := r.shared[name]
	if !ok {
		i = r.own(create())
		r.shared[name] = i
	}
	return i
}

// piiTypes reads default, or a list of types.
func (r *reader) piiTypes(path string, value any) []string {
	all := detect.PIITypes()
	switch v := value.(type) {
	case string:
		r.oneOf(path, v, "default")
		return all
	case []any:
		var kinds []string
		for i, item := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			kind, ok := item.(string)
			if !ok || !slices.Contains(all, kind) {
				r.bad(at, "there is no type %v of personal data%s", item, yamlfile.Meant(fmt.Sprint(item), all))
				continue
			}
			kinds = append(kinds, kind)
		}
		if len(v) == 0 {
			r.bad(path, "an empty list finds nothing; say default for all types")
		}
		return kinds
	}
	r.bad(path, "pii wants default, or a list of types")
	return nil
}

// detectors makes the one detector of personal data.
func (r *reader) detectors() {
	union := map[string]bool{}
	for _, u := range r.pii {
		for _, kind := range u.types {
			union[kind] = true
		}
	}
	if len(union) == 0 {
		return
	}
	d, err := detect.PII(slices.Sorted(maps.Keys(union))...)
	if err != nil {
		r.bad("rules", "%w", err)
		return
	}
	number := r.own(d)
	for _, u := range r.pii {
		i := slices.IndexFunc(u.rule.uses, func(u use) bool { return u.detector < 0 })
		types := map[string]bool{}
		for _, kind := range u.types {
			types[kind] = true
		}
		u.rule.uses[i] = use{number, types}
	}
}

var typeForm = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

// typed is what a rule looks for of one type, and where that stands.
type typed struct {
	kind, path string
	texts      []string
}

// byType reads a text or a list of them, or such for each type; lists only where they make sense. They are in the order of
// the types' names: what a file says does not depend on the order of its keys.
func (r *reader) byType(path, kind string, value any, lists bool) (found []typed) {
	read := func(path, kind string, value any) {
		text, one := value.(string)
		list, many := value.([]any)
		switch {
		case one && !lists:
			found = append(found, typed{kind, path, []string{text}})
		case many && lists && len(list) > 0:
			made := typed{kind: kind, path: path}
			for i, item := range list {
				text, ok := item.(string)
				if !ok {
					r.bad(fmt.Sprintf("%s[%d]", path, i), "this wants a text; put it in quotes")
				}
				made.texts = append(made.texts, text)
			}
			found = append(found, made)
		case lists:
			r.bad(path, "this wants a list of words, or one for each type")
		default:
			r.bad(path, "this wants a regular expression, or one for each type")
		}
	}
	switch v := value.(type) {
	case nil:
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !typeForm.MatchString(name) {
				r.bad(path+"."+name, "a type is capital letters, digits and _, such as EMPLOYEE_ID")
			}
			if name == typeText || name == typeLength {
				r.bad(path+"."+name, "the type %s says that it is all of a text; take another name", name)
			}
			read(path+"."+name, name, v[name])
		}
	default:
		read(path, kind, value)
	}
	return found
}
