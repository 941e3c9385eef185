package compaction

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"google.golang.org/genai"
)

// Config says when to compact, what stays, and who writes the summaries. The zero Config is valid. Sizes are tokens, as
// Count counts them.
type Config struct {
	Window int `yaml:"window" json:"window,omitempty" jsonschema:"tokens that the model takes; 128000 if not set"`
	Budget int `yaml:"budget" json:"budget,omitempty" jsonschema:"tokens that a prompt may have, with summary, system instruction and tools; a longer prompt is never sent; four fifths of window if not set"`

	Trigger     int           `yaml:"trigger" json:"trigger,omitempty" jsonschema:"compacts a session whose live view, with the instruction and tools that the model has reported, has so many tokens; three quarters of budget if neither trigger nor fraction is set"`
	Fraction    float64       `yaml:"fraction" json:"fraction,omitempty" jsonschema:"the same as trigger, as a share of window, such as 0.5; the lower of the two counts"`
	Events      int           `yaml:"events" json:"events,omitempty" jsonschema:"compacts a session that has so many events since the last summary; no limit if not set"`
	Invocations int           `yaml:"invocations" json:"invocations,omitempty" jsonschema:"compacts a session that has so many invocations since the last summary; no limit if not set"`
	Idle        time.Duration `yaml:"idle" json:"idle,omitempty" jsonschema:"compacts a session after a pause of this length, such as 1h, before it goes on; never if not set"`

	Summary int  `yaml:"summary" json:"summary,omitempty" jsonschema:"tokens that a summary may have; a quarter of trigger, at most 8192, if not set"`
	Tail    int  `yaml:"tail" json:"tail,omitempty" jsonschema:"tokens of the latest events, which stay; an eighth of trigger if not set"`
	MinGain int  `yaml:"min_gain" json:"min_gain,omitempty" jsonschema:"tokens that a compaction must save, or it does not happen; a tenth of trigger if not set"`
	Keep    Keep `yaml:"keep" json:"keep,omitzero" jsonschema:"events that always stay"`

	Foreground   bool          `yaml:"foreground" json:"foreground,omitempty" jsonschema:"compacts before the run ends, and not in the background"`
	Instructions string        `yaml:"instructions" json:"instructions,omitempty" jsonschema:"what summaries should not leave out"`
	Attempts     int           `yaml:"attempts" json:"attempts,omitempty" jsonschema:"how often a model is asked for one summary before it is written offline; 2 if not set"`
	Timeout      time.Duration `yaml:"timeout" json:"timeout,omitempty" jsonschema:"how long a model may take for one summary; 60s if not set"`

	// Summarizer writes the prose of a summary; if it is nil, summaries are written offline.
	Summarizer Summarizer `yaml:"-" json:"-"`
	// Count counts the tokens of a content. If it is nil, Tokens counts them, corrected by what the model has reported
	// in the same session (usageMetadata).
	Count func(*genai.Content) int `yaml:"-" json:"-"`
	// Log takes a record for each compaction, and for each that was declined; slog.Default if nil. No record quotes
	// the conversation.
	Log *slog.Logger `yaml:"-" json:"-"`
}

// Keep names events that always stay: no compaction covers them.
type Keep struct {
	Authors []string `yaml:"authors" json:"authors,omitempty" jsonschema:"authors whose events stay, such as plugin/notes"`
	Tools   []string `yaml:"tools" json:"tools,omitempty" jsonschema:"tools whose calls stay, with their responses"`
	Events  []string `yaml:"events" json:"events,omitempty" jsonschema:"ids of events that stay"`
	Tokens  int      `yaml:"tokens" json:"tokens,omitempty" jsonschema:"tokens to reserve for all events that keep names; a sixteenth of trigger if not set and keep names any"`
}

func (k Keep) any() bool { return len(k.Authors)+len(k.Tools)+len(k.Events) > 0 }

// complete returns the configuration with its defaults, or an error if it is invalid.
func (c Config) complete() (Config, error) {
	numbers := map[string]int{
		"window":      c.Window,
		"budget":      c.Budget,
		"trigger":     c.Trigger,
		"events":      c.Events,
		"invocations": c.Invocations,
		"idle":        int(c.Idle),
		"summary":     c.Summary,
		"tail":        c.Tail,
		"min_gain":    c.MinGain,
		"keep.tokens": c.Keep.Tokens,
		"attempts":    c.Attempts,
		"timeout":     int(c.Timeout),
	}
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		if numbers[name] < 0 {
			return c, fmt.Errorf("compaction: %s is negative", name)
		}
	}
	validFraction := c.Fraction >= 0 && c.Fraction < 1 // false for NaN too
	if !validFraction {
		return c, fmt.Errorf("compaction: fraction is %v; it must be a share of the window, above 0 and below 1", c.Fraction)
	}
	c.Window = cmp.Or(c.Window, max(128_000, c.Budget))
	c.Budget = cmp.Or(c.Budget, c.Window*4/5)
	share := int(c.Fraction * float64(c.Window))
	if share > 0 && (c.Trigger == 0 || share < c.Trigger) {
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
	return c, c.check()
}

// smallest is the least number of tokens that a prompt may be limited to.
const smallest = 64

// check returns an error, with the calculation, if a compaction could not bring the view below its trigger.
func (c Config) check() error {
	if c.Trigger < smallest {
		return fmt.Errorf("compaction: trigger is %d tokens; it must be at least %d", c.Trigger, smallest)
	}
	var errs []error
	if c.Budget > c.Window {
		errs = append(errs, fmt.Errorf("compaction: budget %d is more than window %d", c.Budget, c.Window))
	}
	if c.Trigger > c.Budget {
		errs = append(errs, fmt.Errorf("compaction: trigger %d is more than budget %d, so every compaction would come too late", c.Trigger, c.Budget))
	}
	sum := c.Summary + c.Tail + c.Keep.Tokens + c.MinGain
	if sum > c.Trigger {
		errs = append(errs, fmt.Errorf("compaction: summary %d + tail %d + keep.tokens %d + min_gain %d = %d tokens, which is more than trigger %d: each compaction would start the next one; make them smaller or trigger larger",
			c.Summary, c.Tail, c.Keep.Tokens, c.MinGain, sum, c.Trigger))
	}
	if m, ok := c.Summarizer.(*Model); ok {
		errs = append(errs, m.checkFor(c))
	}
	return errors.Join(errs...)
}
