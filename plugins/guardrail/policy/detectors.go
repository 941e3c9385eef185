package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/form"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/links"
	"github.com/plughook/plughook/yamlfile"
)

// unmade is the number of a detector that is not made yet.
const unmade = -1

// piiUse is a rule's use of the detector of personal data.
type piiUse struct {
	rule  *rule
	types []string // nil is all
}

// detect reads a rule's detectors, and returns the types that they find.
func (r *reader) detect(path string, f *form.Detect, made *rule) (types []string) {
	if f.Secrets != nil {
		r.use(made, r.secrets(path+".secrets", f.Secrets))
		types = append(types, "SECRET")
	}
	if f.Injection != "" {
		r.oneOf(path+".injection", f.Injection, "default")
		r.use(made, r.share("injection", detect.Injection))
		types = append(types, "PROMPT_INJECTION")
	}
	if f.PII != nil {
		kinds := r.piiTypes(path+".pii", f.PII)
		// The detector is made once all rules are read, so its number is not known yet.
		made.uses = append(made.uses, use{detector: unmade})
		r.pii = append(r.pii, piiUse{rule: made, types: kinds})
		types = append(types, kinds...)
	}
	types = append(types, r.urls(path+".urls", &f.URLs, made)...)
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
				r.bad(typed.path, "%q matches the empty text, so it would match everywhere", source)
			default:
				r.use(made, r.own(lines{kind: typed.kind, re: re}))
			}
		}
		types = append(types, typed.kind)
	}
	return types
}

// secrets returns the number of the detector of secrets: default, or {level: strict}.
func (r *reader) secrets(path string, value any) int {
	level, _ := value.(string)
	if v, ok := value.(map[string]any); ok && len(v) == 1 {
		path += ".level"
		level, _ = v["level"].(string)
	}
	switch level {
	case "strict":
		return r.share("strict secrets", detect.StrictSecrets)
	case "default":
	default:
		r.bad(path, "secrets must be default, or {level: strict}, which takes words for passwords, too")
	}
	return r.share("secrets", detect.Secrets)
}

// urls reads which links are allowed, and returns the type of others.
func (r *reader) urls(path string, f *form.URLs, made *rule) (types []string) {
	if !r.Has(path) {
		return nil
	}
	list, err := links.New(r.expand(path+".allow", f.Allow), f.Schemes)
	if err != nil {
		r.bad(path, "%w", err)
	} else {
		r.use(made, r.own(disallowed{list: list}))
	}
	return []string{"URL"}
}

func (r *reader) use(made *rule, detector int) {
	made.uses = append(made.uses, use{detector: detector})
}

// own adds a detector and returns its number.
func (r *reader) own(d detect.Detector) int {
	r.policy.detectors = append(r.policy.detectors, d)
	return len(r.policy.detectors) - 1
}

// share returns the number of the detector of a name, which is made once.
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
		if slices.Contains(all, v) {
			r.bad(path, "one type is a list, too: write [%s]", v)
			return []string{v}
		}
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
	r.bad(path, "pii must be default or a list of types")
	return nil
}

// piiDetectors makes the detectors of personal data. Rules about the same types share one. A detector
// knows only the types of its rules: a value that fits one of them is found, whatever else it could be.
func (r *reader) piiDetectors() {
	for _, u := range r.pii {
		types := map[string]bool{}
		for _, kind := range u.types {
			// Types without an action are none of the rule's.
			_, acts := u.rule.byType[kind]
			if acts || u.rule.action != Allow {
				types[kind] = true
			}
		}
		kinds := slices.Sorted(maps.Keys(types))
		number := r.share("pii "+strings.Join(kinds, " "), func() detect.Detector {
			d, err := detect.PII(kinds...)
			if err != nil {
				r.bad("rules", "%w", err)
			}
			return d
		})
		i := slices.IndexFunc(u.rule.uses, func(u use) bool { return u.detector == unmade })
		u.rule.uses[i] = use{detector: number, types: types, pii: true}
	}
}

// typed has the texts that a rule looks for under one type, and where they stand.
type typed struct {
	kind, path string
	texts      []string
}

// byType reads the texts that a rule looks for: under one type, or an object with texts for each
// type. With lists the texts are a list, and otherwise one text. The result is in the order of the
// types' names, for the order of keys in a file says nothing.
func (r *reader) byType(path, kind string, value any, lists bool) (found []typed) {
	read := func(path, kind string, value any) {
		text, one := value.(string)
		list, many := value.([]any)
		switch {
		case one && !lists:
			found = append(found, typed{kind: kind, path: path, texts: []string{text}})
		case many && lists && len(list) > 0:
			made := typed{kind: kind, path: path}
			for i, item := range list {
				text, ok := item.(string)
				if !ok {
					r.bad(fmt.Sprintf("%s[%d]", path, i), "this must be a string; put it in quotes")
				}
				made.texts = append(made.texts, text)
			}
			made.texts = r.expand(path, made.texts)
			found = append(found, made)
		case lists:
			r.bad(path, "this must be a list of words, or an object with a list for each type")
		default:
			r.bad(path, "this must be a regular expression, or an object with one for each type")
		}
	}
	switch v := value.(type) {
	case nil:
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !judging.TypeForm.MatchString(name) {
				r.bad(path+"."+name, "a type is capital letters, digits and _, such as EMPLOYEE_ID")
			}
			if name == typeText || name == typeLength {
				r.bad(path+"."+name, "the type %s is reserved for whole texts; use another name", name)
			}
			read(path+"."+name, name, v[name])
		}
	default:
		read(path, kind, value)
	}
	return found
}

// disallowed finds the links that a list does not allow.
type disallowed struct{ list *links.List }

// Find implements detect.Detector.
func (d disallowed) Find(found []detect.Finding, text string) []detect.Finding {
	found, _ = d.find(found, text)
	return found
}

// find is Find, and says how much of a text that may go on is settled.
func (d disallowed) find(found []detect.Finding, text string) ([]detect.Finding, int) {
	var buffer [8]links.Link
	all, open := links.Find(buffer[:0], text)
	for _, link := range all {
		if d.list.Check(text[link.Start:link.End]) == nil {
			continue
		}
		by := "link"
		if link.Loaded {
			by = "image"
		}
		found = append(found, detect.Finding{
			Type:  "URL",
			Rule:  by,
			Start: link.Start,
			End:   link.End,
			Score: 1,
		})
	}
	return found, open
}

// Reader implements detect.Detector.
func (d disallowed) Reader() detect.Reader { return &linksReader{disallowed: d} }

// A linksReader is where disallowed is in a text that grows.
type linksReader struct {
	disallowed
	from int // what is before it is not read again
	read int // how long the text was
	open int // what Read returned last
}

// Wait implements detect.Reader. To read bytes takes less than a thirtieth of the time that it takes to
// judge as many new ones, so new bytes may wait until there is one for 32 that are read again.
func (r *linksReader) Wait() int { return (r.read - r.from) / 32 }

// Clone implements detect.Reader.
func (r *linksReader) Clone() detect.Reader {
	clone := *r
	return &clone
}

// Read implements detect.Reader.
func (r *linksReader) Read(found []detect.Finding, text string) ([]detect.Finding, int) {
	r.read = len(text)
	rest := text[r.from:]
	known := len(found)
	found, settledTo := r.find(found, rest)
	open := max(settledTo+r.from, r.open)
	settled := found[:known]
	for _, f := range found[known:] {
		f.Start += r.from
		f.End += r.from
		if f.End > r.open && f.Start < open {
			settled = append(settled, f)
		}
	}
	r.open = open

	// Read from a later byte next time, but in a tag of HTML: there attributes are links.
	const step = detect.LookBack / 4
	at := open - detect.LookBack
	least := max(r.from, at-step)
	for at > least && text[at-1] > ' ' {
		at--
	}
	if at > r.from+step && at > least && strings.IndexByte(text[r.from:at], '<') < 0 {
		r.from = at
	}
	return settled, open
}
