package compaction

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// Config says when to compact, what stays, and who summarizes. The zero Config is ready. Sizes are tokens, as
// Count counts them.
type Config struct {
	Window int `yaml:"window" json:"window,omitempty" jsonschema:"tokens that the model takes; 128000 if it is not set"`
	Budget int `yaml:"budget" json:"budget,omitempty" jsonschema:"tokens that a prompt may have, summary, system instruction and tools included; no model is called above that; four fifths of window if it is not set"`

	Trigger     int           `yaml:"trigger" json:"trigger,omitempty" jsonschema:"tokens of the live view, and of the instruction and tools as far as the model has reported them, from which on it is compacted; three quarters of budget if neither it nor fraction is set"`
	Fraction    float64       `yaml:"fraction" json:"fraction,omitempty" jsonschema:"the same as a share of window, such as 0.5; the lower of the two counts"`
	Events      int           `yaml:"events" json:"events,omitempty" jsonschema:"events since the last summary from which on the session is compacted; no limit if it is not set"`
	Invocations int           `yaml:"invocations" json:"invocations,omitempty" jsonschema:"invocations since the last summary from which on the session is compacted; no limit if it is not set"`
	Idle        time.Duration `yaml:"idle" json:"idle,omitempty" jsonschema:"a pause after which the session is compacted before it goes on, such as 1h; never if it is not set"`

	Summary int  `yaml:"summary" json:"summary,omitempty" jsonschema:"tokens that a summary may have; a quarter of trigger, at most 8192, if it is not set"`
	Tail    int  `yaml:"tail" json:"tail,omitempty" jsonschema:"tokens of the latest events that stay as they are; an eighth of trigger if it is not set"`
	MinGain int  `yaml:"min_gain" json:"min_gain,omitempty" jsonschema:"tokens that a compaction has to gain, or it does not happen; a tenth of trigger if it is not set"`
	Keep    Keep `yaml:"keep" json:"keep,omitzero" jsonschema:"what stays as it is, wherever it stands"`

	Foreground   bool          `yaml:"foreground" json:"foreground,omitempty" jsonschema:"compacts before the caller has its last event, in place of afterwards"`
	Instructions string        `yaml:"instructions" json:"instructions,omitempty" jsonschema:"what summaries should not leave out"`
	Attempts     int           `yaml:"attempts" json:"attempts,omitempty" jsonschema:"how often a model is asked for one summary before the offline one is used; 2 if it is not set"`
	Timeout      time.Duration `yaml:"timeout" json:"timeout,omitempty" jsonschema:"how long a model may take for one summary; 60s if it is not set"`

	// Summarizer makes the prose of a summary; nil is offline.
	Summarizer Summarizer `yaml:"-" json:"-"`
	// Count counts the tokens of a content. If it is nil, Tokens does, corrected by what the model has
	// reported for the same session (usageMetadata).
	Count func(*genai.Content) int `yaml:"-" json:"-"`
	// Log takes a record for each compaction, and for each that was declined; slog.Default if nil. No record
	// has content.
	Log *slog.Logger `yaml:"-" json:"-"`
}

// Keep pins events: they are never covered.
type Keep struct {
	Authors []string `yaml:"authors" json:"authors,omitempty" jsonschema:"authors whose events stay, such as plugin/notes"`
	Tools   []string `yaml:"tools" json:"tools,omitempty" jsonschema:"tools whose calls stay, with their responses"`
	Events  []string `yaml:"events" json:"events,omitempty" jsonschema:"ids of events that stay"`
	Tokens  int      `yaml:"tokens" json:"tokens,omitempty" jsonschema:"tokens to reserve for all of these; a sixteenth of trigger if there are any and it is not set"`
}

func (k Keep) any() bool { return len(k.Authors)+len(k.Tools)+len(k.Events) > 0 }

// complete returns the configuration with its defaults, or an error if it cannot be.
func (c Config) complete() (Config, error) {
	for _, n := range []struct {
		name string
		n    int
	}{{"window", c.Window}, {"budget", c.Budget}, {"trigger", c.Trigger}, {"events", c.Events}, {"invocations", c.Invocations}, {"summary", c.Summary},
		{"tail", c.Tail}, {"min_gain", c.MinGain}, {"keep.tokens", c.Keep.Tokens}, {"attempts", c.Attempts}, {"idle", int(c.Idle)}, {"timeout", int(c.Timeout)}} {
		if n.n < 0 {
			return c, fmt.Errorf("compaction: %s is negative", n.name)
		}
	}
	if !(c.Fraction >= 0 && c.Fraction < 1) { // nor not a number
		return c, fmt.Errorf("compaction: fraction is %v; it is a share of the window, above 0 and below 1", c.Fraction)
	}
	c.Window = cmp.Or(c.Window, max(128_000, c.Budget))
	c.Budget = cmp.Or(c.Budget, c.Window*4/5)
	if share := int(c.Fraction * float64(c.Window)); share > 0 && (c.Trigger == 0 || share < c.Trigger) {
		c.Trigger = share
	}
	c.Trigger = cmp.Or(c.Trigger, c.Budget*3/4)
	c.Summary = cmp.Or(c.Summary, min(c.Trigger/4, 8192))
	c.Tail = cmp.Or(c.Tail, c.Trigger/8)
	c.MinGain = cmp.Or(c.MinGain, c.Trigger/10)
	if c.Keep.any() {
		c.Keep.Tokens = cmp.Or(c.Keep.Tokens, c.Trigger/16)
	}
	c.Attempts = cmp.Or(c.Attempts, 2)
	c.Timeout = cmp.Or(c.Timeout, time.Minute)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c, c.fits()
}

// smallest is how many tokens a prompt has to have room for.
const smallest = 64

// fits returns an error, with the arithmetic, if no compaction could bring the view under its trigger.
func (c Config) fits() error {
	if c.Trigger < smallest {
		return fmt.Errorf("compaction: the trigger is %d tokens; give it %d at least", c.Trigger, smallest)
	}
	var errs []error
	if c.Budget > c.Window {
		errs = append(errs, fmt.Errorf("compaction: budget %d is more than window %d", c.Budget, c.Window))
	}
	if c.Trigger > c.Budget {
		errs = append(errs, fmt.Errorf("compaction: trigger %d is more than budget %d, so every compaction would come too late", c.Trigger, c.Budget))
	}
	if sum := c.Summary + c.Tail + c.Keep.Tokens + c.MinGain; sum > c.Trigger {
		errs = append(errs, fmt.Errorf("compaction: summary %d + tail %d + keep.tokens %d + min_gain %d = %d tokens, which is more than trigger %d: a compaction would start the next one; make them smaller or trigger larger",
			c.Summary, c.Tail, c.Keep.Tokens, c.MinGain, sum, c.Trigger))
	}
	if m, ok := c.Summarizer.(*Model); ok {
		errs = append(errs, m.suits(&c))
	}
	return errors.Join(errs...)
}

// Now returns the command to compact now. Instructions, if there are any, say what the summary should not leave
// out. Send it as an input without content: no agent runs, and the run's event is the compaction, or one with an
// ErrorCode that says why there is none.
func Now(instructions string) session.Command {
	c := session.Command{Name: Name + ".now"}
	if instructions != "" {
		c.Args = map[string]any{"instructions": instructions}
	}
	return c
}
