package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/store"
)

// A view that follows a session, event by event, is at each position what the store says.
func TestViewIsTheFold(t *testing.T) {
	values := []any{
		nil,
		1,
		int64(1 << 60),
		2.5,
		1e16,
		"x",
		"a\xffb",
		true,
		(*int)(nil),
		json.Number("9007199254740993"),
		struct{ A int }{1},
		[]string{"a"},
		map[string]any{"n": 1},
	}
	rapid.Check(t, func(rt *rapid.T) {
		ctx, svc := t.Context(), memory.New()
		s, err := svc.Create(ctx, session.Key{App: "a", User: "u"},
			map[string]any{"k": 1, "app:n": 40, "user:n": json.Number("9007199254740993")})
		require.NoError(rt, err)
		open := func() *store.View {
			s, err := svc.Get(ctx, s.Key)
			require.NoError(rt, err)
			return store.NewView(s, read(rt, ctx, svc, s.Key, session.Selection{Live: true}))
		}
		view := open()
		type moment struct {
			live []*session.Event
			seqs []int64
			text string
		}
		var moments []moment
		for i, e := range logtest.Draw(rt, 25) {
			if !e.Marker() && e.Content == nil || e.Actions.StateDelta != nil {
				e.Actions.StateDelta = rapid.MapOfN(rapid.SampledFrom([]string{"k", "l", "app:v", "user:v"}), rapid.SampledFrom(values), 0, 3).
					Draw(rt, "delta")
				e.Actions.StateIncrement = rapid.MapOfN(rapid.SampledFrom([]string{"app:n", "user:n", "user:m"}), rapid.Float64Range(-2, 2), 0, 2).
					Draw(rt, "increment")
			}
			_, err := svc.Append(ctx, session.AppendTarget{Key: s.Key, After: int64(i)}, e)
			require.NoError(rt, err)
			if !view.Append(e) {
				require.NotNil(rt, e.Actions.Rewind)
				view = open()
			}
			now := open()
			require.Equal(rt, logtest.Positions(now.Live()), logtest.Positions(view.Live()))
			require.Equal(rt, now.State(), view.State())
			require.Equal(rt, now.Position(), view.Position())
			require.Equal(rt, now.Frontier(), view.Frontier())
			moments = append(moments,
				moment{view.Live(), logtest.Positions(view.Live()), fmt.Sprint(view.State())})
		}
		for _, m := range moments {
			require.Equal(rt, m.seqs, logtest.Positions(m.live),
				"a live view that was handed out has changed")
		}
	})
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

// What a View returned does not change, neither by what is appended nor by what a holder appends.
func TestViewIsNotShared(t *testing.T) {
	v := store.NewView(&session.Session{State: map[string]any{"k": 1.0}},
		make([]*session.Event, 0, 8))
	require.True(t, v.Append(&session.Event{Seq: 1}))
	live, state := v.Live(), v.State()
	_ = append(live, &session.Event{Seq: 99})
	require.True(t, v.Append(&session.Event{
		Seq:     2,
		Actions: session.Actions{StateDelta: map[string]any{"k": 2.0, "temp:t": func() {}}},
	}))
	v.Set(map[string]any{"l": 3.0})
	require.Equal(t, []int64{1}, logtest.Positions(live))
	require.Equal(t, map[string]any{"k": 1.0}, state)
	require.Equal(t, []int64{1, 2}, logtest.Positions(v.Live()))
	require.Contains(t, v.State(), "temp:t", "a temp: key stays as it is")
	require.Equal(t, 2.0, v.State()["k"])
	require.False(t,
		v.Append(&session.Event{Seq: 3, Actions: session.Actions{Rewind: &session.Rewind{}}}))
	require.Equal(t, int64(2), v.Position())
}

// Two views that came from one slice of events do not write into each other's.
func TestViewsOfOneSlice(t *testing.T) {
	events := slices.Grow([]*session.Event{{Seq: 1}}, 8)
	one, two := store.NewView(&session.Session{}, events), store.NewView(&session.Session{}, events)
	one.Append(&session.Event{Seq: 2, ID: "one"})
	two.Append(&session.Event{Seq: 2, ID: "two"})
	require.Equal(t, "one", one.Live()[1].ID)
}

func TestSplitTemp(t *testing.T) {
	temp, rest := store.SplitTemp(map[string]any{"temp:a": 1, "k": 2, "app:b": 3})
	require.Equal(t, map[string]any{"temp:a": 1}, temp)
	require.Equal(t, map[string]any{"k": 2, "app:b": 3}, rest)
	delta := map[string]any{"k": 2}
	temp, rest = store.SplitTemp(delta)
	require.Nil(t, temp)
	require.Equal(t, delta, rest)
	temp, rest = store.SplitTemp(map[string]any{"temp:a": 1})
	require.Equal(t, map[string]any{"temp:a": 1}, temp)
	require.Empty(t, rest)
	temp, rest = store.SplitTemp(map[string]any{"temp:a": nil, "k": nil})
	require.Equal(t, map[string]any{"temp:a": nil}, temp, "nil deletes the key")
	require.Equal(t, map[string]any{"k": nil}, rest)
}
