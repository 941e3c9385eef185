package session

import (
	"context"
	"time"
)

// A HookRecord says what a plugin was asked about and what it answered, for people who look at a session later. Decisions are
// in the log; a HookRecord also tells of who did nothing, and of how long each took. It has no content.
type HookRecord struct {
	Time       time.Time `json:"time"`
	Invocation string    `json:"invocation"`
	// Event is the ID of the event at hand; "" in hooks that are about none.
	Event  string `json:"event,omitzero"`
	Plugin string `json:"plugin"`
	Hook   string `json:"hook"`
	// Did are the words for what the hook asked for (see runner.HookCall.Did); empty if it asked for nothing. "noted"
	// stands for "replaced" where the content is the same, and "asked" for "emitted" where that is a question.
	Did    []string `json:"did,omitzero"`
	Reason string   `json:"reason,omitzero"`
	Error  string   `json:"error,omitzero"`
	// Nanoseconds is how long the call took.
	Nanoseconds int64 `json:"nanoseconds"`
}

// Took is how long the call took.
func (r HookRecord) Took() time.Duration { return time.Duration(r.Nanoseconds) }

// A HookKeeper is a Service that can keep the hook calls of its sessions beside their events. They go with the session.
type HookKeeper interface {
	Service
	// KeepHooks adds records to sessions, in one step, and deletes those that any session has from before a time. What is
	// not there any more gets none.
	KeepHooks(ctx context.Context, before time.Time, records map[Key][]HookRecord) error
	// Hooks returns the records of a session, in the order in which they were added; none if the session is not there.
	Hooks(ctx context.Context, key Key) ([]HookRecord, error)
}
