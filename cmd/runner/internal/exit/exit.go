// Package exit says how the program ends: its exit codes, and which code an error or a run has.
//
// A new exit code: a constant and its row in the table, which the documents show.
package exit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/cmd/runner/internal/signals"
	"github.com/plughook/plughook/cmd/runner/internal/terminal"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server/client"
	"github.com/plughook/plughook/session"
)

// A Code is a way for the program to end.
type Code struct {
	Number        int
	Name, Meaning string
}

// The ways to end. Documentation and tests are made from Codes.
var (
	OK = Code{
		Number:  0,
		Name:    "ok",
		Meaning: "it worked",
	}
	Other = Code{
		Number:  1,
		Name:    "other failure",
		Meaning: "something else went wrong, such as writing to standard output",
	}
	Usage = Code{
		Number:  2,
		Name:    "usage",
		Meaning: "the command line, the configuration or a file that they name is wrong",
	}
	Denied = Code{
		Number:  3,
		Name:    "denied",
		Meaning: "a plugin refused by policy: the run has an event with the error code DENIED",
	}
	Plugin = Code{
		Number:  4,
		Name:    "plugin failure",
		Meaning: "a plugin did not start, or a hook of it failed, panicked or timed out",
	}
	Model = Code{
		Number:  5,
		Name:    "model failure",
		Meaning: "the agent or a tool server failed, or an event with an error code is the answer",
	}
	Store = Code{
		Number:  6,
		Name:    "store failure",
		Meaning: "the store cannot be reached, failed, or has not what was asked for",
	}
	Waiting = Code{
		Number:  7,
		Name:    "waiting",
		Meaning: "nothing failed, and a call waits for an answer: run --approve, --decline or --respond",
	}
	Interrupted = Code{
		Number:  130,
		Name:    "interrupted",
		Meaning: "Ctrl-C or SIGTERM; the run was ended in order",
	}

	Codes = []Code{OK, Other, Usage, Denied, Plugin, Model, Store, Waiting, Interrupted}
)

// Table returns the documentation of the exit codes.
func Table() string {
	var b strings.Builder
	for _, c := range Codes {
		fmt.Fprintf(&b, "%4d  %-14s  %s\n", c.Number, c.Name, c.Meaning)
	}
	return b.String()
}

// A failure is an error that knows how the program ends.
type failure struct {
	code Code
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// As returns err as one that ends the program with the code, unless it is nil or has a code
// already.
func (c Code) As(err error) error {
	var f *failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	return &failure{code: c, err: err}
}

// Always is As for an error that may have another code already.
func (c Code) Always(err error) error { return &failure{code: c, err: err} }

// Errorf returns an error that ends the program with the code.
func (c Code) Errorf(format string, args ...any) error {
	return &failure{code: c, err: fmt.Errorf(format, args...)}
}

// Of returns how the program ends with an error, nil included.
func Of(ctx context.Context, err error) Code {
	var f *failure
	var out *terminal.OutputError
	switch {
	case err == nil:
		return OK
	case errors.Is(err, signals.ErrInterrupted), context.Cause(ctx) == signals.ErrInterrupted:
		return Interrupted
	case errors.As(err, &out), errors.As(context.Cause(ctx), &out):
		return Other
	case errors.As(err, &f):
		return f.code
	}
	return Usage // cobra's own errors
}

// errHook is the error of Hook.
var errHook = errors.New("a hook's exit code")

// Hook ends the program with the exit code that a coding agent expects of its hook, and prints nothing more.
func Hook(number int) error {
	if number == 0 {
		return nil
	}
	return &failure{code: Code{Number: number, Name: "hook"}, err: errHook}
}

// Silent reports whether nobody wants to read the error: whoever reads standard output has left, or a hook has said
// all that it has to say.
func Silent(err error) bool {
	if errors.Is(err, errHook) {
		return true
	}
	var out *terminal.OutputError
	return errors.As(err, &out) && errors.Is(out, syscall.EPIPE)
}

// OfConfig gives an error of package config its code, nil included.
func OfConfig(err error) error {
	var failure *config.Error
	if errors.As(err, &failure) {
		switch failure.Component {
		case "store":
			return Store.As(err)
		case "plugin":
			return Plugin.As(err)
		case "server":
			return Model.As(err)
		}
	}
	return Usage.As(err)
}

// OfRun gives the error of a run its code, nil included.
func OfRun(err error) error {
	var plug *plugin.Error
	var agent *runner.AgentError
	var server *client.Error
	switch {
	case errors.Is(err, runner.ErrNotWaiting), errors.Is(err, runner.ErrNotYours): // somebody else has decided just now
		return Usage.As(err)
	case errors.As(err, &plug):
		return Plugin.As(err)
	case errors.As(err, &agent):
		return Model.As(err)
	case errors.As(err, &server) && server.Code == "unauthorized":
		return Usage.Errorf("%w (the environment variable RUNNER_TOKEN is to hold it)", err)
	case errors.As(err, &server):
		return ofServer(server).As(err)
	}
	return Store.As(err)
}

// ofServer returns how the program ends with what a server said.
func ofServer(e *client.Error) Code {
	switch e.Code {
	case "plugin_failed":
		return Plugin
	case "agent_failed":
		return Model
	case "bad_request", "unauthorized", "forbidden", "no_plugin", "id_reused":
		return Usage
	}
	return Store
}

// A Result is what the events of a run say about how it went.
type Result struct {
	// denied is the first denial. One of a tool call, after which the agent goes on, gives way to
	// one that ended the run.
	denied *session.Event
	failed *session.Event // the last failure of an agent
	// refused is a plugin's other error, such as that of a prompt that is too long, in place of what an agent says. What a
	// command is answered with is none.
	refused *session.Event
	command bool // the input is nothing but a command
}

// Note takes in an event. A denial is an event by a plugin, or an agent's that a plugin has
// changed. When a workflow's node ends, a failure before in it, such as that of its first attempt, is none of the run,
// nor is one that ends the node: an edge leads on from it.
func (r *Result) Note(e *session.Event) {
	n := e.NodeInfo
	caught := n != nil && n.Ended && e.ErrorCode != "" && strings.Contains(n.Path, "/")
	if n != nil && n.Ended && (caught || e.ErrorCode == "") && r.failed != nil && r.failed.NodeInfo != nil {
		path := r.failed.NodeInfo.Path
		if path == n.Path || strings.HasPrefix(path, n.Path+"/") {
			r.failed = nil
		}
	}
	_, byPlugin := e.Plugin()
	_, _, denial := plugin.Denial(e)
	switch {
	case e.Author == session.User:
		_, command := e.Command()
		r.command = command && e.Content == nil
	case e.ErrorCode == "":
		if !byPlugin && e.Content != nil {
			r.refused = nil
		}
	case e.ErrorCode == workflow.Abandoned, caught: // somebody wanted it, or was ready for it
	case denial:
		if r.denied == nil || answersCalls(r.denied) && !answersCalls(e) {
			r.denied = e
		}
	case !byPlugin:
		r.failed = e
	case e.ErrorCode != session.Denied && !r.command:
		r.refused = e
	}
}

func answersCalls(e *session.Event) bool { return len(e.FunctionResponses()) > 0 }

// Denied reports whether something was denied.
func (r *Result) Denied() bool { return r.denied != nil }

// Err returns the error that the events are, with its code; nil if they are none.
func (r *Result) Err() error {
	switch {
	case r.denied != nil:
		name, why, _ := plugin.Denial(r.denied)
		return Denied.Errorf("denied by plugin %s: %s", eventtext.Printable(name), eventtext.Printable(why))
	case r.failed != nil:
		return Model.Errorf("agent %s: %s", eventtext.Printable(r.failed.Author),
			eventtext.Printable(eventtext.Error(r.failed)))
	case r.refused != nil:
		name, _ := r.refused.Plugin()
		return Model.Errorf("plugin %s: %s", eventtext.Printable(name),
			eventtext.Printable(eventtext.Error(r.refused)))
	}
	return nil
}
