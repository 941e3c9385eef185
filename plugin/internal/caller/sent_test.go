package caller

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// complete completes a call of a hook, and returns its invocation as the plugin gets it.
func complete(
	t *testing.T,
	x *Sent,
	inv *session.Invocation,
	hook plugin.Hook,
	e *session.Event,
) *wire.Invocation {
	t.Helper()
	args := plugin.Args{Hook: hook, Event: e}
	call, err := NewCall(args)
	require.NoError(t, err)
	require.NoError(t, x.Complete(call, inv, args))
	return call.Invocation
}

// in returns an invocation in the session of that name, with events at positions from 1.
func in(name, run string, live ...string) *session.Invocation {
	inv := &session.Invocation{ID: run, Key: session.Key{App: "app", User: "ann", ID: name}}
	for i, id := range live {
		e := session.Reply("text of " + id)
		e.ID = id
		e.Seq = int64(i + 1)
		inv.Live = append(inv.Live, e)
	}
	return inv
}

// forgotten returns the sessions that the plugin is to forget after a call in the session but.
func forgotten(x *Sent, but session.Key) (names []string) {
	for {
		key, ok := x.Forget(but)
		if !ok {
			return names
		}
		names = append(names, key.ID)
	}
}

func TestSessionsUsedLongestAgoAreForgotten(t *testing.T) {
	var x Sent
	for i := range maxSessions {
		inv := in(fmt.Sprint(i), "run")
		complete(t, &x, inv, plugin.BeforeRun, nil)
		require.Empty(t, forgotten(&x, inv.Key))
	}
	first := in("0", "run")
	require.False(t, complete(t, &x, first, plugin.BeforeRun, nil).Fresh)
	one := in("one more", "run")
	complete(t, &x, one, plugin.BeforeRun, nil)
	require.Equal(t, []string{"1"}, forgotten(&x, one.Key))
	require.True(t, complete(t, &x, in("1", "run"), plugin.BeforeRun, nil).Fresh)
}

// Events, offered events, state and contents: whatever it is that is large.
func TestSessionsAreForgottenByTheirBytes(t *testing.T) {
	large := strings.Repeat("x", maxBytes/8)
	for name, invocation := range map[string]func(inv *session.Invocation){
		"events": func(inv *session.Invocation) {
			inv.Live = []*session.Event{session.Reply(large)}
			inv.Live[0].Seq = 1
		},
		"state": func(inv *session.Invocation) { inv.State = map[string]any{"large": large} },
		"small values": func(inv *session.Invocation) {
			inv.State = map[string]any{"list": make([]any, maxBytes/8/40)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var x Sent
			gone := 0
			for i := range 12 {
				inv := in(fmt.Sprint(i), "run")
				invocation(inv)
				complete(t, &x, inv, plugin.BeforeRun, nil)
				gone += len(forgotten(&x, inv.Key))
				require.LessOrEqual(t, x.bytes, maxBytes)
			}
			require.Greater(t, gone, 3)
			for key := range x.sessions {
				x.Drop(key)
			}
			require.Zero(t, x.bytes)
			require.Zero(t, x.recent.Len())
		})
	}
}

func TestASessionThatNobodyUsesIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Sent
		complete(t, &x, in("old", "run"), plugin.BeforeRun, nil)
		time.Sleep(maxIdle + time.Second)
		now := in("new", "run")
		complete(t, &x, now, plugin.BeforeRun, nil)
		require.Equal(t, []string{"old"}, forgotten(&x, now.Key))
		require.Empty(t, forgotten(&x, now.Key), "the session that has a call is kept")
		time.Sleep(maxIdle + time.Second)
		require.Empty(t, forgotten(&x, now.Key))
	})
}

// Who deletes a session and makes another one under its key must not have the plugin see the old
// one's events in the new one.
func TestAnotherSessionUnderTheSameKeyIsSentAnew(t *testing.T) {
	for _, run := range []string{"run 2", "run 1"} { // an invocation's ID may be the caller's
		t.Run(run, func(t *testing.T) {
			var x Sent
			complete(t, &x, in("s", "run 1", "a", "b"), plugin.BeforeRun, nil)
			w := complete(t, &x, in("s", run, "c", "d"), plugin.BeforeRun, nil)
			require.True(t, w.Fresh)
			require.Len(t, w.Events, 2)
		})
	}
}

// Also one whose events have the IDs and times of the one that was deleted: an export that somebody
// has edited was imported.
func TestAnEditedSessionUnderTheSameKeyIsSentAnew(t *testing.T) {
	x := &Sent{}
	key := session.Key{App: "app", User: "ann", ID: "s"}
	one := session.Message("a secret")
	one.ID = "1"
	one.Seq = 1
	edited := one.Clone()
	edited.Content.Parts[0].Text = "[taken out]"
	w, err := x.invocation(
		&session.Invocation{ID: "i", Key: key, Number: 1, Live: []*session.Event{one}, Position: 1})
	require.NoError(t, err)
	require.Len(t, w.Events, 1)
	w, err = x.invocation(
		&session.Invocation{ID: "i", Key: key, Number: 1, Live: []*session.Event{one}, Position: 1})
	require.NoError(t, err)
	require.Empty(t, w.Events)
	w, err = x.invocation(&session.Invocation{
		ID:       "i",
		Key:      key,
		Number:   2,
		Live:     []*session.Event{edited},
		Position: 1,
	})
	require.NoError(t, err)
	require.True(t, w.Fresh)
	require.Len(t, w.Events, 1)
	require.Contains(t, string(w.Events[0]), "[taken out]")
}

// A plugin may drop what is not live any more. If a rewind revives it, it is sent again.
func TestWhatIsNotLiveIsSentAgain(t *testing.T) {
	var x Sent
	all := in("s", "run", "a", "b", "c", "d", "e")
	require.Len(t, complete(t, &x, all, plugin.BeforeRun, nil).Events, 5)
	full := x.bytes
	compacted := in("s", "run", "a", "b", "c", "d", "e")
	compacted.Live = compacted.Live[4:]
	require.Empty(t, complete(t, &x, compacted, plugin.BeforeRun, nil).Events)
	require.Less(t, x.bytes, full, "they are not counted any more")
	w := complete(t, &x, all, plugin.BeforeRun, nil)
	require.Len(t, w.Events, 4)
	require.False(t, w.Fresh)
	require.Equal(t, full, x.bytes)
}

// A plugin without AfterRun is offered events that do not get into the log as they were, too.
func TestOfferedEventsAreDropped(t *testing.T) {
	var x Sent
	complete(t, &x, in("s", "run 1"), plugin.BeforeRun, nil)
	empty := x.bytes
	offered := session.Reply("something that was replaced")
	offered.ID = "o"
	complete(t, &x, in("s", "run 1"), plugin.OnEvent, offered)
	require.Greater(t, x.bytes, empty)
	complete(t, &x, in("s", "run 2"), plugin.BeforeRun, nil)
	require.Equal(t, empty, x.bytes, "another invocation has begun")

	// In one long invocation the session is sent anew.
	large := strings.Repeat("x", 4<<20)
	fresh := 0
	for i := range 12 {
		offered := session.Reply(large)
		offered.ID = fmt.Sprint("o", i)
		if complete(t, &x, in("s", "run 2"), plugin.OnEvent, offered).Fresh {
			fresh++
		}
		require.Less(t, x.bytes, maxOffered+10<<20)
	}
	require.Greater(t, fresh, 1)
}
