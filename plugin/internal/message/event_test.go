package message

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// An event is encoded once, also if several encode it at once.
func TestAnEventIsEncodedOnceAtATime(t *testing.T) {
	n := 0
	e := &session.Event{ID: "e1", CustomMetadata: map[string]any{"key": counted{&n}}}
	var x encoder
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { _, _ = x.encode(e) })
	}
	all.Wait()
	require.Equal(t, 1, n)
}

// counted is a value that counts how often it is encoded.
type counted struct{ n *int }

func (c counted) MarshalJSON() ([]byte, error) {
	*c.n++
	return []byte(`"counted"`), nil
}
