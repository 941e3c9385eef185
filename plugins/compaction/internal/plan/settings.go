package plan

// Settings are what a Plan follows. They are those of the plugin's configuration, with its defaults.
type Settings struct {
	Budget      int
	Trigger     int
	Events      int
	Invocations int
	Summary     int
	Tail        int
	MinGain     int
	Keep        Keep
	Clear       Clear

	// Scales says which of the sizes were not set, so that they scale with the view.
	Scales struct{ Summary, Tail, MinGain bool }
	// TextOnly leaves out the words that a prompt puts around a summary.
	TextOnly bool
}

// Keep names events that stay as they are, up to Tokens. If they have more, the summary has the first lines
// of the oldest.
type Keep struct {
	Authors []string `yaml:"authors" json:"authors,omitempty" jsonschema:"authors whose events stay, such as plugin/notes"`
	Tools   []string `yaml:"tools" json:"tools,omitempty" jsonschema:"tools whose calls stay, with their responses"`
	Events  []string `yaml:"events" json:"events,omitempty" jsonschema:"ids of events that stay"`
	Tokens  int      `yaml:"tokens" json:"tokens,omitempty" jsonschema:"tokens of all events that keep names; if they have more, the summary has only the first lines of the oldest; a sixteenth of trigger if not set and keep names any"`
}

// Any reports whether Keep names anything.
func (k Keep) Any() bool { return len(k.Authors)+len(k.Tools)+len(k.Events) > 0 }

// Clear says which results of tools are cleared: the prompt has a stub in place of each.
type Clear struct {
	Trigger int      `yaml:"trigger" json:"trigger,omitempty" jsonschema:"clears old results of tools when the live view has so many tokens, before anything is summarized; never if not set"`
	Keep    int      `yaml:"keep" json:"keep,omitempty" jsonschema:"how many of the latest results stay; 3 if not set"`
	Except  []string `yaml:"except" json:"except,omitempty" jsonschema:"tools whose results stay"`
	Min     int      `yaml:"min" json:"min,omitempty" jsonschema:"tokens from which on a result is cleared; 128 if not set"`
	// Artifacts counts for all results that are cleared, also for those that a compaction clears because the
	// prompt has no room for them. It needs Config.Artifacts.
	Artifacts int `yaml:"artifacts" json:"artifacts,omitempty" jsonschema:"tokens from which on a result that is cleared is also saved as an artifact, as JSON, for people and tools; never if not set"`
}

// Sizes returns how many tokens the summary and the tail of a view with so many tokens may have, and how many
// a compaction must save. A size that was not set is a share of the view, or of Trigger if the view is
// larger.
func (s *Settings) Sizes(view int) (summary, tail, minGain int) {
	view = min(view, s.Trigger)
	summary = s.Summary
	if s.Scales.Summary {
		summary = min(view/4, largestSummary)
	}
	tail = s.Tail
	if s.Scales.Tail {
		tail = view / 8
	}
	minGain = s.MinGain
	if s.Scales.MinGain {
		minGain = max(view/10, min(Smallest, s.Trigger/10))
	}
	return summary, tail, minGain
}

// largestSummary is the most tokens that a summary has by default.
const largestSummary = 8192

// Smallest is the least number of tokens that a prompt may be limited to.
const Smallest = 64
