package a2a

import (
	"bytes"
	"testing"

	"github.com/plughook/plughook/agent"
	wire "github.com/plughook/plughook/internal/a2awire"
	"github.com/plughook/plughook/session"
)

// Whatever a remote agent sends ends in events or an error.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(
		`data: {"jsonrpc":"2.0","id":1,"result":{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"text":"x"}]},"append":true}}}` + "\n\n",
	))
	f.Add([]byte(
		`data: {"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"parts":[{"data":{"calls":[{"id":"1","name":"x","confirm":true}]}}]}}}}}` + "\n\n",
	))
	f.Add([]byte(
		`data: {"result":{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_REJECTED"}}}}` + "\n\n",
	))
	f.Fuzz(func(t *testing.T, data []byte) {
		x := newExchange(t)
		if err := events(bytes.NewReader(data), x.accept); err != nil && err != errEnough {
			x.fail(err)
			return
		}
		_ = x.finish()
	})
}

func newExchange(t *testing.T) *exchange {
	far, err := New("far", "", "http://localhost/", Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &exchange{
		remote:  far.(*remote),
		host:    &agent.Host{},
		yield:   func(*session.Event, error) bool { return true },
		message: wire.Message{},
		told:    map[string]bool{},
	}
}
