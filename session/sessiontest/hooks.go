package sessiontest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// Hooks tests a store that is a session.HookKeeper: what it keeps is there in order, for as long as it is wanted, and goes with
// its session.
func Hooks(t *testing.T, s session.Service) {
	keeper := s.(session.HookKeeper)
	ctx := t.Context()
	key := session.Key{App: "app", User: "ada", ID: "hooks"}
	other := session.Key{App: "app", User: "bob", ID: "hooks"}
	gone := session.Key{App: "app", User: "eve", ID: "hooks"}
	list, err := keeper.Hooks(ctx, key)
	require.NoError(t, err)
	require.Empty(t, list, "a session that is not there has none")
	for _, k := range []session.Key{key, other} {
		_, err := s.Create(ctx, k, nil)
		require.NoError(t, err)
	}
	record := func(name string) session.HookRecord {
		return session.HookRecord{
			Time: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), Invocation: "i", Event: "e", Plugin: name, Hook: "OnEvent",
			Did: []string{"replaced"}, Reason: "because\xff", Nanoseconds: 1500,
		}
	}
	long := time.Now().Add(-time.Hour)
	require.NoError(t, keeper.KeepHooks(ctx, long, map[session.Key][]session.HookRecord{
		key: {record("a"), record("b")}, other: {record("x")}, gone: {record("y")},
	}))
	require.NoError(t, keeper.KeepHooks(ctx, long, map[session.Key][]session.HookRecord{key: {record("c")}}))
	names := func(k session.Key) (names []string) {
		list, err := keeper.Hooks(ctx, k)
		require.NoError(t, err)
		for _, r := range list {
			names = append(names, r.Plugin)
		}
		return names
	}
	require.Equal(t, []string{"a", "b", "c"}, names(key))
	require.Equal(t, []string{"x"}, names(other))
	list, err = keeper.Hooks(ctx, key)
	require.NoError(t, err)
	want := record("a")
	want.Reason = "because\uFFFD"
	require.Equal(t, want, list[0])

	// A session that is deleted and made again has none of the old one.
	require.NoError(t, s.Delete(ctx, other))
	_, err = s.Create(ctx, other, nil)
	require.NoError(t, err)
	require.Empty(t, names(other))

	// What is older than is wanted goes.
	require.NoError(t, keeper.KeepHooks(ctx, time.Now().Add(time.Hour), nil))
	require.Empty(t, names(key))
}
