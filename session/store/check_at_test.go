package store_test

import (
	"testing"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
	"github.com/stretchr/testify/require"
)

func TestCheckAt(t *testing.T) {
	for _, c := range []struct {
		at       session.At
		held     bool
		fence    int64
		position int64
		want     error
	}{
		{session.At{After: 3}, false, 0, 3, nil},
		{session.At{After: 3}, false, 7, 3, nil},
		{session.At{After: 2}, false, 0, 3, session.ErrConflict},
		{session.At{After: 3}, true, 7, 3, session.ErrFenced},
		{session.At{After: 3, Fence: 6}, true, 7, 3, session.ErrFenced},
		{session.At{After: 3, Fence: 8}, true, 7, 3, session.ErrFenced},
		{session.At{After: 3, Fence: 7}, true, 7, 3, nil},
		{session.At{After: 2, Fence: 7}, true, 7, 3, session.ErrConflict},
		{session.At{After: 2, Fence: 6}, true, 7, 3, session.ErrFenced},
		{session.At{After: 3, Fence: 7}, false, 7, 3, session.ErrFenced},
		{session.At{After: 3, Fence: 8}, false, 7, 3, session.ErrFenced},
	} {
		err := store.CheckAt(c.at, c.held, c.fence, c.position)
		if c.want == nil {
			require.NoError(t, err, "%+v", c)
		} else {
			require.ErrorIs(t, err, c.want, "%+v", c)
		}
	}
}
