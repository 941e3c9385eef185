package rewind_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/session"
)

// put appends events to a session that is there.
func (s *scene) put(events ...*session.Event) {
	_, err := s.sessions.Append(
		s.t.(*testing.T).Context(),
		session.AppendTarget{Key: key, After: int64(len(s.read(false)))},
		events...)
	require.NoError(s.t, err)
}

// Between a call and its response the call is open again, and the next run answers it as
// interrupted.
func TestBetweenACallAndItsResponse(t *testing.T) {
	s := stage(t).say("a")                                                         // 1, 2
	s.put(by("b", session.User, session.Message("b")), by("b", "bot", calls("1")), // 3, 4
		by("b", "bot", response("1")), by("b", "bot", session.Reply("done"))) // 5, 6
	to, wrong := s.do(rewind.To(4)) // 7
	require.Empty(t, wrong)
	require.EqualValues(t, 4, to)
	open := session.Calls(s.read(true))
	require.Len(t, open, 1)
	require.Nil(t, open[0].Response)

	s.say("c") // 8 to 10
	now := session.Calls(s.read(true))
	require.Len(t, now, 1)
	require.Equal(t, true, now[0].Result.Response["interrupted"])
	require.EqualValues(t, 9, now[0].Response.Seq)
	_, wrong = s.do(rewind.Undo()) // 11: the real response is back
	require.Empty(t, wrong)
	now = session.Calls(s.read(true))
	require.EqualValues(t, 5, now[0].Response.Seq)
}

// A rewind to before a human's yes asks again, and one to before the question forgets it.
func TestBeforeAYes(t *testing.T) {
	s := stage(t).say("a")
	s.put(by("b", session.User, session.Message("b")), by("b", "bot", calls("1")), // 3, 4
		by("b", "plugin/guard", asks("1")),                                                // 5
		by("c", session.User, session.Decision(true, "1")), by("c", "bot", response("1"))) // 6, 7
	s.do(rewind.Before("c"))
	call := session.Calls(s.read(true))[0]
	require.True(t, call.Waits())
	require.Nil(t, call.Decision)
	s.put(by("d", session.User, session.Decision(false, "1"))) // 9
	call = session.Calls(s.read(true))[0]
	require.False(t, call.Waits())
	require.False(t, call.Approved(), "the yes that was taken back does not count")
	s.do(rewind.To(2))
	require.Empty(t, session.Calls(s.read(true)))
}
