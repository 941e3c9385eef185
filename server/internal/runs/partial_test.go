package runs

import (
	"io"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// under returns a run that has begun on a session of a store, without a runner: the test says what it yields.
func under(t *testing.T) (*Runs, *Run, session.Service, session.Key) {
	sessions := memory.New()
	t.Cleanup(func() { require.NoError(t, sessions.Close()) })
	key := session.Key{App: "desk", User: "ada", ID: "s"}
	_, err := sessions.Create(t.Context(), key, nil)
	require.NoError(t, err)
	budget := limits.New(limits.Limits{}, slog.New(slog.DiscardHandler))
	run := &Run{
		hold:       budget.Hold("u"),
		budget:     budget,
		Invocation: "i",
		Key:        key,
		begun:      make(chan struct{}),
		done:       make(chan struct{}),
		followers:  map[*RunFollower]struct{}{},
	}
	all := New(budget, slog.New(slog.DiscardHandler))
	all.sessions[key] = &sessionRuns{all: []*Run{run}, begun: run}
	return all, run, sessions, key
}

// piece is a partial event.
func piece(id, text string) *session.Event {
	e := session.Reply(text)
	e.ID = id
	e.InvocationID = "i"
	e.Author = "helper"
	e.Partial = true
	return e
}

// The store may tell of a whole event before the run does. The text of its partial events, which the run
// still has then, would be shown twice.
func TestNoPartialEventFollowsItsWholeOne(t *testing.T) {
	all, run, sessions, key := under(t)
	run.add(piece("e", "Hel"), false)
	run.add(piece("e", "lo"), false)
	whole := piece("e", "Hello")
	whole.Partial = false
	_, err := sessions.Append(t.Context(), session.AppendTarget{Key: key}, whole)
	require.NoError(t, err)

	f, err := all.FollowSession(t.Context(), sessions, key, 0)
	require.NoError(t, err)
	defer f.Close()
	next := func(idle time.Duration) *session.Event {
		e, err := f.Next(t.Context(), idle)
		require.NoError(t, err)
		return e
	}
	const short = 20 * time.Millisecond
	require.Equal(t, "Hello", next(time.Minute).Text())
	require.Nil(t, next(short))
	run.add(whole, false)
	require.Nil(t, next(short))
	run.add(piece("f", "More"), false)
	require.Equal(t, "More", next(time.Minute).Text())
}

func TestPartialEventsAreJoinedAtACostThatGrowsWithTheirText(t *testing.T) {
	_, run, _, _ := under(t)
	const pieces = 20000
	for range pieces {
		run.add(piece("e", "0123456789"), false)
	}
	f := run.Follow(0)
	defer f.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	e, err := f.Next(t.Context(), time.Minute)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Len(t, e.Text(), 10*pieces)
	require.Less(t, after.TotalAlloc-before.TotalAlloc,
		uint64(20<<20)) // it was 2 GB, with the run held up
}

func TestPartialEventsThatAreJoinedKeepTheirParts(t *testing.T) {
	_, run, _, _ := under(t)
	thought := piece("e", "")
	thought.Content.Parts = []*genai.Part{{Text: "Hm", Thought: true}}
	blob := piece("e", "")
	blob.Content.Parts = []*genai.Part{
		{InlineData: &genai.Blob{Data: []byte{1}, MIMEType: "audio/pcm"}},
	}
	empty := piece("e", "")
	empty.Content = nil
	for _, e := range []*session.Event{thought, thought, piece("e", "a"), piece("e", "b"), blob, piece("e", "c"), empty, piece("f", "d")} {
		run.add(e, false)
	}
	f := run.Follow(0)
	defer f.Close()
	e, err := f.Next(t.Context(), time.Minute)
	require.NoError(t, err)
	want := []*genai.Part{
		{Text: "HmHm", Thought: true},
		{Text: "ab"},
		blob.Content.Parts[0],
		{Text: "c"},
	}
	require.Equal(t, want, e.Content.Parts)
	require.Equal(t, genai.RoleModel, e.Content.Role)
	e, err = f.Next(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, "d", e.Text())
	run.finish(t.Context(), nil)
	_, err = f.Next(t.Context(), time.Minute)
	require.Equal(t, io.EOF, err)
}
