// Package agent defines who makes the events of a run.
//
// An agent acts on the log: it yields an event, and by the time its yield function returns, plugins
// have seen the event and what they made of it is in the log. So an agent that yields a function call
// looks at the live view, Host.Now().Live, for the call as it is now, executes it only if nobody has
// answered it, and yields the response.
package agent

import (
	"context"
	"errors"
	"iter"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// An Agent makes events. It may serve many runs at once.
type Agent interface {
	// Name is the author of its events. "user", and names that begin with "plugin/", are taken.
	Name() string
	// Run yields the agent's events of one invocation. It ends with a nil event and an error if it
	// fails. When yield returns false the invocation has ended, and Run returns; likewise when ctx is
	// done. It calls yield and host from one goroutine at a time.
	Run(ctx context.Context, host *Host) iter.Seq2[*session.Event, error]
}

// A Host is what the runner lends an agent for one invocation.
type Host struct {
	// Now returns the invocation as it is: its live view ends with what was appended last.
	Now func() *session.Invocation
	// BeforeModel offers a model request to the plugins. It calls build for the request, and again when
	// a plugin has changed the log in between. It returns the request to send; nil if the model is not
	// to be called because the log holds an answer instead, which the agent goes on with; or ErrEnded.
	BeforeModel func(ctx context.Context, build func(*session.Invocation) (*model.Request, error)) (*model.Request, error)
}

// ErrEnded says that the invocation has ended and the agent returns. It is not yielded.
var ErrEnded = errors.New("agent: the invocation has ended")

// New returns an agent of a name and a function.
func New(name string, run func(ctx context.Context, host *Host) iter.Seq2[*session.Event, error]) Agent {
	return &funcAgent{name, run}
}

type funcAgent struct {
	name string
	run  func(context.Context, *Host) iter.Seq2[*session.Event, error]
}

func (a *funcAgent) Name() string { return a.name }

func (a *funcAgent) Run(ctx context.Context, host *Host) iter.Seq2[*session.Event, error] {
	return a.run(ctx, host)
}
