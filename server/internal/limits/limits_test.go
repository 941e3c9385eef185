package limits_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// docs/server.md has the table, and the section server.limits of a configuration each key.
func TestTheTableIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/server.md")
	require.NoError(t, err)
	config, err := os.ReadFile("../../../config/server.go")
	require.NoError(t, err)
	for _, row := range limits.Table {
		metric := ""
		if row.Metric != "" {
			metric = "`" + row.Metric + "`"
		}
		line := fmt.Sprintf("| `%s` | %s | %s | %s | %s |", row.Key, row.What, row.DefaultText(), row.Beyond, metric)
		require.Contains(t, string(doc), line)
		require.Contains(t, string(config), `yaml:"`+row.Key+`"`)
	}
}

func TestDefaults(t *testing.T) {
	l := limits.Limits{Memory: 100, UserRuns: -1}.WithDefaults()
	require.EqualValues(t, 25, l.UserMemory)
	require.Zero(t, l.UserRuns)
	require.Equal(t, 100, l.UserStreams)
	require.Positive(t, limits.Limits{}.WithDefaults().Memory)
}

// What one user holds is bounded below what the process holds, so that others have the rest.
func TestAUserHasAShare(t *testing.T) {
	var log bytes.Buffer
	p := limits.New(limits.Limits{Memory: 1600, UserRequests: 2}, slog.New(slog.NewTextHandler(&log, nil)))
	eve, err := p.Request("eve")
	require.NoError(t, err)
	require.NoError(t, eve.TakeJSON(80)) // it counts four times
	require.Contains(t, log.String(), "limit=user_memory user=eve used=320 of=400")
	err = eve.TakeJSON(30)
	var exceeded *limits.Exceeded
	require.ErrorAs(t, err, &exceeded)
	require.Same(t, limits.UserMemory, exceeded.Row)

	ada, err := p.Request("ada")
	require.NoError(t, err)
	require.NoError(t, ada.TakeJSON(90))

	// What more than a share is, leaves something for others; who has little is let in even then.
	bob, err := p.Request("bob")
	require.NoError(t, err)
	require.ErrorAs(t, bob.TakeJSON(250), &exceeded)
	require.Same(t, limits.Memory, exceeded.Row)
	bob.AddJSON(300)
	tom, err := p.Request("tom")
	require.NoError(t, err)
	require.NoError(t, tom.TakeJSON(5))
	require.ErrorAs(t, tom.TakeJSON(50), &exceeded)
	require.Same(t, limits.Memory, exceeded.Row)
	tom.Release()
	bob.Release()

	// What does not fit when nobody else has any is told at once, and not to come back.
	var tooLarge *limits.TooLarge
	require.ErrorAs(t, eve.TakeJSON(301), &tooLarge)
	require.ErrorAs(t, eve.WaitJSON(t.Context(), 301), &tooLarge)

	// Who waits goes on when there is room.
	waited := make(chan error)
	go func() { waited <- eve.WaitJSON(context.Background(), 30) }()
	eve.AddJSON(-20)
	require.NoError(t, <-waited)

	// So does the number of requests.
	second, err := p.Request("eve")
	require.NoError(t, err)
	_, err = p.Request("eve")
	require.ErrorAs(t, err, &exceeded)
	require.Same(t, limits.UserRequests, exceeded.Row)
	second.Release()
	second.Release()
	third, err := p.Request("eve")
	require.NoError(t, err)

	var metrics bytes.Buffer
	require.NoError(t, p.WriteMetrics(&metrics))
	for _, line := range []string{
		"plughook_held_bytes 720",
		"plughook_user_held_bytes_max 360",
		"plughook_requests 3",
		"plughook_limit{limit=\"run\"} 1800",
		"plughook_refused_total{limit=\"user_memory\"} 1",
		"plughook_refused_total{limit=\"user_requests\"} 1",
		"# EOF",
	} {
		require.Contains(t, metrics.String(), line+"\n")
	}
	for _, h := range []*limits.Hold{eve, ada, third} {
		h.Release()
	}
	metrics.Reset()
	require.NoError(t, p.WriteMetrics(&metrics))
	require.Contains(t, metrics.String(), "plughook_held_bytes 0\n")
	require.Contains(t, metrics.String(), "plughook_requests 0\n")
}

// The events of a session and of all sessions of a user are bounded; another user's are not theirs.
func TestRoom(t *testing.T) {
	p := limits.New(limits.Limits{Session: 10_000, UserSessions: 15_000}, slog.New(slog.DiscardHandler))
	sessions := memory.New()
	defer sessions.Close()
	for _, id := range []string{"s", "t"} {
		key := session.Key{App: "desk", User: "eve", ID: id}
		_, err := sessions.Create(t.Context(), key, nil)
		require.NoError(t, err)
		_, err = sessions.Append(t.Context(), session.AppendTarget{Key: key}, session.Message(strings.Repeat("x", 6000)))
		require.NoError(t, err)
	}
	room := func(user, id string, n int64) error {
		_, err := p.Room(t.Context(), sessions, session.Key{App: "desk", User: user, ID: id}, n)
		return err
	}
	require.NoError(t, room("eve", "s", 1000))
	require.EqualError(t, room("eve", "s", 4000),
		"this is more than the server allows: a session's events, as JSON (limit session)")
	require.ErrorContains(t, room("eve", "new", 3000), "limit user_sessions")
	require.NoError(t, room("ada", "new", 9000))
}
