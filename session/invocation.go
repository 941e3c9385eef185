package session

// An Invocation is one run on a session as a plugin or an agent sees it at one moment: a snapshot,
// which does not change while it is held. It is shared, so treat what it points to as read only.
type Invocation struct {
	// ID names the invocation.
	ID string
	// Key names the session.
	Key Key
	// Input is the caller's event as it is in the log: nil before it is there, and to the end if there
	// is none or a plugin has withheld it.
	Input *Event
	// Config is how the caller wants it run.
	Config RunConfig
	// Live is the live view: head, kept, tail (see Live).
	Live []*Event
	// State is the state: the session's keys, and those with the prefixes "app:", "user:" and "temp:".
	State map[string]any
	// Position is the position of the last event in the log, Frontier that of the last compaction or
	// rewind.
	Position, Frontier int64
}

// A RunConfig is what a caller can ask of one run. The zero RunConfig is the usual.
type RunConfig struct {
	// Create makes the session if it is not there.
	Create bool
	// Streaming says whether partial events are wanted, and whether the run is a live one.
	Streaming Streaming
	// NoAgent says that the input goes into the log, with all that plugins do about it, and that no agent
	// runs: for an input that only changes state.
	NoAgent bool
}

// Streaming is how a run is streamed.
type Streaming string

// Ways to stream.
const (
	NoStreaming Streaming = ""     // whole events only: the runner drops partial ones
	SSE         Streaming = "sse"  // partial events as the model makes them
	Bidi        Streaming = "bidi" // a live session: inline audio is yielded and not appended
)
