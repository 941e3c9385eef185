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

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/plugins/compaction/internal/plan"
	"github.com/plughook/plughook/session"
)

// Config says when to compact, what stays, and who writes the summaries. The zero Config is valid. Sizes are
// tokens, as Count counts them.
type Config struct {
	Window int `yaml:"window" json:"window,omitempty" jsonschema:"tokens that the model takes; 128000 if not set"`
	Budget int `yaml:"budget" json:"budget,omitempty" jsonschema:"tokens that a prompt may have, with summary, system instruction and tools; a longer prompt is never sent; four fifths of window if not set"`

	Trigger     int           `yaml:"trigger" json:"trigger,omitempty" jsonschema:"compacts a session whose live view, with the instruction and tools that the model has reported, has so many tokens; three quarters of budget if neither trigger nor fraction is set"`
	Fraction    float64       `yaml:"fraction" json:"fraction,omitempty" jsonschema:"the same as trigger, as a share of window, such as 0.5; the lower of the two counts"`
	Events      int           `yaml:"events" json:"events,omitempty" jsonschema:"compacts a session that has so many events since the last summary; no limit if not set"`
	Invocations int           `yaml:"invocations" json:"invocations,omitempty" jsonschema:"compacts a session that has so many invocations since the last summary; no limit if not set"`
	Idle        time.Duration `yaml:"idle" json:"idle,omitempty" jsonschema:"compacts a session after a pause of this length, such as 1h, before it goes on; never if not set"`

	Summary int  `yaml:"summary" json:"summary,omitempty" jsonschema:"tokens that a summary may have; a quarter of trigger, at most 8192, if not set; of the live view if that is smaller than trigger, but no less than the summary before has, if there is room"`
	Tail    int  `yaml:"tail" json:"tail,omitempty" jsonschema:"tokens of the latest events, which stay; an eighth of trigger if not set; of the live view if that is smaller than trigger"`
	MinGain int  `yaml:"min_gain" json:"min_gain,omitempty" jsonschema:"tokens that a compaction must save, or it does not happen; a tenth of trigger if not set; of the live view if that is smaller than trigger"`
	Keep    Keep `yaml:"keep" json:"keep,omitzero" jsonschema:"events that stay as long as there is room for them"`

	Clear Clear `yaml:"clear" json:"clear,omitzero" jsonschema:"puts a line in place of old results of tools in the prompt; the tool recall reads them whole"`

	Foreground   bool          `yaml:"foreground" json:"foreground,omitempty" jsonschema:"compacts before the run ends, and not in the background"`
	Instructions string        `yaml:"instructions" json:"instructions,omitempty" jsonschema:"what summaries should not leave out"`
	Attempts     int           `yaml:"attempts" json:"attempts,omitempty" jsonschema:"how often a model is asked for one summary before it is written offline; 2 if not set"`
	Timeout      time.Duration `yaml:"timeout" json:"timeout,omitempty" jsonschema:"how long a model may take for one summary; 60s if not set"`

	// Summarizer writes the prose of a summary; if it is nil, summaries are written offline.
	Summarizer Summarizer `yaml:"-" json:"-"`
	// Count counts the tokens of a content. If it is nil, Tokens counts them, corrected by what the model has
	// reported in the same session (usageMetadata).
	Count func(*genai.Content) int `yaml:"-" json:"-"`
	// Artifacts stores results of tools that are cleared; see Clear.Artifacts.
	Artifacts artifact.Service `yaml:"-" json:"-"`
	// Log takes a record for each compaction, and for each that was declined; slog.Default if nil. No record
	// quotes the conversation.
	Log *slog.Logger `yaml:"-" json:"-"`

	// settings are what plans follow; complete sets them.
	settings plan.Settings
}

// Keep names events that stay as they are; Clear says which results of tools are cleared.
type (
	Keep  = plan.Keep
	Clear = plan.Clear
)

// complete returns the configuration with its defaults, or an error if it is invalid.
func (c Config) complete() (Config, error) {
	numbers := map[string]int{
		"window":          c.Window,
		"budget":          c.Budget,
		"trigger":         c.Trigger,
		"events":          c.Events,
		"invocations":     c.Invocations,
		"idle":            int(c.Idle),
		"summary":         c.Summary,
		"tail":            c.Tail,
		"min_gain":        c.MinGain,
		"keep.tokens":     c.Keep.Tokens,
		"clear.trigger":   c.Clear.Trigger,
		"clear.keep":      c.Clear.Keep,
		"clear.min":       c.Clear.Min,
		"clear.artifacts": c.Clear.Artifacts,
		"attempts":        c.Attempts,
		"timeout":         int(c.Timeout),
	}
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		if numbers[name] < 0 {
			return c, fmt.Errorf("compaction: %s is negative", name)
		}
	}
	validFraction := c.Fraction >= 0 && c.Fraction < 1 // false for NaN too
	if !validFraction {
		return c, fmt.Errorf(
			"compaction: fraction is %v; it must be a share of the window, above 0 and below 1",
			c.Fraction)
	}
	c.Window = cmp.Or(c.Window, max(128_000, c.Budget))
	c.Budget = cmp.Or(c.Budget, c.Window*4/5)
	share := int(c.Fraction * float64(c.Window))
	if share > 0 && (c.Trigger == 0 || share < c.Trigger) {
		c.Trigger = share
	}
	c.Trigger = cmp.Or(c.Trigger, c.Budget*3/4)
	c.settings = plan.Settings{Trigger: c.Trigger, Summary: c.Summary, Tail: c.Tail, MinGain: c.MinGain}
	c.settings.Scales.Summary = c.Summary == 0
	c.settings.Scales.Tail = c.Tail == 0
	c.settings.Scales.MinGain = c.MinGain == 0
	c.Summary, c.Tail, c.MinGain = c.settings.Sizes(c.Trigger)
	if c.Keep.Any() {
		c.Keep.Tokens = cmp.Or(c.Keep.Tokens, c.Trigger/16)
	}
	c.Clear.Keep = cmp.Or(c.Clear.Keep, 3)
	c.Clear.Min = cmp.Or(c.Clear.Min, 128)
	c.Attempts = cmp.Or(c.Attempts, 2)
	c.Timeout = cmp.Or(c.Timeout, time.Minute)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.settings.Budget = c.Budget
	c.settings.Events = c.Events
	c.settings.Invocations = c.Invocations
	c.settings.Summary = c.Summary
	c.settings.Tail = c.Tail
	c.settings.MinGain = c.MinGain
	c.settings.Keep = c.Keep
	c.settings.Clear = c.Clear
	return c, c.check()
}

// check returns an error, with the calculation, if a compaction could not bring the view below its trigger.
func (c Config) check() error {
	if c.Trigger < plan.Smallest {
		return fmt.Errorf("compaction: trigger is %d tokens; it must be at least %d", c.Trigger,
			plan.Smallest)
	}
	var errs []error
	if c.Budget > c.Window {
		errs = append(errs, fmt.Errorf("compaction: budget %d is more than window %d", c.Budget, c.Window))
	}
	if c.Trigger > c.Budget {
		errs = append(errs, fmt.Errorf(
			"compaction: trigger %d is more than budget %d, so every compaction would come too late",
			c.Trigger,
			c.Budget,
		))
	}
	if c.Clear.Trigger > c.Trigger {
		errs = append(errs, fmt.Errorf(
			"compaction: clear.trigger %d is more than trigger %d, so every summary would come before it",
			c.Clear.Trigger,
			c.Trigger,
		))
	}
	sum := c.Summary + c.Tail + c.Keep.Tokens + c.MinGain
	if sum > c.Trigger {
		errs = append(errs, fmt.Errorf(
			"compaction: summary %d + tail %d + keep.tokens %d + min_gain %d = %d tokens, which is more than trigger %d: each compaction would start the next one; make them smaller or trigger larger",
			c.Summary,
			c.Tail,
			c.Keep.Tokens,
			c.MinGain,
			sum,
			c.Trigger,
		))
	}
	if m, ok := c.Summarizer.(*Model); ok {
		errs = append(errs, m.checkFor(c))
	}
	return errors.Join(errs...)
}

// Tokens that an event and an invocation seldom exceed, for Warnings.
const (
	usualEvent      = 250
	usualInvocation = 1000
)

// Warnings returns what is allowed in a valid configuration and may not be meant: triggers that never ask for
// a compaction, or whose compactions never happen, and keys that do nothing without another one.
func (c Config) Warnings() (warnings []string) {
	set := c
	c, err := c.complete()
	if err != nil {
		return nil
	}
	say := func(format string, args ...any) {
		warnings = append(warnings, "compaction: "+fmt.Sprintf(format, args...))
	}

	// Triggers that another one forestalls.
	share := int(set.Fraction * float64(c.Window))
	switch {
	case set.Trigger > 0 && share > set.Trigger:
		say(
			"fraction %v never asks for a compaction: it is %d tokens, and trigger is %d, which is reached first",
			set.Fraction,
			share,
			set.Trigger,
		)
	case share > 0 && set.Trigger > share:
		say(
			"trigger %d never asks for a compaction: fraction %v is %d tokens, which are reached first",
			set.Trigger,
			set.Fraction,
			share,
		)
	}
	if c.Events > 0 && c.Events <= 2*c.Invocations {
		say(
			"invocations %d never asks for a compaction: an invocation has at least two events, so events %d is reached first",
			c.Invocations,
			c.Events,
		)
	}

	// Keys that need another one.
	if set.Clear.Trigger == 0 && (set.Clear.Keep > 0 || set.Clear.Min > 0 || len(set.Clear.Except) > 0) {
		say("clear.trigger is not set, so the old results that clear describes are never looked for")
	}
	if set.Keep.Tokens > 0 && !set.Keep.Any() {
		say("keep.tokens %d bounds nothing: keep names no authors, tools or events", set.Keep.Tokens)
	}

	// Triggers by number whose compactions would not happen, in a session of events of the usual size.
	for _, by := range []struct {
		name  string
		n     int
		usual int
	}{
		{"events", c.Events, usualEvent},
		{"invocations", c.Invocations, usualInvocation},
	} {
		k := newCompactor(c)
		k.Count = func(*genai.Content) int { return by.usual }
		inv := &session.Invocation{}
		for seq := range int64(by.n) {
			inv.Live = append(inv.Live, &session.Event{Seq: seq + 1, Content: &genai.Content{}})
		}
		p := plan.Make(k.settings, k.meter(inv.Live), inv, plan.Task{Trigger: by.name})
		if by.n > 0 && p.Declined != "" {
			say(
				"%s %d starts no compaction yet if each of the %s has %d tokens: %s; sizes that are not set scale with the view",
				by.name,
				by.n,
				by.name,
				by.usual,
				p.Why,
			)
		}
	}
	return warnings
}
