package guardrail

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/yamlfile"
)

// A Policy is what a policy file says, checked and ready. It never changes, and is safe for concurrent use.
type Policy struct {
	name, revision string
	shadow         bool
	onError        Action
	maxBytes       int
	overLimit      Action
	tenantKey      string
	trusted        globs
	rules          []*rule
	detectors      []detect.Detector // each once, however many rules share it
	tests          []Test
	named          []namedTool
	taints         bool // what the session has seen is noted: some rule asks, or the policy says whom it trusts
	keys           keys
	remotes        map[string]*remote // by rule; nil where nobody is asked
}

//go:embed default.yaml
var defaultPolicy []byte

// Default returns the policy that holds where there is no file: secrets and personal data, but for links and dates, are
// redacted at every stage but Prompt, and words that are to turn a model are flagged where they come in.
func Default() *Policy { return parsedDefault() }

var parsedDefault = sync.OnceValue(func() *Policy {
	p, err := Parse("default.yaml", defaultPolicy)
	if err != nil {
		panic(err) // a test parses it
	}
	return p
})

// Load reads a policy file. It refuses what is no regular file, such as a pipe, and waits for nobody to write one.
func Load(name string) (*Policy, error) {
	data, err := content(name)
	if err != nil {
		return nil, fmt.Errorf("guardrail: policy: %w", err)
	}
	return Parse(name, data)
}

// content returns what is in a policy file.
func content(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // or a pipe would be waited for, until it has a writer
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file, but a directory, a pipe or a device; give a file that has the policy", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1)) // it may grow
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s has %d bytes or more; a policy has at most %d", name, max(info.Size(), maxFile+1), maxFile)
	}
	return data, err
}

const (
	maxFile  = 4 << 20
	maxBytes = 1 << 20
)

// Parse reads a policy from the content of a file of that name. What is wrong is told with file, line and column: keys,
// stages, actions and types that are not known, expressions that are none, ids that are taken, and rules that can
// never decide anything.
func Parse(name string, data []byte) (*Policy, error) {
	f := form{Version: 1}
	file, err := yamlfile.Read(name, data, &f)
	if err != nil {
		return nil, fmt.Errorf("guardrail: %w", err)
	}
	sum := sha256.Sum256(data)
	p := &Policy{name: name, revision: hex.EncodeToString(sum[:8]), tenantKey: f.TenantKey, maxBytes: f.Limits.MaxBytes, keys: newKeys(nil)}
	r := &reader{File: file, policy: p, shared: map[string]int{}}
	r.top(&f)
	if len(f.Rules) == 0 {
		r.bad("rules", "there are no rules: the policy would let everything pass; to have no guardrail, leave out the plugin")
	}
	for i := range f.Rules {
		r.rule(fmt.Sprintf("rules[%d]", i), &f.Rules[i])
	}
	if len(r.errs) == 0 {
		r.detectors()
		r.reachable()
	}
	r.tests(f.Tests)
	for _, t := range f.Tests {
		p.tests = append(p.tests, t.Test)
	}
	if len(r.errs) > 0 {
		r.order()
		return nil, fmt.Errorf("guardrail: %w", errors.Join(r.errs...))
	}
	return p, nil
}

// Revision names the policy's content: the beginning of its SHA-256.
func (p *Policy) Revision() string { return p.revision }

// Name is the name of the policy's file.
func (p *Policy) Name() string { return p.name }

// with returns the policy with keys of its own.
func (p *Policy) with(k keys) *Policy {
	c := *p
	c.keys = k
	return &c
}

// vaults reports whether a rule puts something into the vault.
func (p *Policy) vaults() bool {
	return slices.ContainsFunc(p.rules, func(r *rule) bool { return r.does(Vaulted) })
}

// reader makes a policy of a file.
type reader struct {
	*yamlfile.File
	policy *Policy
	errs   []error
	shared map[string]int // detectors that rules share, by name
	pii    []piiUse
	unread bool // a detector of the rule at hand could not be read, so nobody knows what it finds
}

// bad notes what is wrong with what stands at a path.
func (r *reader) bad(path, format string, args ...any) {
	r.errs = append(r.errs, r.Errorf(path, format, args...))
}

// order orders what is wrong as it stands in the file.
func (r *reader) order() {
	place := func(err error) (line, column int) {
		_, _ = fmt.Sscanf(strings.TrimPrefix(err.Error(), r.Name()+":"), "%d:%d", &line, &column) // every error begins with its place
		return line, column
	}
	slices.SortStableFunc(r.errs, func(a, b error) int {
		line, column := place(a)
		other, beside := place(b)
		return cmp.Or(cmp.Compare(line, other), cmp.Compare(column, beside))
	})
}

// top reads what is not in rules.
func (r *reader) top(f *form) {
	p := r.policy
	top := *f
	top.Rules, top.Tests = nil, nil
	r.blanks("", reflect.ValueOf(top))
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
		p.maxBytes = maxBytes
	}
	p.trusted, p.taints = r.globs("trusted_tools", f.TrustedTools), r.Has("trusted_tools")
	r.names("trusted_tools", p.trusted)
}

// oneOf returns the word if it is one of these, the first if it is empty.
func (r *reader) oneOf(path, word string, words ...string) string {
	switch {
	case word == "":
		return words[0]
	case !slices.Contains(words, word):
		r.bad(path, "%q is not known here%s", word, yamlfile.Meant(word, words))
	}
	return word
}
