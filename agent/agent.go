// Package agent defines who makes the events of a run.
//
// An agent acts on the log: it yields an event, and by the time its yield function returns, plugins
// have seen the event and what they made of it is in the log. So an agent that yields a function
// call looks at the live view, Host.Now().Live, for the call as it is now, executes it only if
// nobody has answered it, and yields the response.
package agent

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// An Agent makes events. It may serve many runs at once.
type Agent interface {
	// Name is the author of its events. "user", and names that begin with "plugin/", are taken; a
	// dot and an @ would be a branch's.
	Name() string
	// Description says what the agent is for. Other agents read it to decide whether to hand over
	// to it; it may be empty.
	Description() string
	// Run yields the agent's events of one invocation. It ends with a nil event and an error if it
	// fails; what fails and can be told, such as a model's call, is better an event with an
	// ErrorCode. When yield returns false the invocation has ended, and Run returns; likewise when
	// ctx is done. It calls yield and host from one goroutine at a time. An agent that runs another
	// does so with the function Run, or several at once with Together.
	Run(ctx context.Context, host *Host) iter.Seq2[*session.Event, error]
}

// A Parent is an agent that runs other agents.
type Parent interface {
	Agent
	// Agents returns them.
	Agents() []Agent
}

// A Host is what the runner lends an agent for one invocation. An agent that runs others lends them
// its own, or one with another branch (see At).
type Host struct {
	// Branch is the agent's branch: it is that of its events and model requests. Sees says which
	// events the agent is to take into account.
	Branch string
	// Began is the position of the log when the run began: the input, and all that the run has
	// brought, is after it.
	Began int64
	// Now returns the invocation as it is: its live view ends with what was appended last.
	Now func() *session.Invocation
	// BeforeModel offers a model request to the plugins. It calls build for the request, and again
	// when a plugin has changed the log in between. It returns the request to send; nil if the
	// model is not to be called because the log holds an answer instead, which the agent goes on
	// with; or ErrEnded.
	BeforeModel func(ctx context.Context, build func(*session.Invocation) (*model.Request, error)) (*model.Request, error)
}

// ErrEnded says that the invocation has ended. The agent yields it as its error, which is no
// failure then, so that an agent which runs others learns of it.
var ErrEnded = errors.New("agent: the invocation has ended")

// At returns the host with a branch below its own, of one element.
func (h *Host) At(element string) *Host {
	below := *h
	below.Branch = element
	if h.Branch != "" {
		below.Branch = h.Branch + "." + element
	}
	return &below
}

// New returns an agent of a name, a description and a function. If the function runs other agents,
// they are named here, so that a wait in one of them counts as a wait of this agent; it runs them
// with Run.
func New(
	name, description string,
	run func(ctx context.Context, host *Host) iter.Seq2[*session.Event, error],
	agents ...Agent,
) Agent {
	a := &funcAgent{name: name, description: description, run: run}
	if len(agents) == 0 {
		return a
	}
	return &funcParent{a, slices.Clone(agents)}
}

// funcParent is a funcAgent that runs others.
type funcParent struct {
	*funcAgent
	agents []Agent
}

func (p *funcParent) Agents() []Agent { return slices.Clone(p.agents) }

type funcAgent struct {
	name, description string
	run               func(context.Context, *Host) iter.Seq2[*session.Event, error]
}

func (a *funcAgent) Name() string        { return a.name }
func (a *funcAgent) Description() string { return a.description }

func (a *funcAgent) Run(ctx context.Context, host *Host) iter.Seq2[*session.Event, error] {
	return a.run(ctx, host)
}
