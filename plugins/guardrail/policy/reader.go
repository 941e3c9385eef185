package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugins/guardrail/internal/provider"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/form"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/glob"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/permission"
	"github.com/plughook/plughook/plugins/guardrail/policy/pin"
	"github.com/plughook/plughook/yamlfile"
)

// reader makes a policy of a file's form, and collects what is wrong with it.
type reader struct {
	*yamlfile.File
	policy *Policy
	errs   []error
	lists  map[string][]listed // by name
	shared map[string]int      // the numbers of detectors that rules share, by name
	pii    []piiUse

	pinned   glob.List // tools whose declarations are pinned
	pinnedAt string    // where the policy names them first: FILE:LINE:COLUMN

	unread bool // a detector of the rule at hand is wrong, so nobody knows what the rule finds
}

// bad notes what is wrong with what stands at a path.
func (r *reader) bad(path, format string, args ...any) {
	r.errs = append(r.errs, r.Errorf(path, format, args...))
}

// placed is how every error begins: FILE:LINE:COLUMN.
var placed = lazyregexp.New(`^(.*?):(\d+):(\d+): `)

// sortErrors sorts the errors by file, in the policy's order, and by where they stand in it.
func (r *reader) sortErrors() {
	place := func(err error) (file, line, column int) {
		m := placed.FindStringSubmatch(err.Error())
		if m == nil {
			return 0, 0, 0
		}
		line, _ = strconv.Atoi(m[2])
		column, _ = strconv.Atoi(m[3])
		return slices.Index(r.policy.files, m[1]), line, column
	}
	slices.SortStableFunc(r.errs, func(a, b error) int {
		file, line, column := place(a)
		otherFile, otherLine, otherColumn := place(b)
		return cmp.Or(file-otherFile, line-otherLine, column-otherColumn)
	})
}

// top reads what stands at the top of the file, beside rules and tests.
func (r *reader) top(f *form.File) {
	p := r.policy
	top := *f
	top.Rules = nil
	top.Tests = nil
	r.refuseBlanks("", reflect.ValueOf(top))
	if f.Version != 1 {
		r.bad("version", "version %d; this program reads version 1", f.Version)
	}
	p.shadow = r.oneOf("mode", f.Mode, "enforce", "shadow") == "shadow"
	p.onError = Action(r.oneOf("on_error", f.OnError, string(Block), string(Allow)))
	p.overLimit = Action(r.oneOf("limits.over_limit", f.Limits.OverLimit, string(Block), string(Flag)))
	if p.maxBytes < 0 || p.maxBytes == 0 && r.Has("limits.max_bytes") {
		r.bad("limits.max_bytes", "max_bytes is %d; it must be more than 0", p.maxBytes)
	}
	if p.maxBytes == 0 {
		p.maxBytes = defaultMaxBytes
	}
	p.budget = r.budget(&f.Judges)
}

// tools reads what a part of the policy says about tools.
func (r *reader) tools(f *form.File) {
	trusted := r.globs("trusted_tools", f.TrustedTools)
	for _, pattern := range r.expand("trusted_tools", f.TrustedTools) {
		r.policy.trusted.Add(pattern) // globs has checked it
	}
	r.policy.taints = r.policy.taints || r.Has("trusted_tools")
	r.nameTools("trusted_tools", trusted.Patterns()...)
	r.pinTools(f.PinTools)
	r.commandTools(f.CommandTools)
}

// pinTools reads which tools' declarations are pinned.
func (r *reader) pinTools(patterns []string) {
	const key = "pin_tools"
	list := r.globs(key, patterns)
	if !r.Has(key) {
		return
	}
	switch {
	case len(patterns) == 0:
		r.bad(key, `pin_tools names no tool; name some, such as "web_*", or leave the key out`)
	case strings.Contains(r.Name(), "://"):
		r.bad(key, "a policy that is loaded from an address pins no tools: the lockfile with the pins stands beside the policy's file")
	}
	if r.pinnedAt == "" {
		r.pinnedAt = r.Name() + ":" + r.At(key)
	}
	for _, pattern := range r.expand(key, patterns) {
		r.pinned.Add(pattern) // globs has checked it
	}
	r.nameTools(key, list.Patterns()...)
}

// readPins reads the lockfile with the pins, which need not be there, and returns its content.
func (r *reader) readPins() []byte {
	r.policy.pins = &pin.Lock{}
	own := r.policy.name
	if strings.Contains(own, "://") { // it has an error already
		return nil
	}
	name := strings.TrimSuffix(own, filepath.Ext(own)) + ".lock.json"
	r.policy.files = append(r.policy.files, name)
	data, err := content(name, "a lockfile", maxPinsFile)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		r.policy.pins, err = pin.Read(r.pinned, r.pinnedAt, name, data)
	}
	if err != nil {
		r.errs = append(r.errs, err)
		return nil
	}
	return data
}

// commandTools reads which tools run command lines. Of several globs that a tool's name matches, the
// longest counts.
func (r *reader) commandTools(tools map[string]form.CommandTool) {
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		at := "command_tools." + name
		tool := tools[name]
		switch {
		case !glob.Valid(name):
			r.bad(at, "%q is not a glob: * is any text, ? any character, [a-z] one of these", name)
		case tool.Line == "" && tool.Words == "":
			r.bad(at, "say which argument of the tool has the command line: {line: command}, or has the command as a list of words: {words: argv}")
		}
		r.nameTools(at, name)
		r.policy.commands = append(r.policy.commands, permission.CommandTool{
			Tool:  name,
			Line:  tool.Line,
			Words: tool.Words,
			Dir:   tool.Dir,
			Env:   tool.Env,
		})
	}
	slices.SortFunc(r.policy.commands, func(a, b permission.CommandTool) int {
		return cmp.Or(len(b.Tool)-len(a.Tool), strings.Compare(a.Tool, b.Tool))
	})
}

// oneOf returns the word if it is one of these, and the first of them if it is empty.
func (r *reader) oneOf(path, word string, words ...string) string {
	switch {
	case word == "":
		return words[0]
	case !slices.Contains(words, word):
		r.bad(path, "%q is not known here%s", word, yamlfile.Meant(word, words))
	}
	return word
}

// stringsOf returns words of another type as strings.
func stringsOf[S ~string](words []S) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return list
}

// globs reads a glob or a list of them.
func (r *reader) globs(at string, value any) glob.List {
	var patterns []string
	switch v := value.(type) {
	case nil:
	case string:
		patterns = []string{v}
	case []string:
		patterns = v
	case []any:
		for i, item := range v {
			text, ok := item.(string)
			if !ok {
				r.bad(fmt.Sprintf("%s[%d]", at, i), "a glob must be a string; put it in quotes")
			}
			patterns = append(patterns, text)
		}
	default:
		r.bad(at, "this must be a glob, or a list of globs, in quotes")
	}
	var list glob.List
	for _, pattern := range r.expand(at, patterns) {
		ok := list.Add(pattern)
		if !ok {
			r.bad(at, "%q is not a glob: * is any text, ? any character, [a-z] one of these", pattern)
		}
	}
	return list
}

// mustSaySomething are keys whose objects have to have a key.
var mustSaySomething = []string{"allow", "detect", "from", "scope", "to"}

// refuseBlanks refuses keys without a value: "pii:" over a list that somebody has commented out
// would find nothing, and "user:" would be about everybody. Lists that may be empty, such as
// trusted_tools, are left alone. It returns how many keys there are.
func (r *reader) refuseBlanks(path string, form reflect.Value) (keys int) {
	blank := func(at, name string) {
		r.bad(at, "%s has no value; give it one, or leave the key out", name)
	}
	for _, field := range reflect.VisibleFields(form.Type()) {
		name := field.Tag.Get("yaml")
		value := form.FieldByIndex(field.Index)
		at := strings.TrimPrefix(path+"."+name, ".")
		if !r.Has(at) {
			continue
		}
		keys++
		switch {
		case name == "id": // it has an error of its own
		case value.Kind() == reflect.Struct && value.NumField() > 0:
			n := r.refuseBlanks(at, value)
			if n == 0 && slices.Contains(mustSaySomething, name) {
				blank(at, name)
			}
		case value.Kind() == reflect.String && value.Len() == 0:
			blank(at, name)
		case value.Kind() == reflect.Interface:
			v := value.Elem()
			if !v.IsValid() || hasLength(v) && v.Len() == 0 {
				blank(at, name)
			}
		}
	}
	return keys
}

func hasLength(v reflect.Value) bool {
	return slices.Contains([]reflect.Kind{reflect.String, reflect.Slice, reflect.Map}, v.Kind())
}

// namedTool is a glob of tools' names, and where it stands.
type namedTool struct{ glob, position string }

// nameTools notes that globs of tools' names stand at a path.
func (r *reader) nameTools(path string, globs ...string) {
	for _, g := range globs {
		r.policy.named = append(r.policy.named, namedTool{glob: g, position: r.Name() + ":" + r.At(path)})
	}
}

// Advise says, with file, line and column, which names of tools in the policy match none of these
// tools, and none that a model's provider runs: a rule about such a tool never applies.
func (p *Policy) Advise(tools []string) []string {
	var advice []string
	all := slices.Concat(tools, provider.Tools())
	for _, n := range p.named {
		if !slices.ContainsFunc(all, func(tool string) bool { return glob.Match(n.glob, tool) }) {
			advice = append(advice, fmt.Sprintf("%s: no tool has the name %q%s", n.position, n.glob,
				yamlfile.Guess(n.glob, tools)))
		}
	}
	return advice
}
