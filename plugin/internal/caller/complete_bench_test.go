package caller

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// BenchmarkComplete measures what the host does for one call of OnEvent in a session of 100 live
// events that the plugin has, besides encoding the event.
func BenchmarkComplete(b *testing.B) {
	inv := &session.Invocation{
		ID:    "i",
		Key:   session.Key{App: "app", User: "ann", ID: "s"},
		State: map[string]any{"a": 1.0},
	}
	for i := range 100 {
		e := session.Reply("some words")
		e.ID = session.NewID()
		e.Timestamp = time.Now()
		e.Seq = int64(i + 1)
		inv.Live = append(inv.Live, e)
	}
	e := session.Reply(fmt.Sprintf("%01000d", 1))
	e.ID = session.NewID()
	args := plugin.Args{Hook: plugin.OnEvent, Event: e}
	var x Sent
	for b.Loop() {
		call, err := NewCall(args)
		require.NoError(b, err)
		require.NoError(b, x.Complete(call, inv, args))
	}
}
