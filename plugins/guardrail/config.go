package guardrail

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/plughook/plughook/model"
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
	PublicKey string `yaml:"public_key" json:"public_key,omitempty" jsonschema:"the policy must be signed with the key that belongs to this one, as runner policy sign does, and must not have been signed earlier than the one in force"`
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
