package policy

import (
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// The live view of a replay is the store's after each event, compactions and rewinds among them,
// and what was read once is not decoded again.
func TestReplayStoreReadsOnce(t *testing.T) {
	f, err := os.Open("../../testdata/rich.jsonl")
	require.NoError(t, err)
	defer f.Close()
	ctx, sel := t.Context(), session.Selection{Live: true}
	live := func(svc session.Service, key session.Key, sel session.Selection) (list []*session.Event) {
		for e, err := range svc.Read(ctx, key, sel) {
			require.NoError(t, err)
			list = append(list, e)
		}
		return list
	}
	shared, marks := 0, 0
	for rec, err := range session.ReadRecordings(f.Name(), f) {
		require.NoError(t, err)
		svc := newReplayStore()
		_, err := svc.Create(ctx, rec.Key, rec.State)
		require.NoError(t, err)
		var before []*session.Event
		for i, e := range rec.Events {
			_, err := svc.Append(ctx, session.AppendTarget{Key: rec.Key, After: int64(i)},
				e.Clone())
			require.NoError(t, err)
			now := live(svc, rec.Key, sel)
			require.Equal(t, live(svc.Service, rec.Key, sel), now)
			if e.Marker() {
				marks++
			} else {
				require.Len(t, now, len(before)+1)
				for i := range before {
					require.Same(t, before[i], now[i])
					shared++
				}
			}
			before = now
		}
		require.Equal(t, live(svc.Service, rec.Key, session.Selection{Last: 2}),
			live(svc, rec.Key, session.Selection{Last: 2}))
	}
	require.Positive(t, shared)
	require.GreaterOrEqual(t, marks, 2)

	svc := newReplayStore()
	for _, err := range svc.Read(ctx, session.Key{App: "a", User: "u", ID: "none"}, sel) {
		require.ErrorIs(t, err, session.ErrNotFound)
	}
	_, err = svc.Create(ctx, session.Key{App: "a", User: "u", ID: "s"}, nil)
	require.NoError(t, err)
	done, cancel := context.WithCancel(ctx)
	cancel()
	for _, err := range svc.Read(done, session.Key{App: "a", User: "u", ID: "s"}, sel) {
		require.ErrorIs(t, err, context.Canceled)
	}
}

// Of so many sessions the views are kept, and no more.
func TestReplayStoreForgets(t *testing.T) {
	ctx := t.Context()
	svc := newReplayStore()
	for i := range 2 * mostViews {
		key := session.Key{App: "a", User: "u", ID: strconv.Itoa(i)}
		_, err := svc.Create(ctx, key, nil)
		require.NoError(t, err)
		for n := range 4 {
			_, err := svc.Append(ctx, session.AppendTarget{Key: key, After: int64(n)},
				session.Message("hi"))
			require.NoError(t, err)
			read := 0
			for _, err := range svc.Read(ctx, key, session.Selection{Live: true}) {
				require.NoError(t, err)
				read++
			}
			require.Equal(t, n+1, read)
			require.LessOrEqual(t, len(svc.views), mostViews)
			require.Contains(t, svc.views, key)
		}
	}
	require.Greater(t, len(svc.views), 1)
}
