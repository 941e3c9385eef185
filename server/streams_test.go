package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/leaktest"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
)

// streamLoad is a server with many open streams.
type streamLoad struct {
	idle   int           // streams that follow a session on which nothing happens
	busy   int           // streams of runs
	events int           // of each run
	pause  time.Duration // between two events of a run, on average
}

// streamFigures are what was measured.
type streamFigures struct {
	idleBytes int64           // heap and stacks for each idle stream
	busyBytes int64           // for each busy one
	delays    []time.Duration // from the return of an append to the client, sorted
}

// timed is a store that notes when an append has returned.
type timed struct {
	session.Service
	appended *sync.Map // time by ID
}

func (s timed) Append(
	ctx context.Context,
	at session.AppendTarget,
	events ...*session.Event,
) (int64, error) {
	position, err := s.Service.Append(ctx, at, events...)
	now := time.Now()
	for _, e := range events {
		s.appended.Store(e.ID, now)
	}
	return position, err
}

// run opens the streams, lets the runs speak, and measures. Afterwards no goroutine may be left.
func (l streamLoad) run(t testing.TB, open func() session.Service) streamFigures {
	leaks := goleak.IgnoreCurrent()
	sessions := open()
	store := timed{Service: sessions, appended: new(sync.Map)}
	start := make(chan struct{}) // closed when all streams are open
	speaks := func(ctx context.Context, _ *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			<-start
			text := strings.Repeat("plain words ", 20)
			for range l.events {
				time.Sleep(rand.N(2 * l.pause))
				if !yield(session.Reply(text), nil) {
					return
				}
			}
		}
	}
	a := agent.New("speaker", "", speaks)
	r, err := runner.New(runner.Options{Agent: a, Sessions: store})
	require.NoError(t, err)
	s, err := server.New(server.Options{
		Apps:   []server.App{{Name: "desk", Runner: r}},
		Limits: server.Limits{UserStreams: -1, UserRuns: -1},
	})
	require.NoError(t, err)
	h := httptest.NewServer(s)
	closed := false
	shut := func() {
		if closed {
			return
		}
		closed = true
		s.Shutdown(context.Background())
		h.Close()
		require.NoError(t, r.Close(context.Background()))
	}
	defer shut()

	// Idle clients are connections that nobody reads from, so that what is measured is the server.
	before := memoryInUse()
	idle := make([]net.Conn, l.idle)
	for i := range idle {
		key := session.Key{App: "desk", User: "user", ID: fmt.Sprint("idle", i)}
		_, err := sessions.Create(t.Context(), key, nil)
		require.NoError(t, err)
		idle[i] = openStream(t, h.Listener.Addr().String(), "GET", key.ID+"/events?follow=1", "")
		defer idle[i].Close()
	}
	figures := streamFigures{}
	if l.idle > 0 {
		figures.idleBytes = (memoryInUse() - before) / int64(l.idle)
	}

	// Busy clients read on a goroutine of their own.
	before = memoryInUse()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range l.busy {
		conn := openStream(t, h.Listener.Addr().String(), "POST", fmt.Sprint("busy", i, "/run"),
			`{"message":"hi"}`)
		defer conn.Close()
		wg.Go(func() {
			delays := l.read(t, conn, store.appended)
			mu.Lock()
			defer mu.Unlock()
			figures.delays = append(figures.delays, delays...)
		})
	}
	if l.busy > 0 {
		figures.busyBytes = (memoryInUse() - before) / int64(l.busy)
	}
	close(start)
	wg.Wait()
	slices.Sort(figures.delays)

	// Everything ends.
	shut()
	for _, conn := range idle {
		conn.Close()
	}
	require.NoError(t, sessions.Close())
	leaktest.None(t, leaks)
	return figures
}

// openStream sends a request for a stream and reads the header of the answer.
func openStream(t testing.TB, address, method, path, body string) net.Conn {
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	_, err = fmt.Fprintf(
		conn,
		"%s /v1/apps/desk/sessions/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nContent-Length: %d\r\n\r\n%s",
		method,
		path,
		len(body),
		body,
	)
	require.NoError(t, err)
	var head []byte
	for !strings.HasSuffix(string(head), "\r\n\r\n") {
		one := make([]byte, 1)
		_, err := conn.Read(one)
		require.NoError(t, err)
		head = append(head, one...)
	}
	require.True(t, strings.HasPrefix(string(head), "HTTP/1.1 200"), string(head))
	return conn
}

// read reads a run's stream to its end, and returns how long each event of the agent was on its way.
func (l streamLoad) read(t testing.TB, conn net.Conn, appended *sync.Map) []time.Duration {
	var delays []time.Duration
	seq := 0
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		now := time.Now()
		var e struct {
			ID, Author string
			Seq        int
			Kind       string
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Error(err)
			return nil
		}
		if e.Kind != "" {
			break // the end
		}
		seq++
		if e.Seq != seq {
			t.Errorf("event %d came where %d was to come", e.Seq, seq)
		}
		if e.Author == session.User {
			continue
		}
		at, _ := appended.Load(e.ID)
		delays = append(delays, now.Sub(at.(time.Time)))
	}
	if len(delays) != l.events {
		t.Errorf("%d of %d events came", len(delays), l.events)
	}
	return delays
}

// memoryInUse returns the bytes of heap and stacks that are in use.
func memoryInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// part returns the delay that so many of a hundred are not above.
func (f streamFigures) part(percent int) time.Duration {
	return f.delays[min(len(f.delays)-1, len(f.delays)*percent/100)]
}

func (f streamFigures) String() string {
	return fmt.Sprintf("idle stream %d bytes, busy stream %d bytes, delay p50 %s p99 %s",
		f.idleBytes, f.busyBytes, f.part(50), f.part(99))
}

// Many streams at once: nothing is lost or out of order, an idle one takes little memory, and no goroutine is
// left.
func TestManyStreams(t *testing.T) {
	http.DefaultClient.CloseIdleConnections()
	load := streamLoad{idle: 200, busy: 20, events: 20, pause: 10 * time.Millisecond}
	figures := load.run(t, func() session.Service { return memory.New() })
	t.Log(figures)
	require.Less(t, figures.idleBytes, int64(60<<10))
}

// BenchmarkStreams is 1,000 idle and 200 busy streams at once. Each busy one shows five events a second.
func BenchmarkStreams(b *testing.B) {
	stores := map[string]func() session.Service{
		"memory": func() session.Service { return memory.New() },
		"sqlite": func() session.Service {
			sessions, err := sqlite.Open(context.Background(),
				filepath.Join(b.TempDir(), "sessions.db"))
			require.NoError(b, err)
			return sessions
		},
	}
	for kind, open := range stores {
		b.Run(kind, func(b *testing.B) {
			load := streamLoad{idle: 1000, busy: 200, events: 50, pause: 200 * time.Millisecond}
			for b.Loop() {
				figures := load.run(b, open)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(figures.idleBytes)/1024, "KB/idle")
				b.ReportMetric(float64(figures.busyBytes)/1024, "KB/busy")
				b.ReportMetric(float64(figures.part(50).Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(figures.part(99).Microseconds())/1000, "p99-ms")
			}
		})
	}
}
