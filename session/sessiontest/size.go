package sessiontest

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// Size tests a store that is a session.Sizer: what it keeps is counted by session and by user, and the live view is
// what is left of a log after a compaction.
func Size(t *testing.T, s session.Service) {
	sizer := s.(session.Sizer)
	size := func(user, id string) session.Size {
		got, err := sizer.Size(t.Context(), session.Key{App: "size", User: user, ID: id})
		require.NoError(t, err)
		return got
	}
	put := func(user, id string, texts ...string) {
		key := session.Key{App: "size", User: user, ID: id}
		_, err := s.Create(t.Context(), key, nil)
		require.NoError(t, err)
		for i, text := range texts {
			_, err := s.Append(t.Context(), session.AppendTarget{Key: key, After: int64(i)}, session.Message(text))
			require.NoError(t, err)
		}
	}
	big := strings.Repeat("x", 100_000)
	put("ann", "a", big, big, "tail")
	put("ann", "b", big)
	put("bob", "a", "hello")
	require.Zero(t, size("nobody", ""))
	_, err := sizer.Size(t.Context(), session.Key{App: "size", User: "ann", ID: "none"})
	require.ErrorIs(t, err, session.ErrNotFound)

	a, b := size("ann", "a"), size("ann", "b")
	require.InDelta(t, 200_600, a.Log, 400)
	require.Equal(t, a.Log, a.Live)
	require.InDelta(t, a.Log+b.Log, size("ann", "").Log, 100)
	require.Zero(t, size("ann", "").Live)
	require.Less(t, size("bob", "").Log, int64(1000))

	// The state that a session was created with counts, and so does the user's own when the session is gone.
	noise := func() string {
		var s strings.Builder
		for s.Len() < 100_000 {
			s.WriteString(rand.Text())
		}
		return s.String()
	}
	key := session.Key{App: "size", User: "eve", ID: "s"}
	_, err = s.Create(t.Context(), key, map[string]any{"k": noise(), "user:u": noise()})
	require.NoError(t, err)
	require.Greater(t, size("eve", "").Log, int64(200_000))
	require.NoError(t, s.Delete(t.Context(), key))
	require.InDelta(t, 100_000, size("eve", "").Log, 400)

	// A summary stands for the two large events.
	e := &session.Event{Author: "plugin/compaction"}
	e.Actions.Compaction = &session.Compaction{Through: 2, Content: genai.NewContentFromText("sum", genai.RoleUser)}
	_, err = s.Append(t.Context(), session.AppendTarget{Key: session.Key{App: "size", User: "ann", ID: "a"}, After: 3}, e)
	require.NoError(t, err)
	a = size("ann", "a")
	require.Greater(t, a.Log, int64(200_000))
	require.Less(t, a.Live, int64(2000))
	require.Greater(t, a.Live, int64(200))
}
