//go:build unix

package budget_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/budget"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sqlite"
)

// envTalks makes the test binary a process that talks in a session: its value is the file of the
// store and the session's ID, with a space between them.
const envTalks = "PLUGHOOK_TEST_TALKS"

const (
	talks     = 30 // of each process
	perDay    = 20 // of a user
	visitsKey = "app:visits:n"
)

// visits counts the runs of all users in the app's state, as anybody's plugin would.
func visits() *plugin.Plugin {
	return &plugin.Plugin{
		Name:        "visits",
		SharedState: true,
		BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) {
			e := &session.Event{}
			e.Actions.StateIncrement = map[string]float64{visitsKey: 1}
			return plugin.Outcome{Emit: []*session.Event{e}}, nil
		},
	}
}

// talk says hello in a session, over and over, and returns how often the model has answered.
func talk(path string, key session.Key) (answered int, err error) {
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return 0, err
	}
	defer store.Close()
	limits, err := budget.New(budget.Config{
		Limits: []budget.Limit{{Name: "runs", Count: "runs", Max: perDay, Per: "user"}},
	})
	if err != nil {
		return 0, err
	}
	bot, err := llm.New(
		llm.Config{Name: "bot", Model: talker{process: new(process), say: hello(0)}})
	if err != nil {
		return 0, err
	}
	r, err := runner.New(
		runner.Options{Agent: bot, Sessions: store, Plugins: []*plugin.Plugin{limits, visits()}})
	if err != nil {
		return 0, err
	}
	defer r.Close(ctx)
	for range talks {
		for e, err := range r.Run(ctx, key, session.Message("hi"), session.RunConfig{Create: true}) {
			if err != nil {
				return answered, err
			}
			if e.Author == "bot" {
				answered++
			}
		}
	}
	return answered, nil
}

func init() {
	path, id, ok := strings.Cut(os.Getenv(envTalks), " ")
	if !ok {
		return
	}
	answered, err := talk(path, session.Key{App: "app", User: "ann", ID: id})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Print(answered)
	os.Exit(0)
}

// Two sessions of one user, in two processes at once, have one budget; and what they count in the
// app's state loses nothing.
func TestTwoProcessesShareWhatIsTheUsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	commands := make([]*exec.Cmd, 2)
	said := make([]strings.Builder, 2)
	for i := range commands {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%s s%d", envTalks, path, i))
		c.Stdout = &said[i]
		c.Stderr = &said[i]
		require.NoError(t, c.Start())
		commands[i] = c
	}
	answered := 0
	for i, c := range commands {
		require.NoError(t, c.Wait(), "%s", &said[i])
		n := 0
		_, err := fmt.Sscan(said[i].String(), &n)
		require.NoError(t, err, "%s", &said[i])
		answered += n
	}
	require.Equal(t, perDay, answered, "not one more, and not one less")

	// Another user has a budget of their own. The app's count goes on.
	n, err := talk(path, session.Key{App: "app", User: "bob", ID: "s"})
	require.NoError(t, err)
	require.Equal(t, perDay, n)
	store, err := sqlite.Open(ctx, path)
	require.NoError(t, err)
	defer store.Close()
	got, err := store.Get(ctx, session.Key{App: "app", User: "bob", ID: "s"})
	require.NoError(t, err)
	require.Equal(t, float64(2*perDay), got.State[visitsKey])
}
