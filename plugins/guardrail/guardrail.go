package guardrail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Config says which policy holds. The zero Config is ready: its policy is Default.
type Config struct {
	File   string `yaml:"file" json:"file,omitempty" jsonschema:"the policy's file; without one, secrets and personal data are redacted"`
	Reload bool   `yaml:"reload" json:"reload,omitempty" jsonschema:"looks, as a run begins, whether the file has changed; a policy that is wrong leaves the one before it in force"`
	KeyEnv string `yaml:"key_env" json:"key_env,omitempty" jsonschema:"the environment variable with the key for fingerprints, hashes and the vault, 16 bytes or more; without one, a key is made up for this process"`

	// Policy is the policy, in place of a file.
	Policy *Policy `yaml:"-" json:"-"`
	// Key is the key, in place of an environment variable's.
	Key []byte `yaml:"-" json:"-"`
	// Models opens the models that rules name as judges. A policy with such a rule needs it.
	Models func(name string) (model.Model, error) `yaml:"-" json:"-"`
	// Now is the clock by which judges' answers grow old; nil is time.Now.
	Now func() time.Time `yaml:"-" json:"-"`
	// Log takes a record of each decision, and errors; nil is slog.Default. No record has anything of a text.
	Log *slog.Logger `yaml:"-" json:"-"`
}

// New returns the plugin, named "guardrail", or an error if there is no such policy. Put it after what emits and changes,
// and before what records.
func New(c Config) (*plugin.Plugin, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.KeyEnv != "" && c.Key == nil {
		if c.Key = []byte(os.Getenv(c.KeyEnv)); len(c.Key) == 0 {
			return nil, fmt.Errorf("guardrail: key_env: the environment variable %s is not set", c.KeyEnv)
		}
	}
	if c.Key != nil && len(c.Key) < minKey {
		return nil, fmt.Errorf("guardrail: a key of %d bytes; it needs %d or more", len(c.Key), minKey)
	}
	if c.File != "" && c.Policy != nil {
		return nil, errors.New("guardrail: a file and a policy; give one of them")
	}
	if c.Reload && c.File == "" {
		return nil, errors.New("guardrail: reload: there is no file to read again")
	}
	m := newMetrics()
	g := &guard{Config: c, keys: newKeys(c.Key), metrics: m, judges: newJudges(m, c.Now), runs: map[runKey]*running{}, clean: map[digest]bool{}}
	p := c.Policy
	if p == nil && c.File == "" {
		p = Default()
	}
	if c.File != "" {
		g.read = stampOf(c.File)
		var err error
		if p, err = Load(c.File); err != nil {
			return nil, err
		}
	}
	if err := g.use(p); err != nil {
		return nil, err
	}
	return &plugin.Plugin{Name: "guardrail", Doc: "Holds runs to a policy: blocks, redacts, asks, flags.", Partials: true,
		OnEvent: g.onEvent, BeforeModel: g.beforeModel, AfterRun: g.afterRun, Close: g.judges.close}, nil
}

// guard is the plugin.
type guard struct {
	Config
	keys    keys
	metrics *metrics
	judges  *judges
	policy  atomic.Pointer[Policy]

	mu    sync.Mutex
	runs  map[runKey]*running
	clean map[digest]bool // requests' texts in which nothing was found

	reading sync.Mutex // by who reads the file
	read    stamp      // what the file was when it was read last
	stale   bool       // and it was no policy
}

// use makes a policy the one that new runs get.
func (g *guard) use(p *Policy) error {
	if p.vaults() && g.Key == nil {
		return fmt.Errorf("guardrail: %s has the action vault, and there is no key to open one with; say key_env: NAME", p.name)
	}
	remotes, err := g.remotes(p)
	if err != nil {
		return err
	}
	p = p.with(g.keys)
	if before := g.policy.Load(); before != nil && before.taints {
		p.taints = true // or the policy after it would not know what was read meanwhile
	}
	p.remotes = remotes
	g.policy.Store(p)
	return nil
}

func (g *guard) onEvent(ctx context.Context, inv *session.Invocation, e *session.Event) (out plugin.Outcome, err error) {
	defer g.recovering(&err)
	r := g.running(inv, e.Author == session.User || e.Partial)
	if e.Partial {
		return g.partial(ctx, inv, r, e), nil
	}
	var had []string
	r.mu.Lock()
	if s := r.streams[e.ID]; s != nil {
		had = s.had
	}
	delete(r.streams, e.ID)
	r.mu.Unlock()
	return g.event(ctx, inv, r, e, had)
}
