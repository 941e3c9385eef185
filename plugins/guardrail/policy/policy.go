package policy

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/internal/vault"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/form"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/glob"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/permission"
	"github.com/plughook/plughook/plugins/guardrail/policy/pin"
	"github.com/plughook/plughook/session"
)

// A Policy is what a policy file says, checked and ready. It never changes, and is safe for
// concurrent use.
type Policy struct {
	name      string
	files     []string // its own, and those that it includes
	release   string
	revision  string
	shadow    bool
	onError   Action
	maxBytes  int
	overLimit Action
	tenantKey string
	ask       session.Approver // who is asked by rules that do not say so
	trusted   glob.List
	pins      *pin.Lock                // nil if it pins no tool
	commands  []permission.CommandTool // the tools that run command lines
	allow     *exceptions              // what passes whatever a rule says; nil for nothing
	rules     []*rule
	detectors []detect.Detector // each once, however many rules share it
	literals  *literals         // of regular expressions; nil if they have none
	tests     []form.Test
	budget    judging.Budget
	budgetAt  string // where it stands: file, line and column
	named     []namedTool
	taints    bool      // see Taints
	flows     bool      // see Flows
	coverage  *Coverage // nil if nobody counts
	sources   []sourceName
	readsKeys []string // see ReadsState
	signature signature
	keys      vault.Keys
}

//go:embed default.yaml
var defaultPolicy []byte

// Default returns the policy that holds where there is no file: secrets and personal data, but for
// links and dates, are redacted at every stage but Prompt, and words that are to turn a model are
// flagged where they come in.
func Default() *Policy { return parsedDefault() }

var parsedDefault = sync.OnceValue(func() *Policy {
	p, err := Parse("default.yaml", defaultPolicy)
	if err != nil {
		panic(err) // a test parses it
	}
	return p
})

// Load reads a policy file. It refuses what is not a regular file, such as a pipe, without waiting
// for somebody to write to it. Other errors are those of Parse, and of reading the file.
func Load(name string) (*Policy, error) {
	data, err := content(name, "a policy", maxFile)
	if err != nil {
		return nil, fmt.Errorf("guardrail: policy: %w", err)
	}
	return Parse(name, data)
}

const (
	maxFile         = 4 << 20  // bytes of a policy file
	maxPinsFile     = 16 << 20 // bytes of a lockfile
	defaultMaxBytes = 1 << 20  // limits.max_bytes
)

// content returns what is in a regular file of at most so many bytes. Errors say that it should be a thing,
// such as "a policy".
func content(name, thing string, most int64) ([]byte, error) {
	// opening a pipe would wait for its writer
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is a directory, a pipe or a device; %s must be a regular file", name, thing)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1)) // it may have grown since Stat
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s has %d bytes or more; %s has at most %d", name,
			max(info.Size(), most+1), thing, most)
	}
	return data, nil
}

// Parse reads a policy from the content of a file of that name. Files that it includes are read from the
// directory of that name. It refuses, with file, line and
// column, unknown keys, stages, actions and types, conditions and expressions that are wrong, ids
// that are used twice, and rules that can never have an effect.
func Parse(name string, data []byte) (*Policy, error) {
	// Read its files.
	all, err := parts(name, data)
	if err != nil {
		return nil, fmt.Errorf("guardrail: %w", err)
	}
	f := &all[0].form
	p := &Policy{
		name:      name,
		release:   f.Release,
		tenantKey: f.TenantKey,
		ask:       f.Ask,
		maxBytes:  f.Limits.MaxBytes,
		readsKeys: []string{f.TenantKey},
		keys:      vault.NewKeys(vault.RandomSecret()),
	}
	contents := [][]byte{}
	for _, part := range all {
		contents = append(contents, part.data)
		p.files = append(p.files, part.Name())
	}

	// Make rules of them, and collect what is wrong. Which tools run commands is known before the rules.
	r := &reader{policy: p, shared: map[string]int{}, lists: map[string][]listed{}}
	contents = append(contents, r.readLists(all)...)
	r.File = all[0].File
	r.top(f)
	for _, part := range all {
		r.File = part.File
		r.tools(&part.form)
		p.allow = r.exceptions("allow", &part.form.Allow, p.allow)
	}
	if !r.pinned.Empty() {
		contents = append(contents, r.readPins())
	}
	p.revision = revisionOf(contents)
	p.signature = signatureOf(contents)
	for _, part := range all {
		r.File = part.File
		for i := range part.form.Rules {
			r.rule(fmt.Sprintf("rules[%d]", i), &part.form.Rules[i])
		}
	}
	r.File = all[0].File
	if len(p.rules) == 0 && r.pinned.Empty() {
		r.bad("rules", "there are no rules, so the policy would let everything pass; if you want no guardrail, leave out the plugin")
	}
	if p.budget != (judging.Budget{}) && len(p.Models()) == 0 {
		r.bad("judges", "judges: bounds what models use, and no rule asks a model; leave it out")
	}
	if len(r.errs) == 0 {
		r.piiDetectors()
		r.policy.makeLiterals()
		r.reachable()
		r.checkSources()
	}
	for _, part := range all {
		r.File = part.File
		r.tests(part.form.Tests)
	}
	if len(r.errs) > 0 {
		r.sortErrors()
		return nil, fmt.Errorf("guardrail: %w", errors.Join(r.errs...))
	}
	return p, nil
}

// revisionOf names the content of a policy's files. That of one file is its digest as sha256sum prints it.
func revisionOf(contents [][]byte) string {
	sum := sha256.New()
	for _, data := range contents {
		if len(contents) > 1 {
			fmt.Fprintf(sum, "%d ", len(data))
		}
		sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// Revision names the policy's content: the beginning of its SHA-256, that of its file, of the files
// that it includes, and of the lockfile with its pins.
func (p *Policy) Revision() string { return p.revision }

// Release is the name that the policy's author gives to this version of it, "" for none.
func (p *Policy) Release() string { return p.release }

// Files are the names of the files that the policy was read from, its own first, then those of its lists, and the
// lockfile with its pins, also if that is not there yet.
func (p *Policy) Files() []string { return slices.Clone(p.files) }

// Name is the name of the policy's file.
func (p *Policy) Name() string { return p.name }

// Pins are the declarations of tools that the policy pins; nil if it pins none.
func (p *Policy) Pins() *pin.Lock { return p.pins }

// Shadow reports whether all of the policy is in shadow.
func (p *Policy) Shadow() bool { return p.shadow }

// OnError is what becomes of a text that could not be judged: Block or Allow.
func (p *Policy) OnError() Action { return p.onError }

// MaxBytes is the longest text, in bytes, that is judged.
func (p *Policy) MaxBytes() int { return p.maxBytes }

// Taints reports whether it has to be noted which tools' answers a session has: a rule or a
// condition asks about them, or the policy says which tools it trusts.
func (p *Policy) Taints() bool { return p.taints }

// ReadsState returns the keys of the session's state that the policy reads, "*" if they are any, and "" for none.
func (p *Policy) ReadsState() []string { return p.readsKeys }

// LooksBack reports whether a rule's window reaches back before the text that it judges.
func (p *Policy) LooksBack() bool {
	return slices.ContainsFunc(p.rules, func(r *rule) bool { return r.window != "part" })
}

// NeedsKey reports whether a rule puts values into the vault, which only holders of the key can
// open.
func (p *Policy) NeedsKey() bool {
	return slices.ContainsFunc(p.rules, func(r *rule) bool { return r.does(Vaulted) })
}

// Asks says who is asked where no rule says so.
func (p *Policy) Asks() session.Approver {
	return cmp.Or(p.ask, session.Approver{By: session.UserRole})
}

// WithKey returns the policy with a key for fingerprints, hashes and vault tokens. Without one a
// policy has a random key.
func (p *Policy) WithKey(key []byte) *Policy {
	c := *p
	c.keys = vault.NewKeys(key)
	return &c
}

// Fingerprint is the same for equal values of a type under the same key, and says nothing else
// about the value.
func (p *Policy) Fingerprint(kind, value string) string { return p.keys.Fingerprint(kind, value) }

// tenant returns the tenant that the session's state names, "" if it names none.
func (p *Policy) tenant(s *Scope) string {
	if p.tenantKey == "" {
		return ""
	}
	name, _ := s.State[p.tenantKey].(string)
	return name
}
