package workflow

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

var key = session.Key{App: "support", User: "ada", ID: "1"}

// process runs one input, as a process of its own would.
func process(t *testing.T, store string, shop Shop, input *session.Event) (last *session.Event) {
	root, err := Support(shop)
	require.NoError(t, err)
	sessions, err := config.Options{}.OpenStore(t.Context(), "sqlite:"+store, true)
	require.NoError(t, err)
	defer func() { require.NoError(t, sessions.Close()) }()
	r, err := runner.New(runner.Options{Agent: root, Sessions: sessions})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(context.Background())) }()
	for e, err := range r.Run(t.Context(), key, input, session.RunConfig{Create: input != nil}) {
		require.NoError(t, err)
		last = e
	}
	return last
}

// A process that is killed in the middle leaves what its nodes have ended with; another one goes on.
func TestAKilledProcessGoesOn(t *testing.T) {
	store := os.Getenv("SUPPORT_STORE")
	if store != "" { // this is the process that is killed, when it has looked up two parts
		var calls atomic.Int32
		process(t, store, Shop{Stock: func(_ context.Context, part string) (bool, error) {
			switch {
			case part == "cable":
				self, err := os.FindProcess(os.Getpid())
				require.NoError(t, err)
				require.NoError(t, self.Kill())
				select {}
			case calls.Add(1) == 1:
				return false, errors.New("the stock room does not answer")
			}
			return true, nil
		}}, begin())
		return
	}
	store = filepath.Join(t.TempDir(), "support.db")
	killed := exec.Command(os.Args[0], "-test.run=TestAKilledProcessGoesOn$")
	killed.Env = append(os.Environ(), "SUPPORT_STORE="+store)
	require.Error(t, killed.Run())

	// The next process does what is left, and no part twice that has ended.
	var mu sync.Mutex
	looked := map[string]int{}
	sent := map[string]string{}
	shop := Shop{
		Stock: func(_ context.Context, part string) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			looked[part]++
			return part != "cable", nil
		},
		Send: func(_ context.Context, key, answer string) error {
			sent[key] = answer
			return nil
		},
	}
	asked := process(t, store, shop, nil)
	require.Len(t, asked.FunctionCalls(), 1)
	require.Equal(t, "Send this? 2 of 3 parts are here. (friendly)",
		asked.FunctionCalls()[0].Args["message"])
	require.Equal(t, 1, looked["cable"])
	require.LessOrEqual(t, len(looked), 2) // of the others at least one had ended

	// Two more processes answer the questions.
	asked = process(t, store, shop, workflow.Answer("support@mon/approve@1#send", "sorry"))
	require.Equal(t, "Send this? 2 of 3 parts are here. (friendly, sorry)",
		asked.FunctionCalls()[0].Args["message"])
	end := process(t, store, shop, workflow.Answer("support@mon/approve@2#send", "yes"))
	require.Equal(t, "sent: 2 of 3 parts are here. (friendly, sorry)", end.Output)
	require.Equal(t,
		map[string]string{"support@mon/send@1": "2 of 3 parts are here. (friendly, sorry)"}, sent)
}

func begin() *session.Event {
	e := session.Message("My kettle broke.")
	e.ID = "mon"
	return e
}
