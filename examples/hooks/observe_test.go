package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Sees everything and holds up nothing: its hooks run beside the run, on copies. Close waits for
// them.
func Example_observeEverything() {
	var mu sync.Mutex
	var seen []string
	see := func(format string, args ...any) (plugin.Outcome, error) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf(format, args...))
		return plugin.Outcome{}, nil
	}
	trace := &plugin.Plugin{
		Name: "trace", Observer: true, Partials: true,
		BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
			return see("run on %s", inv.Input.Text())
		},
		BeforeModel: func(_ context.Context, _ *session.Invocation, req *model.Request) (plugin.Outcome, error) {
			return see("%s asks its model, %d contents", req.Agent, len(req.Contents))
		},
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			return see("%s says %s", e.Author, e.Text())
		},
		AfterRun: func(_ context.Context, _ *session.Invocation, end plugin.End) (plugin.Outcome, error) {
			return see("it is %s", end.Kind)
		},
	}
	run(bot("Hello."), []*plugin.Plugin{trace}, "Hi.")
	fmt.Println("-\n" + strings.Join(slices.Clone(seen), "\n"))
	// Output:
	// user: Hi.
	// bot: Hello.
	// -
	// user says Hi.
	// run on Hi.
	// bot asks its model, 1 contents
	// bot says Hello.
	// it is done
}

// Lets a plugin fail without ending the run, and says so on what it has not checked. Without
// FailOpen the run would end with the error.
func Example_failOpen() {
	broken := &plugin.Plugin{
		Name: "tags",
		OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
			return plugin.Outcome{}, errors.New("no connection")
		},
	}
	unchecked := &plugin.Plugin{
		Name: "unchecked",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			for _, note := range plugin.NotesOf(e).Unchecked {
				fmt.Println(note.Plugin, "has not checked:", e.Text())
			}
			return plugin.Outcome{}, nil
		},
	}
	run(bot("Hello."), []*plugin.Plugin{plugin.FailOpen(broken), unchecked}, "Hi.")
	// Output:
	// tags has not checked: Hi.
	// user: Hi.
	// tags has not checked: Hello.
	// bot: Hello.
}
