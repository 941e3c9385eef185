package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// A run of one replica is followed from another one, by the same input sent again: its events come as they are
// appended, in the server's own protocol, in AG-UI and in A2A. Who leaves and joins again gets the rest. A cancel
// at the other replica reaches the run.
func TestARunIsFollowedFromAnotherReplica(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		a, b := at(t, startReplica(t, store).url, client), at(t, startReplica(t, store).url, client)
		open := func(s *service, path, body string, header ...string) *servertest.FrameReader {
			ctx, leave := context.WithCancel(t.Context())
			t.Cleanup(leave)
			resp := s.Open(ctx, "POST", path, body, append(header, "Accept", "text/event-stream")...)
			t.Cleanup(func() { resp.Body.Close() })
			require.Equal(t, 200, resp.StatusCode)
			return servertest.NewFrames(resp.Body)
		}
		until := func(r *servertest.FrameReader, text string) servertest.Frame {
			t.Helper()
			for {
				f, err := r.Next()
				require.NoError(t, err, "the stream ended before it told %q", text)
				if strings.Contains(f.Data, text) {
					return f
				}
			}
		}

		// The run goes on until it is cancelled, so whatever is seen was seen while it went on.
		const input = `{"message":"steps 100000 20ms","id":"in-1","create":true}`
		begun := open(a, replicaPath+"/run", input)
		until(begun, `"in-1-0"`)

		// v1: whole at first, then, by another connection, from where the first one was.
		joined := open(b, replicaPath+"/run", input)
		last := until(joined, `"in-1-20"`)
		rejoined := open(b, replicaPath+"/run", input, "Last-Event-ID", last.ID)
		next, err := rejoined.Next()
		require.NoError(t, err)
		var was, is int
		fmt.Sscan(last.ID, &was)
		fmt.Sscan(next.ID, &is)
		require.Equal(t, was+1, is)
		until(rejoined, `"in-1-40"`)

		// AG-UI: a page that is loaded again.
		page := open(b, "/agui/desk", strings.Replace(servertest.AGUIRequest("r-1"), `"messages":[]`,
			`"messages":[{"id":"in-1","role":"user","content":"steps 100000 20ms"}]`, 1))
		until(page, "MESSAGES_SNAPSHOT")
		until(page, "TOOL_CALL_START")
		until(page, "TOOL_CALL_RESULT")

		// The cancel at the other replica ends it everywhere.
		status, body := b.Do("POST", replicaPath+"/invocations/in-1/cancel?wait=1", "")
		require.Equal(t, 200, status, body)
		require.Contains(t, endOf(t, begun), `"cancelled"`)
		require.Contains(t, endOf(t, rejoined), `"cancelled"`)
		require.Contains(t, until(page, "RUN_FINISHED").Data, `"cancelled"`)

		// A2A: the same message again, and a subscription.
		send := func(s *service, method, params string) *servertest.FrameReader {
			return open(s, "/a2a/desk", `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`, "A2A-Version", "1.0")
		}
		message := servertest.A2AMessage("m-1", "steps 100000 20ms", `,"contextId":"bob"`)
		until(send(a, "SendStreamingMessage", message), "TASK_STATE_WORKING")
		until(send(b, "SendStreamingMessage", message), "TASK_STATE_WORKING")
		sessions, err := openStore(t.Context(), store)
		require.NoError(t, err)
		defer sessions.Close()
		require.NoError(t, sessions.Cancel(t.Context(), session.Key{App: "desk", User: "user", ID: "bob"}, "m-1"))
	})
}
