package session_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
)

// Live(fork) == Live(log[:n]) and State(fork) == State(log[:n]), whatever the log; the session that was forked and
// the shared state stay as they are, also when the fork goes on where that one did.
func TestLawOfFork(t *testing.T) {
	memory := memory.New()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	number := 0
	for name, svc := range map[string]session.Service{"memory": memory, "sqlite": db} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				number++
				log := logtest.Draw(rt, 25)
				for _, e := range log {
					if e.Actions.Rewind == nil && rapid.IntRange(0, 3).Draw(rt, "adds") == 0 {
						e.Actions.StateIncrement = map[string]float64{
							"user:count": 1,
							"app:count":  2,
						}
					}
				}
				rec := &session.Recording{
					Key: session.Key{App: fmt.Sprint("a", number), User: "u", ID: "old"},
					State: map[string]any{
						"k":      "initial",
						"o":      1.0,
						"app:a":  "initial",
						"user:u": "initial",
					},
					Events: log,
				}
				require.NoError(rt, session.Import(context.Background(), svc, rec))
				n := rapid.IntRange(0, len(log)).Draw(rt, "at")
				before := exported(rt, svc, rec.Key)
				was, err := svc.Get(context.Background(), rec.Key)
				require.NoError(rt, err)

				fork, err := session.Fork(context.Background(), svc, rec.Key, int64(n), "new")
				require.NoError(rt, err)
				want := session.State(rec.State, log[:n])
				for _, key := range []string{"app:a", "user:u", "app:count", "user:count"} {
					if v, ok := was.State[key]; ok { // as it is now, for both
						want[key] = v
					}
				}
				require.Equal(rt, want, fork.State)
				require.Equal(rt, int64(n), fork.Position)
				require.Equal(rt, before, exported(rt, svc, rec.Key), "the session that was forked")
				require.Equal(rt, described(rt, session.Live(log[:n])), described(rt, read(rt,
					context.Background(), svc, fork.Key, session.Selection{Live: true})))
				require.Equal(rt, described(rt, log[:n]), described(rt,
					read(rt, context.Background(), svc, fork.Key, session.Selection{})))
				require.Equal(rt, len(session.Calls(session.Live(log[:n]))), len(session.Calls(read(
					rt, context.Background(), svc, fork.Key, session.Selection{Live: true}))))

				next := session.Message("on")
				next.Actions.StateIncrement = map[string]float64{"user:count": 1}
				_, err = svc.Append(context.Background(),
					session.AppendTarget{Key: fork.Key, After: int64(n)}, next)
				require.NoError(rt, err)
				count, _ := was.State["user:count"].(float64)
				for _, key := range []session.Key{rec.Key, fork.Key} {
					now, err := svc.Get(context.Background(), key)
					require.NoError(rt, err)
					require.Equal(rt, count+1, now.State["user:count"])
				}
			})
		})
	}
}

// described says what an event is, but for what it does to shared state.
func described(t require.TestingT, events []*session.Event) []string {
	list := []string{}
	for _, e := range events {
		c := e.Clone()
		c.Actions.StateIncrement, c.Actions.Extra = nil, nil
		for key := range c.Actions.StateDelta {
			if strings.HasPrefix(key, session.AppPrefix) ||
				strings.HasPrefix(key, session.UserPrefix) {
				delete(c.Actions.StateDelta, key)
			}
		}
		if len(c.Actions.StateDelta) == 0 {
			c.Actions.StateDelta = nil
		}
		list = append(list, encode(t, c.WithoutUnknown()))
	}
	return list
}

func exported(t require.TestingT, svc session.Service, key session.Key) string {
	var b strings.Builder
	require.NoError(t, session.Export(context.Background(), svc, key, &b))
	return b.String()
}

func TestFork(t *testing.T) {
	svc := memory.New()
	key := session.Key{App: "a", User: "u", ID: "old"}
	first, second := session.Message("one"), session.Message("two")
	first.ID, second.ID = "1", "2"
	first.Actions.StateDelta = map[string]any{"k": 1.0, "user:gone": nil, "app:a": "x"}
	first.Actions.StateIncrement = map[string]float64{"user:n": 2}
	_, err := svc.Create(t.Context(), key, map[string]any{"app:a": "was", "user:gone": 1})
	require.NoError(t, err)
	_, err = svc.Append(t.Context(), session.AppendTarget{Key: key}, first, second)
	require.NoError(t, err)

	fork, err := session.Fork(t.Context(), svc, key, 1, "")
	require.NoError(t, err)
	require.NotEmpty(t, fork.ID)
	require.Equal(t, map[string]any{"k": 1.0, "app:a": "x", "user:n": 2.0}, fork.State)
	require.Empty(t, fork.Initial, "shared state is not set again")
	events := read(t, context.Background(), svc, fork.Key, session.Selection{})
	require.Len(t, events, 1)
	require.Equal(t, first.ID, events[0].ID)
	require.True(t, first.Timestamp.Equal(events[0].Timestamp))
	require.JSONEq(t,
		`{"stateDelta": {"app:a": "x", "user:gone": null}, "stateIncrement": {"user:n": 2}}`,
		string(events[0].Actions.Extra["forked"]))
	require.Equal(t, map[string]any{"k": 1.0}, events[0].Actions.StateDelta)

	again, err := session.Fork(t.Context(), svc, fork.Key, 1, "again")
	require.NoError(t, err)
	require.Equal(t, encode(t, events[0]),
		encode(t, read(t, context.Background(), svc, again.Key, session.Selection{})[0]),
		"a fork of a fork")

	_, err = svc.Create(t.Context(), session.Key{App: "a", User: "u", ID: "killed"},
		nil) // a process died making it
	require.NoError(t, err)
	killed, err := session.Fork(t.Context(), svc, key, 2, "killed")
	require.NoError(t, err)
	require.EqualValues(t, 2, killed.Position)
	require.Equal(t, fork.State, killed.State)

	for name, tc := range map[string]struct {
		at   int64
		id   string
		want error
	}{
		"ahead":           {3, "x", session.ErrInvalid},
		"before the log":  {-1, "x", session.ErrInvalid},
		"onto itself":     {1, "old", session.ErrExists},
		"onto another":    {1, "again", session.ErrExists},
		"onto one longer": {0, "again", session.ErrExists},
		"an odd name":     {1, "a\x00b", session.ErrInvalid},
	} {
		_, err := session.Fork(t.Context(), svc, key, tc.at, tc.id)
		require.ErrorIs(t, err, tc.want, name)
	}
	empty, err := session.Fork(t.Context(), svc, key, 0, "empty")
	require.NoError(t, err)
	_, err = session.Fork(t.Context(), svc, empty.Key, 0, "empty")
	require.ErrorIs(t, err, session.ErrExists, "onto itself, without events")
	_, err = session.Fork(t.Context(), svc, session.Key{App: "a", User: "u", ID: "none"}, 0, "x")
	require.ErrorIs(t, err, session.ErrNotFound)
	var ids []string
	for s := range svc.List(t.Context(), "", "") {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	require.ElementsMatch(t, []string{"old", fork.ID, "again", "killed", "empty"}, ids,
		"what failed left nothing")
}

func read(
	t require.TestingT,
	ctx context.Context,
	svc session.Service,
	key session.Key,
	sel session.Selection,
) (list []*session.Event) {
	for e, err := range svc.Read(ctx, key, sel) {
		require.NoError(t, err)
		list = append(list, e)
	}
	return list
}
