// Package show shows, offline, what plugins do to conversations. The program in the directory above and "runner demo" run it.
//
// A customer talks to an agent under four plugins: one answers by rule, one enforces a policy, one is a budget, one observes. Then a longer
// conversation is compacted, and rewound across its summary. The agent is real, and its model is a script, so the text is
// the same each time. The files of this package are meant to be read: parts.go makes the agent and the plugins, talk.go
// runs the first conversation, long.go the second; store.go says where they are kept. A new scene of the first one: a row in
// talk.go, and what the agent says to it in script.yaml.
package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// A Demo says where the demo is shown. Out is needed.
type Demo struct {
	Out  io.Writer
	Bold func(string) string // marks titles and names; nil leaves them as they are
	Log  *slog.Logger        // gets what plugins log; nil discards it
	// Store is where the sessions are kept; the zero Store is SessionFile.
	Store Store
	// NewRunner makes a Runner and what closes it; nil is runner.New and Runner.Close.
	NewRunner func(context.Context, runner.Options) (*runner.Runner, func() error, error)
}

// A BrokenError says that the demo did not show what it is to show.
type BrokenError struct{ text string }

func (e *BrokenError) Error() string { return "the demo is broken: " + e.text }

// Run shows the demo. Its sessions are in a temporary directory, which it removes.
func (d *Demo) Run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "runner-demo-")
	if err != nil {
		return err
	}
	defer func() {
		if e := os.RemoveAll(dir); err == nil {
			err = e
		}
	}()
	seen := &counts{}
	d.intro()
	if err := d.talk(ctx, dir, seen); err != nil {
		return err
	}
	if err := d.stored(ctx, dir); err != nil {
		return err
	}
	fmt.Fprintf(d.Out, "\nWhat %s saw: %s.\n", d.bold("counter"), seen)
	if err := d.long(ctx, dir); err != nil {
		return err
	}
	fmt.Fprint(d.Out, `
What next ("go install ./cmd/runner" for the command by its name):
  runner run --config examples/support/runner.yaml "Hello"   one turn under configured plugins
  runner replay FILE --config runner.yaml                    recorded conversations under them
  runner --help                                              all the rest
`)
	return nil
}

func (d *Demo) store() Store {
	if d.Store.Open == nil {
		return SessionFile
	}
	return d.Store
}

// intro says which plugins there are, with the rules of the policy.
func (d *Demo) intro() {
	fmt.Fprintln(d.Out, "A customer talks to an agent. Four plugins steer the run, in this order:")
	fmt.Fprintln(d.Out)
	fmt.Fprintf(d.Out, "  %s  answers by rule\n", d.bold("earlyexit"))
	fmt.Fprintf(d.Out, "  %s  holds all that is said and done to a policy:\n", d.bold("guardrail"))
	for line := range strings.Lines(policyText) {
		if rule, ok := strings.CutPrefix(line, "  - "); ok {
			fmt.Fprint(d.Out, "             ", rule)
		}
	}
	fmt.Fprintf(d.Out, "  %s     lets each customer move a booking once\n", d.bold("budget"))
	fmt.Fprintf(d.Out, "  %s    only observes: counts the events that are left\n", d.bold("counter"))
}

// newRunner makes a Runner, and what closes it.
func (d *Demo) newRunner(ctx context.Context, o runner.Options) (*runner.Runner, func() error, error) {
	if d.NewRunner != nil {
		return d.NewRunner(ctx, o)
	}
	r, err := runner.New(o)
	if err != nil {
		return nil, nil, err
	}
	return r, func() error { return r.Close(ctx) }, nil
}

// closing closes something at the end of a function, and adds what goes wrong to its error.
func closing(close func() error, err *error) { *err = errors.Join(*err, close()) }

// flush shows what was written by now, if it waits in a buffer.
func (d *Demo) flush() error {
	if b, ok := d.Out.(interface{ Flush() error }); ok {
		return b.Flush()
	}
	return nil
}

func (d *Demo) bold(text string) string {
	if d.Bold == nil {
		return text
	}
	return d.Bold(text)
}

func (d *Demo) title(text string) { fmt.Fprintf(d.Out, "\n%s\n", d.bold(text)) }

func (d *Demo) line(who, what string) {
	fmt.Fprintf(d.Out, "  %s %s\n", d.bold(fmt.Sprintf("%-10s", who)), what)
}

// event shows an event of a run as it went into the log.
func (d *Demo) event(e *session.Event) {
	who, emitted := e.Plugin()
	switch {
	case e.Author == session.User:
		who = "in the log"
	case !emitted:
		who = e.Author
	}
	d.line(who, strings.Join(eventtext.Lines(e), " "))
}
