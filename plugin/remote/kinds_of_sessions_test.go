//go:build unix

package remote

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/session"
)

// heapInUse returns how many bytes of this process's heap are in use.
func heapInUse() int {
	runtime.GC()
	runtime.GC() // pools keep what they have for one collection
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int(s.HeapAlloc)
}

// flat is by how many bytes a heap may have grown when it is called flat.
const flat = 5 << 20

// manySessions calls the hooks of a plugin in a process of its own for many sessions, one after the
// other, each of which is never used again. The heap of the host and that of the plugin, which
// heap returns, must not grow with them.
func manySessions(t *testing.T, p *plugin.Plugin, heap func() int) {
	kinds := []struct {
		name   string
		warm   int // sessions, after which nothing grows any more
		more   int
		events int
		state  func(session int) map[string]any
	}{
		{
			name:   "small",
			warm:   1500,
			more:   contract.Times(3000),
			events: 2,
			state:  func(n int) map[string]any { return map[string]any{"n": float64(n)} },
		},
		{
			name:   "a state of 300 KB",
			warm:   250,
			more:   contract.Times(50),
			events: 2,
			state: func(n int) map[string]any {
				text := strings.Repeat(fmt.Sprintf("some text %09d ", n), 15_000)
				return map[string]any{"n": float64(n), "text": text}
			},
		},
		{
			name:   "a state of many values",
			warm:   250,
			more:   contract.Times(150),
			events: 2,
			state: func(n int) map[string]any {
				list := make([]any, 1000)
				for i := range list {
					list[i] = map[string]any{"n": float64(n), "i": float64(i)}
				}
				return map[string]any{"list": list}
			},
		},
		{
			name:   "many events",
			warm:   300,
			more:   contract.Times(150),
			events: 100,
		},
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			n := 0
			run := func(sessions int) {
				for range sessions {
					n++
					var state map[string]any
					if k.state != nil {
						state = k.state(n)
					}
					oneRun(t, p, fmt.Sprint(k.name, n), k.events, state)
				}
			}
			run(k.warm)
			host := heapInUse()
			of := heap()
			run(k.more)
			hostNow := heapInUse()
			now := heap()
			t.Logf("after %d sessions the host had %.1f MB and the plugin %.1f MB, after %d more %.1f and %.1f MB",
				k.warm, mega(host), mega(of), k.more, mega(hostNow), mega(now))
			require.Less(t, hostNow-host, flat, "the host's heap has grown")
			require.Less(t, now-of, flat, "the plugin's heap has grown")
			require.Less(t, now, 150<<20, "the plugin's heap")
		})
	}
}

func mega(n int) float64 { return float64(n) / 1e6 }

// oneRun calls a plugin's hooks as a run does that has a session with events in its log.
func oneRun(t *testing.T, p *plugin.Plugin, id string, events int, state map[string]any) {
	ctx := t.Context()
	inv := &session.Invocation{
		ID:    "i",
		Key:   session.Key{App: "app", User: "ann", ID: id},
		State: state,
	}
	request := &model.Request{Agent: "bot"}
	for i := range events {
		e := testplugin.TextEvent(strings.Repeat("some words of an answer ", 40))
		e.ID = fmt.Sprint(id, "-", i)
		e.Seq = int64(i + 1)
		inv.Live = append(inv.Live, e)
		request.Contents = append(request.Contents, e.Content)
	}
	inv.Position = int64(events)
	offered := testplugin.TextEvent("withheld later")
	offered.ID = id + "-offered"
	_, err := p.BeforeRun(ctx, inv)
	require.NoError(t, err)
	_, err = p.BeforeModel(ctx, inv, request)
	require.NoError(t, err)
	_, err = p.OnEvent(ctx, inv, offered)
	require.NoError(t, err)
}

// askHeap returns how many bytes of its heap a plugin says are in use: it answers the text "heap" with
// the number.
func askHeap(t *testing.T, p *plugin.Plugin) int {
	e := testplugin.TextEvent("heap")
	e.ID = session.NewID()
	out, err := p.OnEvent(t.Context(), &session.Invocation{Key: session.Key{App: "app", User: "ann", ID: "heap"}}, e)
	require.NoError(t, err)
	require.Len(t, out.Emit, 1)
	n := 0
	_, err = fmt.Sscan(out.Emit[0].Text(), &n)
	require.NoError(t, err)
	return n
}
