package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/server/client"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// BenchmarkReplicas sends runs of 18 events to one and to three processes on one PostgreSQL: 32 clients at
// once, each with a session of its own, an agent that takes no time, the answer as a stream.
func BenchmarkReplicas(b *testing.B) {
	for _, count := range []int{1, 3} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			store := pgtest.URL(b)
			var replicas []*replica
			for range count {
				replicas = append(replicas, startReplica(b, store))
			}
			var next, events atomic.Int64
			var clients sync.WaitGroup
			b.ResetTimer()
			for n := range 32 {
				clients.Go(func() {
					web := &http.Client{Transport: &http.Transport{}}
					defer web.CloseIdleConnections()
					c, err := client.New(replicas[n%count].url, client.Options{HTTP: web})
					if err != nil {
						b.Error(err)
						return
					}
					key := session.Key{App: "desk", User: "user", ID: fmt.Sprint("s", n)}
					for next.Add(1) <= int64(b.N) {
						for _, err := range c.Run(b.Context(), key, session.Message("steps 8 0s"), session.RunConfig{Create: true, Streaming: session.SSE}) {
							if err != nil {
								b.Error(err)
								return
							}
							events.Add(1)
						}
					}
				})
			}
			clients.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
			b.ReportMetric(float64(18*b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkFollowers opens 1,000 streams of idle sessions at one process, and follows one more session there
// that another process runs. It reports the process's memory for each stream, and the time from an event's
// making to its arrival.
func BenchmarkFollowers(b *testing.B) {
	const streams = 1000
	store := pgtest.URL(b)
	writer, reader := startReplica(b, store), startReplica(b, store)
	sessions, err := openStore(b.Context(), store)
	require.NoError(b, err)
	defer sessions.Close()
	web := &http.Client{Transport: &http.Transport{}}
	ctx, leave := context.WithCancel(b.Context())
	follow := func(i int) *servertest.FrameReader {
		key := session.Key{App: "desk", User: "user", ID: fmt.Sprint("s", i)}
		_, err := sessions.Create(ctx, key, nil)
		require.NoError(b, err)
		req, err := http.NewRequestWithContext(ctx, "GET",
			reader.url+"/v1/apps/desk/sessions/"+key.ID+"/events?follow=1", nil)
		require.NoError(b, err)
		resp, err := web.Do(req)
		require.NoError(b, err)
		require.Equal(b, 200, resp.StatusCode)
		r := servertest.NewFrames(resp.Body)
		f, err := r.Next()
		require.NoError(b, err)
		require.Equal(b, "run", f.Name)
		return r
	}
	defer func() {
		leave()
		web.CloseIdleConnections()
	}()
	busy := follow(0)
	before := reader.memory(b)
	for i := range streams {
		follow(1 + i)
	}
	perStream := float64(reader.memory(b)-before) / streams

	c, err := client.New(writer.url, client.Options{HTTP: web})
	require.NoError(b, err)
	var lags []time.Duration
	var runs sync.WaitGroup
	defer runs.Wait()
	for b.Loop() {
		runs.Go(func() {
			input := session.Message("steps 50 7ms")
			for range c.Run(ctx, session.Key{App: "desk", User: "user", ID: "s0"}, input, session.RunConfig{}) {
			}
		})
		for said := ""; said != "done"; {
			f, err := busy.Next()
			require.NoError(b, err)
			if f.Name != "" {
				continue
			}
			var e session.Event
			require.NoError(b, json.Unmarshal([]byte(f.Data), &e))
			lags = append(lags, time.Since(e.Timestamp))
			said = e.Text()
		}
	}
	slices.Sort(lags)
	b.ReportMetric(perStream/1024, "KB/stream")
	b.ReportMetric(float64(lags[len(lags)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(lags[len(lags)*99/100].Microseconds())/1000, "p99-ms")
}

// memory returns the bytes of memory that the process has.
func (r *replica) memory(b *testing.B) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		b.Skip("there is no /proc: ", err)
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	b.Fatal("no VmRSS")
	return 0
}
