package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

func TestKeyCheck(t *testing.T) {
	long := strings.Repeat("x", 512)
	for _, c := range []struct {
		key      session.Key
		mayBeNew bool
		want     string // part of the error, "" for none
	}{
		{session.Key{App: "a", User: "u", ID: "s"}, false, ""},
		{session.Key{App: "a", User: "u", ID: "s"}, true, ""},
		{session.Key{App: "a", User: "u"}, true, ""},
		{session.Key{App: "a", User: "u"}, false, "id is empty"},
		{session.Key{App: "a", ID: "s"}, true, "user is empty"},
		{session.Key{User: "u", ID: "s"}, false, "app is empty"},
		{session.Key{App: "a/b %", User: "ü 🦊", ID: `"'\`}, false, ""},
		{session.Key{App: long, User: long, ID: long}, false, ""},
		{session.Key{App: long + "x", User: "u", ID: "s"}, false, "app has 513 bytes"},
		{session.Key{App: "a", User: "u", ID: long + "x"}, false, "id has 513 bytes"},
		{session.Key{App: "a", User: "u\x00", ID: "s"}, false, "user holds a control character"},
		{session.Key{App: "a", User: "u", ID: "s\n"}, true, "id holds a control character"},
		{session.Key{App: "a", User: "u", ID: "."}, true, `id is "."`},
		{session.Key{App: "a", User: "..", ID: "s"}, false, `user is ".."`},
		{session.Key{App: "a\x7f", User: "u", ID: "s"}, false, "app holds a control character"},
		{session.Key{App: "a", User: "\xff", ID: "s"}, false, "user holds a control character or is not UTF-8"},
	} {
		err := c.key.Check(c.mayBeNew)
		if c.want == "" {
			require.NoError(t, err, "%q", c.key)
			continue
		}
		require.ErrorIs(t, err, session.ErrInvalid, "%q", c.key)
		require.ErrorContains(t, err, c.want)
	}
}

func TestErrors(t *testing.T) {
	key := session.Key{App: "a", User: "u", ID: "s"}
	for _, c := range []struct {
		err  error
		is   error
		want string
	}{
		{&session.KeyError{Key: key, Err: session.ErrNotFound}, session.ErrNotFound, "session a/u/s: session not found"},
		{&session.PositionError{Key: key, Want: 3, Have: 5, Err: session.ErrConflict}, session.ErrConflict,
			"session a/u/s: append after position 3, the last is 5: the log has moved on; read the log again"},
		{&session.PositionError{Key: key, Want: 0, Have: 2, Err: session.ErrFenced}, session.ErrFenced,
			"session a/u/s: append with fence 0, lease 2 is held: another holds the lease; take a lease and read the log again"},
		{&session.EventError{Key: key, ID: "e", Err: session.ErrIDReused}, session.ErrIDReused,
			`session a/u/s: event "e": event id is taken by another event`},
	} {
		require.EqualError(t, c.err, c.want)
		require.ErrorIs(t, fmt.Errorf("while running: %w", c.err), c.is)
	}
	err := key.Check(false)
	require.NoError(t, err)
	err = session.Key{}.Check(false)
	require.False(t, errors.Is(err, session.ErrNotFound))
}
