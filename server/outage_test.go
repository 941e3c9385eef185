package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
)

// The database of two replicas is stopped under load: for a second, and with PLUGHOOK_SOAK for 1, 5 and 20
// seconds. No run ends for good because of that: it rides out the outage, or ends with an answer that says
// when to send its input again. Then nothing is lost, and nothing is there twice.
func TestTheDatabaseIsStoppedUnderLoad(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts processes, and stops a database")
	}
	outages := []time.Duration{time.Second}
	if contract.Times(1) > 1 {
		outages = []time.Duration{time.Second, 5 * time.Second, 20 * time.Second}
	}
	for _, outage := range outages {
		t.Run(outage.String(), func(t *testing.T) {
			stopUnderLoad(t, outage)
		})
	}
}

func stopUnderLoad(t *testing.T, outage time.Duration) {
	database := pgtest.Start(t)
	store := database.URL(t)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	replicas := []*service{
		at(t, startReplica(t, store).url, client),
		at(t, startReplica(t, store).url, client),
	}

	// Each client has a session. It sends inputs one after the other, each until it is done.
	const clients, steps = 6, 4
	var load sync.WaitGroup
	var over atomic.Bool
	var done, sentAgain atomic.Int64
	inputs := make([]int, clients)
	for i := range clients {
		load.Go(func() {
			for ; !over.Load(); inputs[i]++ {
				body := fmt.Sprintf(`{"message":"steps %d 40ms","id":"in-%d","create":true}`, steps, inputs[i])
				for tries := 0; ; tries++ {
					status, answer, retry := post(t, replicas[(i+tries)%2],
						fmt.Sprintf("/v1/apps/desk/sessions/s%d/run", i), body)
					if status == http.StatusServiceUnavailable && assert.Positive(t, retry) {
						sentAgain.Add(1)
						time.Sleep(time.Duration(retry) * time.Second)
						continue
					}
					assert.Equal(t, 200, status, answer)
					assert.Contains(t, answer, `"kind":"done"`, "it is final, and could be saved")
					break
				}
				done.Add(1)
			}
		})
	}
	runsOn := func(n int64) {
		t.Helper()
		want := done.Load() + n
		require.Eventually(t, func() bool { return t.Failed() || done.Load() >= want }, 2*time.Minute, 10*time.Millisecond)
	}
	runsOn(clients)

	// While the database is away, both replicas say so, and what they answer says when to come again.
	database.Crash(t)
	stopped := time.Now()
	for _, r := range replicas {
		for _, path := range []string{"/ready", "/v1/apps/desk/sessions/s0", "/v1/apps/desk/sessions/s0/events"} {
			if outage < 4*time.Second && path != "/ready" {
				continue // the replica waits for the database that long
			}
			resp := r.Open(t.Context(), "GET", path, "")
			resp.Body.Close()
			assert.Equal(t, 503, resp.StatusCode, path)
			assert.NotEmpty(t, resp.Header.Get("Retry-After"), path)
		}
		if outage < 4*time.Second {
			break
		}
	}
	time.Sleep(outage - time.Since(stopped))
	before := done.Load()
	database.Restart(t)
	away := time.Since(stopped)
	runsOn(clients)
	over.Store(true)
	load.Wait()
	for _, r := range replicas {
		status, _ := r.Do("GET", "/ready", "")
		assert.Equal(t, 200, status)
	}

	// Each input is there once, with its steps and its answer.
	sessions, err := openStore(t.Context(), store)
	require.NoError(t, err)
	defer sessions.Close()
	for i := range clients {
		key := session.Key{App: "desk", User: "user", ID: fmt.Sprint("s", i)}
		log, err := session.ReadAll(t.Context(), sessions, key, session.Selection{})
		require.NoError(t, err)
		count := map[string][3]int{} // inputs, calls, answers
		for _, e := range log {
			c := count[e.InvocationID]
			switch {
			case e.Author == session.User:
				c[0]++
			case len(e.FunctionCalls()) > 0:
				c[1]++
			case e.Text() == "done":
				c[2]++
			}
			count[e.InvocationID] = c
		}
		require.Len(t, count, inputs[i])
		for id, c := range count {
			require.Equal(t, [3]int{1, steps, 1}, c, "%s of session %d", id, i)
		}
	}
	t.Logf("away for %v: %d inputs done, %d of them before it was back, %d answers said to send the input again",
		away.Round(time.Millisecond), done.Load(), before, sentAgain.Load())
}

// post sends a body, and returns the answer with how many seconds it says to wait.
func post(t *testing.T, r *service, path, body string) (status int, answer string, retry int) {
	resp := r.Open(t.Context(), "POST", path, body)
	defer resp.Body.Close()
	var end struct {
		End   json.RawMessage `json:"end"`
		Error json.RawMessage `json:"error"`
	}
	assert.NoError(t, json.NewDecoder(resp.Body).Decode(&end))
	retry, _ = strconv.Atoi(resp.Header.Get("Retry-After"))
	return resp.StatusCode, string(end.End) + string(end.Error), retry
}
