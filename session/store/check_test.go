package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

func TestCheckCompaction(t *testing.T) {
	msg := func() *session.Event { return session.Message("x") }
	// 1 message, 2 call, 3 message, 4 its response, 5 open call, 6 message
	plain := session.Live(logtest.Numbered(msg(), logtest.Call("1"), msg(), logtest.Answer("1"),
		logtest.Call("2"), msg()))
	// the same, then 7 a compaction through 3 that keeps 2 and, beyond its Through, 4
	headed := session.Live(append(logtest.Numbered(msg(), msg(), msg(), msg(), msg(), msg()),
		&session.Event{Seq: 7, Actions: logtest.Compaction(3, 0, 2).Actions}))
	// 1 message, 2 call, 3 and 4 the conversation with the agent that answers it, 5 another conversation
	in := func(branch string) *session.Event { e := msg(); e.Branch = branch; return e }
	talk := []*session.Event{msg(), logtest.Call("1"), in("x@1"), in("x@1.p.y"), in("x@10")}
	asking, asked := logtest.Numbered(
		talk...), logtest.Numbered(
		append(talk[:5:5], logtest.Answer("1"))...)
	for _, c := range []struct {
		name     string
		live     []*session.Event
		frontier int64
		e        *session.Event
		want     string // part of the error, "" for none
	}{
		{"all up to the pair", plain, 0, logtest.Compaction(4, 0), ""},
		{"keeping the open call", plain, 0, logtest.Compaction(6, 0, 5), ""},
		{"keeping the pair", plain, 0, logtest.Compaction(4, 0, 2, 4), ""},
		{"before the call", plain, 0, logtest.Compaction(1, 0), ""},
		{"keeping a call, its response in the tail", plain, 0, logtest.Compaction(3, 0, 2), ""},
		{"through itself", plain, 0, logtest.Compaction(7, 0, 5), "does not point backward"},
		{"through beyond", plain, 0, logtest.Compaction(70, 0), "does not point backward"},
		{"through negative", plain, 0, logtest.Compaction(-1, 0), "does not point backward"},
		{"frontier too new", plain, 0, logtest.Compaction(4, 3), "its author knew the log up to the compaction or rewind at 3, the last is at 0"},
		{"frontier too old", headed, 7, logtest.Compaction(4, 0), "the last is at 7: read the live view and summarize again"},
		{"keep descending", plain, 0, logtest.Compaction(4, 0, 3, 1), "is not ascending"},
		{"keep twice", plain, 0, logtest.Compaction(4, 0, 1, 1), "is not ascending"},
		{"keep beyond through", plain, 0, logtest.Compaction(1, 0, 3), "up to through 1"},
		{"keep unknown", plain, 0, logtest.Compaction(4, 0, 0, 2, 4), "keep 0 is not a live event"},
		{"keep what was compacted", headed, 7, logtest.Compaction(4, 7, 1), "keep 1 is not a live event"},
		{"keep the compaction", headed, 7, logtest.Compaction(7, 7, 7), "keep 7 is not a live event"},
		{"keep all", plain, 0, logtest.Compaction(2, 0, 1, 2), "covers nothing"},
		{"nothing new, up to more", headed, 7, logtest.Compaction(4, 7, 2, 4), "covers nothing"},
		{"the same", headed, 7, logtest.Compaction(3, 7, 2), ""},
		{"what was kept", headed, 7, logtest.Compaction(3, 7), ""},
		{"more, still keeping", headed, 7, logtest.Compaction(5, 7, 2, 4), ""},
		{"less", headed, 7, logtest.Compaction(2, 7), "shrinks what the one at 7 covers, through 3"},
		{"on an empty log", nil, 0, logtest.Compaction(1, 0), "does not point backward"},
		{"the call alone", plain, 0, logtest.Compaction(2, 0), `covers only one of the call "1" (f) at 2 and its response at 4`},
		{"the response alone", plain, 0, logtest.Compaction(4, 0, 2), `covers only one of the call "1"`},
		{"the open call", plain, 0, logtest.Compaction(5, 0), `covers event 5 of the call "2" (f) at 5, which is open`},
		{"the conversation of an open call", asking, 0, logtest.Compaction(3, 0, 2), `covers event 3 of the call "1" (f) at 2, which is open`},
		{"what is below it", asking, 0, logtest.Compaction(4, 0, 2, 3), `covers event 4 of the call "1"`},
		{"what is not", asking, 0, logtest.Compaction(5, 0, 2, 3, 4), ""},
		{"the conversation of an answered call", asked, 0, logtest.Compaction(6, 0), ""},
		{"the conversation alone", asked, 0, logtest.Compaction(4, 0, 2), ""},
		{"with a call", plain, 0, &session.Event{Content: logtest.Call("9").Content, Actions: logtest.Compaction(4, 0).Actions}, "carries a function call"},
		{"with a response", plain, 0, &session.Event{Content: logtest.Answer("2").Content, Actions: logtest.Compaction(4, 0).Actions}, "carries a function call or response"},
	} {
		t.Run(c.name, func(t *testing.T) {
			seq := int64(len(plain)) + 1
			if c.frontier != 0 {
				seq = 8
			}
			if c.live == nil {
				seq = 1
			}
			err := store.CheckCompaction(c.live, c.frontier, seq, c.e)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, session.ErrInvalid)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestCheckRewind(t *testing.T) {
	e := func(change func(*session.Event)) *session.Event {
		e := &session.Event{ID: "r", Actions: session.Actions{Rewind: &session.Rewind{To: 3}}}
		change(e)
		return e
	}
	for name, c := range map[string]struct {
		e    *session.Event
		want string
	}{
		"plain":        {e(func(*session.Event) {}), ""},
		"to 0":         {e(func(e *session.Event) { e.Actions.Rewind.To = 0 }), ""},
		"voids none":   {e(func(e *session.Event) { e.Actions.Rewind.To = 4 }), ""},
		"stamped":      {e(func(e *session.Event) { e.Author, e.InvocationID, e.Branch = "plugin/rewind", "i", "a" }), ""},
		"noted":        {e(func(e *session.Event) { e.CustomMetadata = map[string]any{"plughook": map[string]any{}} }), ""},
		"to itself":    {e(func(e *session.Event) { e.Actions.Rewind.To = 5 }), "does not point backward"},
		"to negative":  {e(func(e *session.Event) { e.Actions.Rewind.To = -1 }), "does not point backward"},
		"content":      {e(func(e *session.Event) { e.Content = &genai.Content{} }), "too; emit that as an event of its own"},
		"state":        {e(func(e *session.Event) { e.Actions.StateDelta = map[string]any{"k": 1} }), "too; emit that as an event of its own"},
		"an error":     {e(func(e *session.Event) { e.ErrorMessage = "x" }), "too; emit that as an event of its own"},
		"transfer":     {e(func(e *session.Event) { e.Actions.TransferToAgent = "x" }), "too; emit that as an event of its own"},
		"long running": {e(func(e *session.Event) { e.LongRunningToolIDs = []string{"1"} }), "too; emit that as an event of its own"},
	} {
		err := store.CheckRewind(5, c.e)
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, session.ErrInvalid, name)
		require.ErrorContains(t, err, c.want, name)
	}
}
