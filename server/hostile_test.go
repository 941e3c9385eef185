package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session/memory"
)

// hostile is a server with two users, of whom one wants to harm.
type hostile struct {
	*testing.T
	addr   string
	client *http.Client
}

func serveHostile(t *testing.T, limits server.Limits) *hostile {
	t.Helper()
	sessions := memory.New()
	r, err := runner.New(runner.Options{
		Agent:    agent.New("helper", "It helps.", servertest.Echo),
		Sessions: sessions,
	})
	require.NoError(t, err)
	s, err := server.New(server.Options{
		Apps:   []server.App{{Name: "desk", Runner: r, Artifacts: artifact.NewMemory()}},
		Limits: limits,
		Caller: func(r *http.Request) (server.Caller, error) {
			return server.Caller{User: r.Header.Get("X-User")}, nil
		},
	})
	require.NoError(t, err)
	h := httptest.NewServer(s)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Shutdown(ctx)
		h.CloseClientConnections()
		h.Close()
		require.NoError(t, r.Close(context.Background()))
		require.NoError(t, sessions.Close())
	})
	return &hostile{T: t, addr: strings.TrimPrefix(h.URL, "http://"), client: client}
}

// ask sends a request of a user, and returns the answer's status and body.
func (h *hostile) ask(user, method, path, body string) (int, string) {
	r, err := http.NewRequest(method, "http://"+h.addr+path, strings.NewReader(body))
	require.NoError(h, err)
	r.Header.Set("X-User", user)
	resp, err := h.client.Do(r)
	if err != nil { // the answer was cut
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(data)
}

// Whatever one user does, the process holds a bounded amount of memory for it, and another user is served.
func TestAHostileUserTakesNeitherTheMemoryNorTheOthersTime(t *testing.T) {
	const (
		mib    = 1 << 20
		bound  = 320 * mib
		budget = 64 * mib
		log    = 16 * mib
	)
	h := serveHostile(t, server.Limits{
		Memory:        budget,
		Session:       log,
		UserSessions:  40 * mib,
		UserArtifacts: 20 * mib,
		Body:          2 * mib,
		Patience:      500 * time.Millisecond,
	})
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)

	// The heap is watched, and another user chats, for as long as the attack lasts.
	var highest, chats, refused atomic.Int64
	ctx, end := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			highest.Store(max(highest.Load(), int64(now.HeapAlloc)-int64(before.HeapAlloc)))
			time.Sleep(20 * time.Millisecond)
		}
	})
	watching.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			status, body := h.ask("ada", "POST", "/chat", fmt.Sprintf(`{"message":"hello %d","session":"s%d"}`, n, n%10))
			if status == http.StatusOK && strings.Contains(body, `"kind":"done"`) {
				chats.Add(1)
			} else {
				refused.Add(1)
			}
		}
	})

	rounds := contract.Times(1)
	for round := range rounds {
		statuses := map[int]int{}
		var mu sync.Mutex
		attack := func(n int, do func(i int) int) {
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					status := do(i)
					mu.Lock()
					defer mu.Unlock()
					statuses[status]++
				})
			}
			wg.Wait()
		}
		path := fmt.Sprintf("/v1/apps/desk/sessions/evil%d", round)
		mega := strings.Repeat("x", mib)

		// Messages of a megabyte.
		for range 12 {
			attack(2, func(int) int {
				status, _ := h.ask("eve", "POST", path+"/run", `{"message":"`+mega+`"}`)
				return status
			})
		}
		// Pages of all of it, at once.
		attack(16, func(int) int {
			status, _ := h.ask("eve", "GET", path+"/events?limit=1000", "")
			return status
		})
		// Readers that do not read.
		var slow []net.Conn
		for i := range 48 {
			c, err := net.Dial("tcp", h.addr)
			require.NoError(t, err)
			what := "events?limit=1000"
			if i%2 == 0 {
				what = "events?follow=1"
			}
			fmt.Fprintf(c, "GET %s/%s HTTP/1.1\r\nHost: %s\r\nX-User: eve\r\n\r\n", path, what, h.addr)
			slow = append(slow, c)
		}
		// State without end, forks, and files.
		attack(10, func(i int) int {
			status, _ := h.ask("eve", "PATCH", path, fmt.Sprintf(`{"state":{"k%d":%q}}`, i, mega))
			return status
		})
		attack(8, func(int) int {
			status, _ := h.ask("eve", "POST", path+"/fork", `{}`)
			return status
		})
		attack(30, func(i int) int {
			status, _ := h.ask("eve", "PUT", fmt.Sprintf("%s/artifacts/f%d", path, i), mega)
			return status
		})
		for _, c := range slow {
			_ = c.Close()
		}
		require.NotZero(t, statuses[http.StatusRequestEntityTooLarge], statuses)
		require.Zero(t, statuses[http.StatusInternalServerError], statuses)
		t.Logf("round %d: statuses %v", round, statuses)
	}
	end()
	watching.Wait()
	t.Logf("the heap grew by %d MiB at most; %d chats of the other user", highest.Load()/mib, chats.Load())
	require.Less(t, highest.Load(), int64(bound))
	require.Positive(t, chats.Load())
	require.Zero(t, refused.Load(), "the other user was refused")

	// What the hostile user stores is bounded, too.
	status, body := h.ask("eve", "GET", "/v1/apps/desk/sessions/evil0", "")
	require.Equal(t, http.StatusOK, status)
	require.Less(t, len(body), 3*mib)
}
