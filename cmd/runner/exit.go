package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// An exit is a way for the program to end.
type exit struct {
	code          int
	name, meaning string
}

// The ways to end. Documentation and tests are made from exits.
var (
	exitOK          = exit{0, "ok", "it worked"}
	exitOther       = exit{1, "other failure", "something else went wrong, such as writing to standard output"}
	exitUsage       = exit{2, "usage", "the command line, the configuration or a file that they name is wrong"}
	exitDenied      = exit{3, "denied", "a plugin refused by policy: the run has an event with the error code DENIED"}
	exitPlugin      = exit{4, "plugin failure", "a plugin did not start, or a hook of it failed, panicked or timed out"}
	exitModel       = exit{5, "model failure", "the agent or a tool server failed, or an event of the agent has an error code"}
	exitStore       = exit{6, "store failure", "the store cannot be reached, failed, or has not what was asked for"}
	exitWaiting     = exit{7, "waiting", "nothing failed, and a call waits for an answer: run --approve, --decline or --respond"}
	exitInterrupted = exit{130, "interrupted", "Ctrl-C or SIGTERM; the turn was ended in order"}

	exits = []exit{exitOK, exitOther, exitUsage, exitDenied, exitPlugin, exitModel, exitStore, exitWaiting, exitInterrupted}
)

// exitTable returns the documentation of the exit codes.
func exitTable() string {
	var b strings.Builder
	for _, e := range exits {
		fmt.Fprintf(&b, "%4d  %-14s  %s\n", e.code, e.name, e.meaning)
	}
	return b.String()
}

// A failure is an error that knows how the program ends.
type failure struct {
	exit exit
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// as returns err as a failure of that kind, unless it is nil or knows better.
func (x exit) as(err error) error {
	var f *failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	return &failure{x, err}
}

// errorf returns a failure that reads as formatted.
func (x exit) errorf(format string, args ...any) error {
	return &failure{x, fmt.Errorf(format, args...)}
}

// exitOf returns how the program ends with an error, nil included.
func exitOf(ctx context.Context, err error) exit {
	var f *failure
	var out *outputError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted), context.Cause(ctx) == errInterrupted:
		return exitInterrupted
	case errors.As(err, &out), errors.As(context.Cause(ctx), &out):
		return exitOther
	case errors.As(err, &f):
		return f.exit
	}
	return exitUsage // cobra's own errors
}

// runFailure sorts the error of a run, nil included.
func runFailure(err error) error {
	var plug *plugin.Error
	var agent *runner.AgentError
	switch {
	case errors.Is(err, runner.ErrDecision): // somebody else has decided just now
		return exitUsage.as(err)
	case errors.As(err, &plug):
		return exitPlugin.as(err)
	case errors.As(err, &agent):
		return exitModel.as(err)
	}
	return exitStore.as(err)
}

// verdict is what the events of a run say about how it went.
type verdict struct {
	denied *session.Event // the first; that of a tool call, after which the agent goes on, is none if another ended the run
	failed *session.Event // the last
}

// note takes in an event. A denial is a plugin's own event, or one that a plugin made of an agent's.
func (v *verdict) note(e *session.Event) {
	plugins := strings.HasPrefix(e.Author, session.PluginPrefix)
	switch {
	case e.ErrorCode == "" || e.Author == session.User:
	case e.ErrorCode == session.Denied && (plugins || len(plugin.NotesOf(e).Changed) > 0):
		if v.denied == nil || answersCalls(v.denied) && !answersCalls(e) {
			v.denied = e
		}
	case !plugins:
		v.failed = e
	}
}

func answersCalls(e *session.Event) bool { return len(e.FunctionResponses()) > 0 }

// err returns the failure that the events are, nil if they are none.
func (v *verdict) err() error {
	switch {
	case v.denied != nil:
		return exitDenied.errorf("denied by plugin %s: %s", printable(blamed(v.denied)), printable(v.denied.ErrorMessage))
	case v.failed != nil:
		return exitModel.errorf("agent %s: %s", printable(v.failed.Author), printable(errorText(v.failed)))
	}
	return nil
}

// An outputError is standard output that cannot be written.
type outputError struct{ err error }

func (e *outputError) Error() string { return fmt.Sprintf("standard output: %v", e.err) }
func (e *outputError) Unwrap() error { return e.err }

// quiet reports whether whoever reads standard output has left, which is no news to anybody.
func quiet(err error) bool {
	var out *outputError
	return errors.As(err, &out) && errors.Is(out, syscall.EPIPE)
}

// blamed returns the plugin that a denial is by: its author, or the last to change it.
func blamed(e *session.Event) string {
	name, authored := strings.CutPrefix(e.Author, session.PluginPrefix)
	if changed := plugin.NotesOf(e).Changed; !authored && len(changed) > 0 {
		return changed[len(changed)-1].Plugin
	}
	return name
}
