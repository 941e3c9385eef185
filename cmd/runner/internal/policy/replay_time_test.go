package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// Turns are played in the order of their times, and of one time in that of the files; what goes on with an invocation that
// another has interrupted, and what a plugin alone says, is a turn with which no run begins.
func TestTurnsInTime(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
	event := func(author, invocation string, minute int) *session.Event {
		return &session.Event{Author: author, InvocationID: invocation, Timestamp: at(minute)}
	}
	rewind := event(session.User, "a2", 9)
	rewind.Actions.Rewind = &session.Rewind{To: 1}
	recs := []*session.Recording{
		{Events: []*session.Event{event(session.User, "a1", 5), event("bot", "a1", 6), event(session.User, "a2", 7), event("bot", "a1", 8), rewind}},
		{Events: []*session.Event{event("bot", "b1", 1), event(session.User, "b2", 5), event(session.PluginPrefix+"guardrail", "b3", 7), event("bot", "b3", 8)}},
		{Events: []*session.Event{event(session.User, "c1", 0), event(session.User, "c1", 5)}},
	}
	require.Equal(t, []timedTurn{
		{session: 2, at: at(0), begins: true},
		{session: 1, at: at(1), begins: true},
		{session: 0, at: at(5), begins: true},
		{session: 1, at: at(5), begins: true},
		{session: 2, at: at(5), begins: true},
		{session: 0, at: at(7), begins: true},
		{session: 1, at: at(7), begins: true}, // the agent's answer is in it, too
		{session: 0, at: at(8)},
		{session: 0, at: at(9)},
	}, turnsInTime(recs))
}
