package server_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// notifySecret signs what receivers get. Its key is the 24 bytes "this is a secret, really".
const notifySecret = "whsec_dGhpcyBpcyBhIHNlY3JldCwgcmVhbGx5"

// A received message, as its JSON says.
type received struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		App, User, Session, End, Code, Plugin string
		InvocationID                          string `json:"invocationId"`
		Waiting                               []struct {
			ID, Name string
			Confirm  bool
		}
	} `json:"data"`
}

// A receiver gets messages about runs. It refuses them until it is opened.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	open    bool
	refused int
	taken   map[string][]received // by ID
	wrong   []string              // what was wrong with signatures
}

// receive starts a receiver.
func receive(t *testing.T, open bool) *receiver {
	r := &receiver{open: open, taken: map[string][]received{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		mac := hmac.New(sha256.New, []byte("this is a secret, really"))
		io.WriteString(mac, q.Header.Get("webhook-id")+"."+q.Header.Get("webhook-timestamp")+"."+string(body))
		var m received
		err := json.Unmarshal(body, &m)
		r.mu.Lock()
		defer r.mu.Unlock()
		want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		if err != nil || q.Header.Get("webhook-signature") != want || q.Header.Get("webhook-id") != m.ID {
			r.wrong = append(r.wrong, string(body))
		}
		if !r.open {
			r.refused++
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.taken[m.ID] = append(r.taken[m.ID], m)
	}))
	t.Cleanup(r.Close)
	return r
}

// ends returns how the runs ended that the receiver was told of, by invocation, with each message once.
func (r *receiver) ends(t *testing.T) map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Empty(t, r.wrong)
	ends := map[string][]string{}
	for _, list := range r.taken {
		ends[list[0].Data.InvocationID] = append(ends[list[0].Data.InvocationID], list[0].Type+" "+list[0].Data.End)
	}
	return ends
}

// wait waits until so many messages were taken.
func (r *receiver) wait(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.taken) >= n
	}, time.Minute, 10*time.Millisecond)
}

// The server is killed after a run has ended, and before anybody has taken the message about it. The next servers, two at
// once, send it. The run of a server that is killed in the middle is told of when another one has gone on with it.
func TestARunsEndIsToldAfterItsServerDied(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		to := receive(t, false)
		first := startReplica(t, store, notifyVariable+"="+to.URL)
		a := at(t, first.url, client)
		status, body := a.Do("POST", replicaPath+"/run", `{"message":"hello","id":"in-1","invocationId":"i-1"}`)
		require.Equal(t, 200, status, body)
		stream := a.begin(`{"message":"steps 20 20ms","id":"in-2","invocationId":"i-2"}`)
		for range 6 {
			_, err := stream.Next()
			require.NoError(t, err)
		}
		require.Eventually(t, func() bool {
			to.mu.Lock()
			defer to.mu.Unlock()
			return to.refused > 0
		}, time.Minute, time.Millisecond)
		first.kill()
		to.mu.Lock()
		to.open = true
		to.mu.Unlock()

		startReplica(t, store, notifyVariable+"="+to.URL, resumeVariable+"=200ms")
		second := startReplica(t, store, notifyVariable+"="+to.URL, resumeVariable+"=200ms")
		to.wait(t, 2)
		want := map[string][]string{"i-1": {"run.ended done"}, "i-2": {"run.ended done"}}
		require.Equal(t, want, to.ends(t))

		// Nothing is left: who sends an input again is told, and nobody else.
		b := at(t, second.url, client)
		status, body = b.Do("POST", replicaPath+"/run", `{"message":"hello","id":"in-1","invocationId":"i-1"}`)
		require.Equal(t, 200, status, body)
		sessions, err := openStore(t.Context(), store)
		require.NoError(t, err)
		defer sessions.Close()
		require.Eventually(t, func() bool {
			left, err := sessions.(session.NoticeKeeper).TakeNotices(t.Context(), "desk", 0, 10)
			return err == nil && len(left) == 0
		}, time.Minute, 50*time.Millisecond)
		require.Equal(t, want, to.ends(t))
	})
}

// Each target is told of the ends that it wants: an address that fails at first, a command, and one that is never there,
// whose address and secret no log has.
func TestWhoIsTold(t *testing.T) {
	var log lockedBuffer
	all, waits := receive(t, false), receive(t, true)
	file := filepath.Join(t.TempDir(), "told")
	broken := &plugin.Plugin{
		Name: "broken",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if strings.Contains(e.Text(), "break it") {
				return plugin.Outcome{}, errors.New("it is broken")
			}
			return plugin.Outcome{}, nil
		},
	}
	s := serve(t, servertest.Desk, func(o *server.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		o.Notify = []*server.Notify{
			{URL: all.URL + "/token-0815", Secret: notifySecret},
			{URL: waits.URL, Secret: notifySecret, On: []string{"waits"}},
			{URL: "http://127.0.0.1:1/token-0815", Secret: "hush-hush", On: []string{"failed"}},
			{Command: []string{"sh", "-c", "cat >>" + file + "; echo >>" + file}, On: []string{"ended"}},
		}
	}, broken)
	run := func(message, id string) {
		body, err := json.Marshal(map[string]string{"message": message, "id": id, "invocationId": id})
		require.NoError(t, err)
		_, answer := s.Do("POST", servertest.Ada+"/run", string(body))
		require.Contains(t, answer, "kind")
	}
	run("hello", "i-1")
	require.Eventually(t, func() bool {
		all.mu.Lock()
		defer all.mu.Unlock()
		return all.refused > 0
	}, time.Minute, time.Millisecond)
	all.mu.Lock()
	all.open = true
	all.mu.Unlock()
	run("order", "i-2")
	_, answer := s.Do("POST", servertest.Ada+"/run", `{"message":"break it","id":"i-3","invocationId":"i-3"}`)
	require.Contains(t, answer, "error")
	run("hello", "i-1") // again: nothing has come of it
	all.wait(t, 3)
	require.Equal(t, map[string][]string{
		"i-1": {"run.ended done"}, "i-2": {"run.waits waiting"}, "i-3": {"run.failed failed"},
	}, all.ends(t))
	waits.wait(t, 1)
	require.Equal(t, map[string][]string{"i-2": {"run.waits waiting"}}, waits.ends(t))
	for _, list := range waits.taken {
		require.Equal(t, "order-1", list[0].Data.Waiting[0].ID)
		require.Equal(t, "order", list[0].Data.Waiting[0].Name)
		require.Equal(t, []string{"desk", "user", "ada"}, []string{list[0].Data.App, list[0].Data.User, list[0].Data.Session})
	}
	for _, list := range all.taken {
		if list[0].Data.InvocationID == "i-3" {
			require.Equal(t, "broken", list[0].Data.Plugin)
		}
	}

	// The command got what it wants, and nobody a secret.
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(file)
		return err == nil && strings.HasSuffix(string(data), "\n")
	}, time.Minute, 10*time.Millisecond)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), `"invocationId":"i-1"`)
	require.NotContains(t, string(data), `i-3`)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "127.0.0.1:1") }, time.Minute, 10*time.Millisecond)
	for _, hidden := range []string{"0815", "hush", notifySecret, "secret"} {
		require.NotContains(t, log.String(), hidden)
	}
	_, metrics := s.Do("GET", "/metrics", "")
	require.Contains(t, metrics, `plughook_notices_total{result="sent"}`)
	require.NotContains(t, metrics, `plughook_notices_total{result="failed"} 0`)
}

// A run is told once while its inputs come in many, and one that is cancelled as cancelled.
func TestManyRunsAreTold(t *testing.T) {
	to := receive(t, true)
	hold := func(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
		if host.Now().Input.Text() != "hold" {
			return servertest.Echo(ctx, host)
		}
		return func(yield func(*session.Event, error) bool) {
			<-ctx.Done()
			yield(nil, context.Cause(ctx))
		}
	}
	s := serve(t, hold, func(o *server.Options) {
		o.Notify = []*server.Notify{{URL: to.URL, Secret: notifySecret}}
	})
	want := map[string][]string{"i-hold": {"run.ended cancelled"}}
	var group sync.WaitGroup
	for i := range 60 {
		id := "i-" + string(rune('A'+i))
		want[id] = []string{"run.ended done"}
		group.Go(func() {
			path := "/v1/apps/desk/sessions/s" + string(rune('a'+i%7)) + "/run"
			body, _ := json.Marshal(map[string]string{"message": "hi", "id": id, "invocationId": id})
			s.Do("POST", path, string(body))
		})
	}
	s.begin(`{"message":"hold","id":"i-hold","invocationId":"i-hold"}`)
	s.Do("POST", servertest.Ada+"/invocations/i-hold/cancel?wait=1", "")
	group.Wait()
	to.wait(t, 61)
	require.Equal(t, want, to.ends(t))
}

// What nobody could be told with is refused at once, without the secret.
func TestATargetThatIsWrong(t *testing.T) {
	for wrong, n := range map[string]*server.Notify{
		"secret":              {URL: "https://example.com"},
		"base64":              {URL: "https://example.com", Secret: "whsec_%%hush"},
		"either":              {URL: "https://example.com", Secret: "x", Command: []string{"true"}},
		"http://":             {URL: "example.com", Secret: "x"},
		"executable file not": {Command: []string{"no-such-program-here"}},
		"not ended":           {Command: []string{"sh"}, On: []string{"never"}},
	} {
		err := n.Check()
		require.ErrorContains(t, err, wrong)
		require.NotContains(t, err.Error(), "hush")
	}
	_, err := server.New(server.Options{Notify: []*server.Notify{{}}})
	require.ErrorContains(t, err, "Notify[0]")
}

// A lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}
