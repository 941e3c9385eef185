package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// The server of a run is killed, and its client does not come back. The list of sessions marks the run, and another
// replica goes on with it by itself: each step is done once. Then nothing is cut off any more.
func TestARunWhoseServerDiedIsGoneOnWith(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		first := startReplica(t, store)
		a := at(t, first.url, client)
		sessions, err := openStore(t.Context(), store)
		require.NoError(t, err)
		defer sessions.Close()
		_, err = sessions.Create(t.Context(), replicaKey, nil)
		require.NoError(t, err)
		stream := a.begin(`{"message":"steps 30 30ms","id":"in-1","invocationId":"i-1"}`)
		for range 6 {
			_, err := stream.Next()
			require.NoError(t, err)
		}
		first.kill()

		// A replica without the option only says so.
		const list = "/v1/apps/desk/sessions?cutOff=1"
		b := at(t, startReplica(t, store).url, client)
		body := ""
		require.Eventually(t, func() bool {
			_, body = b.Do("GET", list, "")
			return !strings.Contains(body, `"sessions":[]`)
		}, time.Minute, 50*time.Millisecond)
		require.Contains(t, body, `"cutOff":"i-1"`)
		found := 0
		for hit, err := range sessions.Search(t.Context(), session.Query{CutOff: true}) {
			require.NoError(t, err)
			require.Equal(t, "i-1", hit.Session.CutOff)
			found++
		}
		require.Equal(t, 1, found)

		// Two replicas with it go on, one of them at a time.
		startReplica(t, store, resumeVariable+"=300ms")
		startReplica(t, store, resumeVariable+"=300ms")
		var log []*session.Event
		require.Eventually(t, func() bool {
			log, err = session.ReadAll(t.Context(), sessions, replicaKey, session.Selection{})
			return err == nil && log[len(log)-1].Text() == "done"
		}, time.Minute, 50*time.Millisecond)
		calls := 0
		for _, e := range log {
			require.Equal(t, "i-1", e.InvocationID)
			calls += len(e.FunctionCalls())
		}
		require.Equal(t, 30, calls)
		require.Eventually(t, func() bool {
			_, body = b.Do("GET", list, "")
			return strings.Contains(body, `"sessions":[]`)
		}, time.Minute, 50*time.Millisecond)
	})
}
