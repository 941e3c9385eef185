package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
)

// A database that cannot be written to, such as one that follows another one, can be read: sessions are listed,
// read and watched. Whatever would write fails.
func TestADatabaseThatIsReadOnly(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	k := newTalk(t, open(t, url), "s", map[string]any{"plan": "free"})
	k.append(t, said(1), said(2))

	s := open(t, url+"&default_transaction_read_only=on")
	one, err := s.Get(t.Context(), k.at.Key)
	require.NoError(t, err)
	require.EqualValues(t, 2, one.Position)
	for range s.List(t.Context(), "bench", "user") {
		one = nil
	}
	require.Nil(t, one, "the session is listed")
	read := 0
	for e, err := range session.Follow(t.Context(), s, k.at.Key, 0) {
		require.NoError(t, err)
		if read++; e.Seq == 2 {
			k.append(t, said(3))
		}
		if e.Seq == 3 {
			break
		}
	}
	require.Equal(t, 3, read)

	_, err = s.Append(t.Context(), k.at, said(4))
	require.ErrorContains(t, err, "read-only")
	_, err = s.Lease(t.Context(), k.at.Key, "run")
	require.ErrorContains(t, err, "read-only")
	require.Error(t, s.Delete(t.Context(), k.at.Key))
}
