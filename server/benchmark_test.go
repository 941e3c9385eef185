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

// BenchmarkRun is the time of a run with one answer on SQLite, by so many callers at once: over HTTP, with
// the answer as a stream, and by the runner alone. Batches of both take turns.
func BenchmarkRun(b *testing.B) {
	for _, callers := range []int{1, 8} {
		b.Run(fmt.Sprint(callers, "callers"), func(b *testing.B) {
			ctx := b.Context()
			sessions, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "sessions.db"))
			require.NoError(b, err)
			a, err := llm.New(llm.Config{Name: "bot", Model: instant{}, Instruction: "Be brief."})
			require.NoError(b, err)
			r, err := runner.New(runner.Options{Agent: a, Sessions: sessions})
			require.NoError(b, err)
			s, err := server.New(server.Options{Apps: []server.App{{Name: "desk", Runner: r}}})
			require.NoError(b, err)
			h := httptest.NewServer(s)
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
			b.Cleanup(func() {
				client.CloseIdleConnections()
				s.Shutdown(context.Background())
				h.Close()
				require.NoError(b, r.Close(context.Background()))
				require.NoError(b, sessions.Close())
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
			overHTTP := func(id string) error {
				url := h.URL + "/v1/apps/desk/sessions/" + id + "/run"
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
			var direct, served []time.Duration
			for b.Loop() {
				direct = append(direct, batch("direct", alone))
				served = append(served, batch("served", overHTTP))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(middle(direct).Microseconds()), "alone-µs/run")
			b.ReportMetric(float64(middle(served).Microseconds()), "http-µs/run")
			b.ReportMetric(float64(middle(served))/float64(middle(direct)), "x")
		})
	}
}

// middle returns the median.
func middle(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
