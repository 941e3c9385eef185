package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
)

// instant is a model that takes no time.
type instant struct{}

func (instant) Generate(context.Context, *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		content := genai.NewContentFromText(strings.Repeat("plain words ", 20), genai.RoleModel)
		yield(&model.Response{Content: content, FinishReason: genai.FinishReasonStop}, nil)
	}
}

// BenchmarkRun is the time of a run with one answer, by so many callers at once: over HTTP, with the answer as a
// stream, and by the runner alone. Batches of both take turns, with batches of a bare stream of two frames.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct {
		store   string
		callers int
	}{{"sqlite", 1}, {"sqlite", 8}, {"memory", 1}} {
		b.Run(fmt.Sprint(c.store, "/", c.callers, "callers"), func(b *testing.B) {
			ctx := b.Context()
			callers := c.callers
			var sessions session.Service = memory.New()
			closeStore := func() error { return nil }
			if c.store == "sqlite" {
				store, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "sessions.db"))
				require.NoError(b, err)
				sessions = store
				closeStore = store.Close
			}
			a, err := llm.New(llm.Config{Name: "bot", Model: instant{}, Instruction: "Be brief."})
			require.NoError(b, err)
			r, err := runner.New(runner.Options{Agent: a, Sessions: sessions})
			require.NoError(b, err)
			s, err := server.New(server.Options{Apps: []server.App{{Name: "desk", Runner: r}}})
			require.NoError(b, err)
			mux := http.NewServeMux()
			mux.Handle("/", s)
			mux.HandleFunc("/bare/", bareStream)
			h := httptest.NewServer(mux)
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
			b.Cleanup(func() {
				client.CloseIdleConnections()
				s.Shutdown(context.Background())
				h.Close()
				require.NoError(b, r.Close(context.Background()))
				require.NoError(b, closeStore())
			})

			alone := func(id string) error {
				key := session.Key{App: "desk", User: "user", ID: id}
				cfg := session.RunConfig{Create: true, Streaming: session.SSE}
				for _, err := range r.Run(ctx, key, session.Message("hi"), cfg) {
					if err != nil {
						return err
					}
				}
				return nil
			}
			get := func(path string) error {
				url := h.URL + path
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, url,
					strings.NewReader(`{"message":"hi"}`))
				if err != nil {
					return err
				}
				req.Header.Set("Accept", "text/event-stream")
				resp, err := client.Do(req)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				data, err := io.ReadAll(resp.Body)
				if err == nil &&
					!bytes.Contains(data, []byte("event: end\ndata: {\"kind\":\"done\"")) {
					err = fmt.Errorf("status %d: %s", resp.StatusCode, data)
				}
				return err
			}

			overHTTP := func(id string) error { return get("/v1/apps/desk/sessions/" + id + "/run") }
			bareHTTP := func(string) error { return get("/bare/") }

			// A batch is some turns of a new session for each caller.
			const turns = 10
			batch := func(name string, do func(id string) error) time.Duration {
				var wg sync.WaitGroup
				errs := make([]error, callers)
				start := time.Now()
				for i := range callers {
					wg.Go(func() {
						id := fmt.Sprintf("%s-%d-%s", name, i, session.NewID())
						for turn := 0; turn < turns && errs[i] == nil; turn++ {
							errs[i] = do(id)
						}
					})
				}
				wg.Wait()
				for _, err := range errs {
					require.NoError(b, err)
				}
				return time.Since(start) / time.Duration(turns*callers)
			}
			var direct, served, bare []time.Duration
			for b.Loop() {
				bare = append(bare, batch("bare", bareHTTP))
				direct = append(direct, batch("direct", alone))
				served = append(served, batch("served", overHTTP))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(middle(direct).Microseconds()), "alone-µs/run")
			b.ReportMetric(float64(middle(served).Microseconds()), "http-µs/run")
			b.ReportMetric(float64(middle(bare).Microseconds()), "bare-µs/run")
			b.ReportMetric(float64(middle(served))/float64(middle(direct)), "x")
		})
	}
}

// bareStream reads a body and answers with two frames as a run's.
func bareStream(w http.ResponseWriter, q *http.Request) {
	_, _ = io.Copy(io.Discard, q.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, frame := range []string{"id: 2\ndata: {\"text\":\"" + strings.Repeat("plain words ", 20) + "\"}\n\n", "event: end\ndata: {\"kind\":\"done\"}\n\n"} {
		_, _ = io.WriteString(w, frame)
		w.(http.Flusher).Flush()
	}
}

// middle returns the median.
func middle(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
