package session

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// What a summary stands for is counted through the summaries that it stands for itself, and neither void
// events nor void summaries count.
func TestSurvey(t *testing.T) {
	sessions := memory.New()
	key := session.Key{App: "a", User: "u", ID: "s"}
	_, err := sessions.Create(t.Context(), key, nil)
	require.NoError(t, err)
	position, frontier := int64(0), int64(0)
	put := func(e *session.Event) {
		t.Helper()
		position, err = sessions.Append(t.Context(),
			session.AppendTarget{Key: key, After: position}, e)
		require.NoError(t, err)
		if e.Marker() {
			frontier = position
		}
	}
	say := func(n int) {
		for range n {
			put(session.Message(fmt.Sprintf("%040d", position))) // ten tokens
		}
	}
	summary := func(through int64, keep ...int64) {
		t.Helper()
		put(&session.Event{
			Actions: session.Actions{
				Compaction: &session.Compaction{
					Through:  through,
					Keep:     keep,
					Frontier: frontier,
					Content:  session.Message("12345678").Content,
				},
			},
		})
	}
	say(5)                                                                         // 1 to 5
	summary(4, 2)                                                                  // 6
	say(4)                                                                         // 7 to 10
	summary(9)                                                                     // 11: 1 to 5 and 7 to 9
	summary(10)                                                                    // 12, void
	say(1)                                                                         // 13, void
	put(&session.Event{Actions: session.Actions{Rewind: &session.Rewind{To: 11}}}) // 14
	say(2)                                                                         // 15, 16
	s, err := sessions.Get(t.Context(), key)
	require.NoError(t, err)
	sum, err := surveyOf(t.Context(), sessions, s)
	require.NoError(t, err)
	require.Equal(t,
		"16 events: 4 live, 8 behind a summary, 2 void\nabout 32 tokens, 110 without summaries",
		sum.String())
	require.Len(t, sum.stands, 2)
	require.Equal(t, "(in place of 3 events, 1–4: about 30 tokens, now about 2)",
		sum.stands[6].String())
	require.Equal(t, "(in place of 8 events, 1–9: about 80 tokens, now about 2)",
		sum.stands[11].String())
}

func TestCounts(t *testing.T) {
	e := &session.Event{
		CustomMetadata: map[string]any{
			"compaction": map[string]any{"before": 1200.0, "after": 300.0},
		},
	}
	require.Equal(t, []string{"(its author counted 1200 tokens before, 300 after)"}, counts(e))
	for _, said := range []any{nil, "x", map[string]any{}, map[string]any{"before": 1.0}} {
		require.Empty(t, counts(&session.Event{CustomMetadata: map[string]any{"compaction": said}}))
	}
}
