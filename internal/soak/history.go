//go:build unix

package soak

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// history checks what is in the logs against what the workers reported.
type history struct {
	t      testing.TB
	s      session.Service
	tried  map[string]*batch
	acked  map[string]bool
	lost   int // leases
	events int

	// Of appends to the bounded counter: how many, and what they added together.
	counted, added int
}

func newHistory(t testing.TB, s session.Service, workers []*worker) *history {
	h := &history{t: t, s: s, tried: map[string]*batch{}, acked: map[string]bool{}}
	for _, w := range workers {
		for _, r := range w.reports {
			switch {
			case r.Error != "":
				t.Errorf("a worker failed: %s", r.Error)
			case r.Try != nil:
				h.tried[r.Try.Name] = r.Try
			case r.Lost:
				h.lost++
			case r.Added > 0:
				h.counted++
				h.added += r.Added
			default:
				h.acked[r.Ack] = true
			}
		}
	}
	return h
}

// check reads the sessions' logs: positions are dense; every batch that was acknowledged is there; each
// batch that is there is whole, in one piece, once; state and live view are those of the log; leases do
// not interleave.
func (h *history) check(keys []session.Key) {
	h.t.Helper()
	found := map[string]bool{}
	h.events = 0
	var sum any
	for _, key := range keys {
		log := h.read(key, session.Selection{})
		m, err := h.s.Get(h.t.Context(), key)
		if err != nil {
			h.t.Fatal(err)
		}
		if m.Position != int64(len(log)) {
			h.t.Errorf("%s: position %d, but %d events", key, m.Position, len(log))
		}
		fence := int64(0)
		nth := -1
		for i := 0; i < len(log); i++ {
			if log[i].Seq != int64(i)+1 {
				h.t.Errorf("%s: event %d of the log has position %d", key, i+1, log[i].Seq)
			}
			if log[i].Actions.Rewind != nil {
				continue
			}
			name, _ := log[i].CustomMetadata["name"].(string)
			b := h.tried[name]
			if b == nil || b.Key != key || found[name] || i+b.Of > len(log) {
				h.t.Errorf("%s: at %d stands batch %q: never tried here, there twice, or cut off", key, i+1, name)
				continue
			}
			found[name] = true
			for j, want := range b.events() {
				if log[i+j].ID != want.ID || log[i+j].Seq != int64(i+j)+1 {
					h.t.Errorf("%s: at %d stands %q, want %q", key, i+j+1, log[i+j].ID, want.ID)
				}
			}
			if b.Fence < fence || b.Fence == fence && b.Fence != 0 && b.Nth != nth+1 {
				h.t.Errorf("%s: at %d stands append %d of lease %d after append %d of lease %d", key, i+1, b.Nth, b.Fence, nth, fence)
			}
			fence = b.Fence
			nth = b.Nth
			h.events += b.Of
			i += b.Of - 1
		}
		own := map[string]any{}
		for k, v := range m.State {
			if store.Owner(key, k) == "" {
				own[k] = v
			}
		}
		if want := session.State(m.Initial, log); !reflect.DeepEqual(own, want) {
			h.t.Errorf("%s: state %v, the log's is %v", key, own, want)
		}
		if live, want := h.read(key, session.Selection{Live: true}), session.Live(log); !reflect.DeepEqual(live, want) {
			h.t.Errorf("%s: the live view has %d events, the log's %d, or they differ", key, len(live), len(want))
		}
		sum = m.State["app:events"]
	}
	if n, _ := sum.(float64); n != float64(h.events) {
		h.t.Errorf("app:events is %v, want one for each of %d events", sum, h.events)
	}
	for name := range h.acked {
		if !found[name] {
			h.t.Errorf("%s: batch %q was acknowledged and is not there", h.tried[name].Key, name)
		}
	}
}

// fence appends to each of the sessions, whose writers are dead. A server may still be at the last append of
// a writer that was killed. This append comes behind that one, or in its place: after it nothing of the dead
// can arrive while check reads.
func (h *history) fence(keys []session.Key) {
	h.t.Helper()
	for n, key := range keys {
		b := &batch{
			Name: fmt.Sprint("fence.", n),
			Of:   1,
			Key:  key,
		}
		if err := contract.Persist(h.t.Context(), h.s, key, b.events()...); err != nil {
			h.t.Fatal(err)
		}
		h.tried[b.Name] = b
		h.acked[b.Name] = true
	}
}

// again repeats each append that was not acknowledged: its caller does not know whether it succeeded.
func (h *history) again() {
	h.t.Helper()
	for name, b := range h.tried {
		if h.acked[name] {
			continue
		}
		if err := contract.Persist(h.t.Context(), h.s, b.Key, b.events()...); err != nil {
			h.t.Errorf("%s: batch %q again: %v", b.Key, name, err)
		}
		h.acked[name] = true
	}
}

func (h *history) read(key session.Key, sel session.Selection) (log []*session.Event) {
	h.t.Helper()
	for e, err := range h.s.Read(h.t.Context(), key, sel) {
		if err != nil {
			h.t.Fatal(err)
		}
		log = append(log, e)
	}
	return log
}
