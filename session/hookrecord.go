package session

import (
	"context"
	"iter"
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
	Did    []string      `json:"did,omitzero"`
	Reason string        `json:"reason,omitzero"`
	Error  string        `json:"error,omitzero"`
	Took   time.Duration `json:"took,format:nano"`
}

// A HookKeeper is a Service that can keep the hook calls of its sessions beside their events. They go with the session.
type HookKeeper interface {
	Service
	// KeepHooks adds records to a session, and deletes those of all sessions that were added before the time. It does
	// nothing for a session that is not there.
	KeepHooks(ctx context.Context, key Key, before time.Time, records ...HookRecord) error
	// Hooks yields the records of a session, in the order in which they were added. After an error it ends.
	Hooks(ctx context.Context, key Key) iter.Seq2[HookRecord, error]
}
