package trajectory

// A View says which events of a log a trajectory is made of.
type View string

// The views of a log.
const (
	// Standing has the log without the events that a rewind has taken back. Events that a compaction has
	// summarized are in it in full.
	Standing View = "standing"
	// Live has what the next model request is made of (see session.Live): the events that count, and the newest
	// compaction as a summary of those before.
	Live View = "live"
	// Log has all events; the calls that a rewind voids are marked.
	Log View = "log"
)

// NoLimit as a Config's MaxString cuts nothing.
const NoLimit = -1

// DefaultMaxString is how many characters of a text are kept if a Config does not say so.
const DefaultMaxString = 10_000

// A Config says what goes into a trajectory. The zero Config has everything of the standing view, with the
// values of SensitiveKeys redacted and texts cut to DefaultMaxString characters.
//
// Redaction and cuts are of arguments, responses and state deltas. What users and agents say is not touched, unless Detect
// does it: not the messages, not the final output, reasoning or error. What a guardrail took out of these is not in the log
// either.
type Config struct {
	NoToolCalls, NoStateDeltas, NoTokenUsage, NoRedaction bool
	// SensitiveKeys has the keys whose values are redacted (see Redact). If it is nil, the keys are those that the
	// function SensitiveKeys returns. If it is an empty list, nothing is redacted.
	SensitiveKeys []string
	// ExactKeys compares keys to the letter, and searches no texts.
	ExactKeys bool
	// Detect, if it is not nil, gets each text that is read, and returns what is to be written in its place: in values
	// (not their keys), after their redaction, and in what users, agents and summaries say. The detectors of a guardrail's
	// policy are such a function.
	Detect func(text string) string
	// MaxString is the length in characters (runes) that texts are cut to: 0 is DefaultMaxString, and NoLimit
	// cuts nothing.
	MaxString int
	// Agent limits the trajectory to what this agent did; "" is all agents.
	Agent string
	// View is Standing if it is empty.
	View View
}

// cleaner returns what redacts and cuts as the Config says.
func (c Config) cleaner() cleaner {
	clean := cleaner{exact: c.ExactKeys, detect: c.Detect, limit: c.MaxString}
	if c.MaxString == 0 {
		clean.limit = DefaultMaxString
	}
	keys := c.SensitiveKeys
	if keys == nil {
		keys = SensitiveKeys()
	}
	switch {
	case c.NoRedaction:
	case c.ExactKeys:
		clean.keys = map[string]bool{}
		for _, k := range keys {
			clean.keys[k] = true
		}
	default:
		clean.keys = folded(keys)
	}
	return clean
}
