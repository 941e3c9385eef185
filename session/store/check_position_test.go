package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

func TestCheckPosition(t *testing.T) {
	never := store.LogEnd{Position: 3}
	held := store.LogEnd{Position: 3, Fence: 7, Held: true}
	released := store.LogEnd{Position: 3, Fence: 7}
	for _, c := range []struct {
		end  store.LogEnd
		at   session.AppendTarget
		want error
	}{
		{end: never, at: session.AppendTarget{After: 3}},
		{end: never, at: session.AppendTarget{After: 2}, want: session.ErrConflict},
		{end: never, at: session.AppendTarget{After: 3, Fence: 1}, want: session.ErrFenced},
		{end: held, at: session.AppendTarget{After: 3}, want: session.ErrFenced},
		{end: held, at: session.AppendTarget{After: 3, Fence: 6}, want: session.ErrFenced},
		{end: held, at: session.AppendTarget{After: 3, Fence: 8}, want: session.ErrFenced},
		{end: held, at: session.AppendTarget{After: 3, Fence: 7}},
		{end: held, at: session.AppendTarget{After: 2, Fence: 7}, want: session.ErrConflict},
		{end: held, at: session.AppendTarget{After: 2, Fence: 6}, want: session.ErrFenced},
		{end: released, at: session.AppendTarget{After: 3}},
		{end: released, at: session.AppendTarget{After: 3, Fence: 7}, want: session.ErrFenced},
		{end: released, at: session.AppendTarget{After: 3, Fence: 8}, want: session.ErrFenced},
	} {
		require.ErrorIs(t, store.CheckPosition(c.at, c.end), c.want, "%+v", c)
	}
}
