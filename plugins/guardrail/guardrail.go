package guardrail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail/internal/judge"
	"github.com/plughook/plughook/plugins/guardrail/internal/vault"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/session"
)

// Config says which policy holds. The zero Config is ready: its policy is policy.Default.
type Config struct {
	// Name is the plugin's, "guardrail" if it is empty. The keys of its state begin with it, so two
	// guardrails of one runner need names of their own.
	Name string `yaml:"-" json:"-"`

	File      string `yaml:"file" json:"file,omitempty" jsonschema:"the policy's file, or its address (https://…); without one, secrets and personal data are redacted"`
	Reload    bool   `yaml:"reload" json:"reload,omitempty" jsonschema:"looks, as a run begins, whether the file has changed, or asks the address, at most every half minute, and waits a second for it; a policy that is wrong leaves the one before it in force"`
	KeyEnv    string `yaml:"key_env" json:"key_env,omitempty" jsonschema:"the environment variable with the key for fingerprints, hashes and the vault, 16 bytes or more; without one, a key is made up for this process"`
	Decisions string `yaml:"decisions" json:"decisions,omitempty" jsonschema:"a file to which each decision is appended as a line of JSON"`

	// Policy is the policy, in place of a file.
	Policy *policy.Policy `yaml:"-" json:"-"`
	// Key is the key, in place of an environment variable's.
	Key []byte `yaml:"-" json:"-"`
	// Models opens the models that rules name as judges. A policy with such a rule needs it.
	Models func(name string) (model.Model, error) `yaml:"-" json:"-"`
	// Price returns what a model costs in USD, by the name that a rule has for it or the one that it
	// reports, and false if nobody knows. It is for policies that bound what judges spend. nil knows
	// what prices.Default does.
	Price func(model string) (prices.Price, bool) `yaml:"-" json:"-"`
	// Now is the clock by which judges' answers grow old; nil is time.Now.
	Now func() time.Time `yaml:"-" json:"-"`
	// Log takes a record of each decision, and errors; nil is slog.Default. No record has anything
	// of a text. If Reload is set, records say which policy is in force: as the plugin is made, and
	// when that changes.
	Log *slog.Logger `yaml:"-" json:"-"`
	// Level is the level of the records of decisions; the zero Level is slog.LevelInfo.
	Level slog.Level `yaml:"-" json:"-"`
	// Found, unless it is nil, is called with each finding and the text that it is in, for programs
	// that show texts to people who may see them. The event of a request to a model has no id. Found
	// may be called by several goroutines at once.
	Found func(inv *session.Invocation, e *session.Event, stage policy.Stage, f policy.Finding, text string) `yaml:"-" json:"-"`
}

// complete sets the defaults that the plugin and a Judge have in common.
func (c *Config) complete() {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Price == nil {
		c.Price = func(model string) (prices.Price, bool) {
			price, ok := prices.Default().Models[model]
			return price, ok
		}
	}
	c.Name = cmp.Or(c.Name, "guardrail")
}

// New returns the plugin. It returns an error if the policy or the key is wrong.
// Put the plugin after those that emit and change events, and before those that record them.
func New(c Config) (*plugin.Plugin, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.complete()

	// The key.
	if c.KeyEnv != "" && c.Key == nil {
		c.Key = []byte(os.Getenv(c.KeyEnv))
		if len(c.Key) == 0 {
			return nil, fmt.Errorf("guardrail: key_env: the environment variable %s is not set", c.KeyEnv)
		}
	}
	if c.Key != nil && len(c.Key) < vault.MinSecret {
		return nil, fmt.Errorf("guardrail: the key's length is %d; it must be %d bytes or more", len(c.Key),
			vault.MinSecret)
	}
	g := newGuard(c)

	// The policy.
	p := c.Policy
	switch {
	case c.File != "" && c.Policy != nil:
		return nil, errors.New("guardrail: a file and a policy; give one of them")
	case c.Reload && c.File == "":
		return nil, errors.New("guardrail: reload: there is no file to read again")
	case c.File != "":
		var err error
		g.from, err = newSource(c.File)
		if err != nil {
			return nil, err
		}
		p, err = g.from.read(context.Background())
		if err != nil {
			return nil, err
		}
		g.from.asked = c.Now()
	case p == nil:
		p = policy.Default()
	}
	if err := g.use(p); err != nil {
		return nil, err
	}
	var err error
	g.decisions, err = openDecisions(c.Decisions, c.Log)
	if err != nil {
		return nil, err
	}
	if c.Reload {
		g.Log.Info("guardrail: the policy is in force",
			slog.String("file", g.File),
			slog.String("revision", p.Revision()),
			slog.String("release", p.Release()),
		)
	}
	return &plugin.Plugin{
		Name:        c.Name,
		StateName:   c.Name,
		Doc:         "Holds runs to a policy: blocks, redacts, asks, flags.",
		Partials:    true,
		OnEvent:     g.onEvent,
		BeforeModel: g.beforeModel,
		AfterRun:    g.afterRun,
		Close: func(ctx context.Context) error {
			g.stop()
			return errors.Join(g.judges.Close(ctx), g.decisions.close())
		},
	}, nil
}

// guard is the plugin.
type guard struct {
	Config
	secret  []byte // the key, or a random one
	metrics *metrics
	judges  *judge.Pool
	policy  atomic.Pointer[enforced] // the one that new runs get

	mu    sync.Mutex
	runs  map[runKey]*runState
	clean map[digest]bool // contents of requests in which nothing was found

	decisions *decisionLog

	reading sync.Mutex      // held while the policy is read again
	from    *source         // nil if the policy comes from no file
	wrong   string          // why what was read last is not in force; "" if it is
	asking  context.Context // until Close, for requests to the policy's address
	stop    context.CancelFunc
}

// newGuard returns the plugin without a policy.
func newGuard(c Config) *guard {
	metrics := newMetrics()
	g := &guard{
		Config:  c,
		secret:  c.Key,
		metrics: metrics,
		judges:  judge.NewPool(metrics.judges, c.Now, c.Price),
		runs:    map[runKey]*runState{},
		clean:   map[digest]bool{},
	}
	if g.secret == nil {
		g.secret = vault.RandomSecret()
	}
	g.asking, g.stop = context.WithCancel(context.Background())
	return g
}

// enforced is a policy as the plugin enforces it.
type enforced struct {
	*policy.Policy
	judges map[string]*judge.Judge // of rules that ask somebody, by their ids
	taints bool                    // it is noted which tools' answers a session has
	prompt bool                    // a rule is about what models are asked
	// promptsAlone says that rules about what models are asked depend on a text alone, so that it
	// can be remembered which texts are clean.
	promptsAlone bool

	mu       sync.Mutex
	compared map[digest]*policy.Unpinned // of declarations that were compared with their pins
	warned   map[*policy.Unpinned]bool   // of those: the log has a warning
}

// use makes a policy the one that new runs get.
func (g *guard) use(p *policy.Policy) error {
	if p.NeedsKey() && g.Key == nil {
		return fmt.Errorf("guardrail: %s has the action vault, and there is no key to open one with; say key_env: NAME", p.Name())
	}
	e := &enforced{
		Policy:       p.WithKey(g.secret),
		judges:       map[string]*judge.Judge{},
		taints:       p.Taints(),
		promptsAlone: true,
	}
	if err := p.CheckPrices(g.Price); err != nil {
		return fmt.Errorf("guardrail: %w", err)
	}
	for _, spec := range p.Judges() {
		j, err := g.judges.Open(spec, g.Models)
		if err != nil {
			return fmt.Errorf("guardrail: %s: rule %s: %w", p.Name(), spec.Rule, err)
		}
		e.judges[spec.Rule] = j
	}
	for _, r := range p.Rules() {
		if slices.Contains(r.Stages, policy.Prompt) {
			e.prompt = true
			e.promptsAlone = e.promptsAlone && r.TextOnly()
		}
	}
	// A policy that is read later may ask what was read meanwhile.
	before := g.policy.Load()
	if before != nil && before.taints {
		e.taints = true
	}
	g.policy.Store(e)
	return nil
}

func (g *guard) onEvent(ctx context.Context, inv *session.Invocation,
	e *session.Event) (out plugin.Outcome, err error) {
	defer g.recovering(&err)
	r := g.run(ctx, inv, e.Author == session.User || e.Partial)
	if e.Partial {
		return g.partial(ctx, inv, r, e), nil
	}
	return g.event(ctx, inv, r, e, r.endStream(e.ID))
}

// recovering makes a hook's error of a panic in the plugin. A panic's value may quote a text, so
// that only what Go's runtime says is kept.
func (g *guard) recovering(err *error) {
	r := recover()
	if r == nil {
		return
	}
	*err = fmt.Errorf("guardrail panicked with a %T", r)
	if known, ok := r.(runtime.Error); ok {
		*err = fmt.Errorf("guardrail panicked: %w", known)
	}
	g.Log.Error("guardrail: this is a mistake in the program",
		slog.String("error", (*err).Error()),
		slog.String("stack", string(debug.Stack())),
	)
}
