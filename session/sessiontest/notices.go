package sessiontest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// Notices tests a store that is a session.NoticeKeeper: a notice is due when it was said to be, is taken by one of many,
// changes only as its sender knows it, and goes with its session.
func Notices(t *testing.T, s session.Service) {
	keeper := s.(session.NoticeKeeper)
	ctx := t.Context()
	key := session.Key{App: "app", User: "ada", ID: "notices"}
	other := session.Key{App: "other", User: "ada", ID: "notices"}
	none, err := keeper.TakeNotices(ctx, "app", time.Hour, 10)
	require.NoError(t, err)
	require.Empty(t, none)
	first := session.Notice{Key: key, ID: "1\x00\xff", Data: []byte("a")}
	require.ErrorIs(t, keeper.KeepNotice(ctx, first, 0), session.ErrNotFound)
	_, err = keeper.ReplaceNotice(ctx, session.Notice{Key: key, ID: "1"}, []byte("a"), 0)
	require.ErrorIs(t, err, session.ErrNotFound)
	for _, k := range []session.Key{key, other} {
		_, err := s.Create(ctx, k, nil)
		require.NoError(t, err)
	}
	replace := func(n session.Notice, data []byte, in time.Duration) bool {
		done, err := keeper.ReplaceNotice(ctx, n, data, in)
		require.NoError(t, err)
		return done
	}
	take := func(again time.Duration) []session.Notice {
		list, err := keeper.TakeNotices(ctx, "app", again, 10)
		require.NoError(t, err)
		return list
	}

	// Kept if there is none, and then in place of what is there.
	require.True(t, replace(session.Notice{Key: key, ID: first.ID}, first.Data, 0))
	require.False(t, replace(session.Notice{Key: key, ID: first.ID}, []byte("b"), 0))
	later := session.Notice{Key: key, ID: "later", Data: []byte("c")}
	require.NoError(t, keeper.KeepNotice(ctx, later, time.Hour))
	require.NoError(t, keeper.KeepNotice(ctx, session.Notice{Key: other, ID: "1", Data: []byte("d")}, 0))
	require.Equal(t, []session.Notice{first}, take(time.Hour), "of this app, and due")
	require.Empty(t, take(time.Hour), "it is taken")
	require.NoError(t, keeper.KeepNotice(ctx, later, 0))
	require.Equal(t, []session.Notice{later}, take(0))
	require.Equal(t, []session.Notice{later}, take(time.Hour), "it was due again at once")

	// Who knows another state of it changes nothing.
	require.NoError(t, keeper.KeepNotice(ctx, session.Notice{Key: key, ID: "later", Data: []byte("new")}, 0))
	require.False(t, replace(later, []byte("old"), 0))
	require.False(t, replace(later, nil, 0))
	later.Data = []byte("new")
	require.True(t, replace(later, []byte("newer"), 0))
	later.Data = []byte("newer")
	require.Equal(t, []session.Notice{later}, take(0))
	require.True(t, replace(later, nil, 0))
	require.False(t, replace(later, nil, 0))
	require.Empty(t, take(0))

	// Many take them, each by one.
	for i := range 20 {
		n := session.Notice{Key: key, ID: fmt.Sprint(i), Data: []byte{byte(i)}}
		require.NoError(t, keeper.KeepNotice(ctx, n, 0))
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	taken := map[string]int{}
	for range 4 {
		group.Go(func() {
			for {
				list, err := keeper.TakeNotices(ctx, "app", time.Hour, 3)
				if err != nil || len(list) == 0 {
					return
				}
				mu.Lock()
				for _, n := range list {
					taken[n.ID]++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	require.Len(t, taken, 20)
	for id, times := range taken {
		require.Equal(t, 1, times, id)
	}

	// A session that is deleted and made again has none of the old one.
	require.NoError(t, keeper.KeepNotice(ctx, first, 0))
	require.NoError(t, s.Delete(ctx, key))
	_, err = s.Create(ctx, key, nil)
	require.NoError(t, err)
	require.Empty(t, take(0))
	require.True(t, replace(session.Notice{Key: key, ID: first.ID}, first.Data, 0))
}
