// Package agent defines agents, which make the events of a run: answers, function calls and their
// responses.
//
// An agent works on the session's log. When it yields an event, the plugins see the event first,
// and the log gets what they make of it; that is done when yield returns. A plugin may have changed
// the event or answered it. So an agent that has yielded a function call reads the call again from
// the live view, Host.Now().Live, executes it only if it has no response yet, and yields the
// response.
//
// A new kind of agent is a type with the methods of Agent, in a package below this one; New makes an agent of
// a function. What agents of all kinds need to know of a run goes into Host, and the runner fills it in
// (run.loop).
package agent

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// An Agent makes events. It must be safe for concurrent use: it may work in many runs at the same
// time.
type Agent interface {
	// Name is the author of its events. It must not be "user" or begin with "plugin/", which name
	// other authors, and must not contain a dot or an @, which have a meaning in branches.
	Name() string
	// Description says what the agent is for. Other agents read it to decide whether to hand over
	// to it; it may be empty.
	Description() string
	// Run yields the agent's events of one invocation. If the agent fails, it yields a nil event
	// and the error, and returns. A failure that belongs into the conversation, such as a failed
	// model call, should be an event with an ErrorCode instead. When yield returns false or ctx is
	// done, the invocation has ended and Run must return. It calls yield and host from one
	// goroutine at a time. An agent that runs another does so with the function Run, or several at
	// once with Together.
	Run(ctx context.Context, host *Host) iter.Seq2[*session.Event, error]
}

// A Parent is an agent that runs other agents.
type Parent interface {
	Agent
	// Agents returns the agents that it runs.
	Agents() []Agent
}

// A Host gives an agent access to the invocation that it works in. The runner makes it. An agent
// that runs other agents passes its Host on to them, or a Host for another branch (see At).
type Host struct {
	// Branch is the branch of the agent's events and model requests. The function Sees tells which
	// events of other branches the agent should read.
	Branch string
	// Began is the position of the log when the run began. The events of this run, the input first,
	// have higher positions.
	Began int64
	// Root is the agent that the runner runs, the one that Host is for or above it; nil if it is not known.
	Root Agent
	// Now returns the invocation as it is: its live view ends with what was appended last.
	Now func() *session.Invocation
	// BeforeModel shows a model request to the plugins. It calls build to make the request, and
	// calls it again if a plugin has changed the log. It returns the request to send. It returns
	// nil if a plugin has put an answer into the log: then the agent continues with that answer and
	// does not call the model. It returns ErrEnded if the invocation has ended.
	BeforeModel func(ctx context.Context, build func(*session.Invocation) (*model.Request, error)) (*model.Request, error)
	// Log is the runner's log. The stack of a panic goes there, and not into an event. nil is no log.
	Log *slog.Logger
}

// ErrEnded says that the invocation has ended. An agent that gets it from its Host yields it as its
// error, so that an agent which runs it learns of it. The runner does not treat it as a failure.
var ErrEnded = errors.New("agent: the invocation has ended")

// At returns a copy of the host whose branch has one more element.
func (h *Host) At(element string) *Host {
	below := *h
	below.Branch = element
	if h.Branch != "" {
		below.Branch = h.Branch + "." + element
	}
	return &below
}

// WithInput returns a copy of the host whose invocation has e as its input. It is for an agent that gets its
// task from another agent, and not from the caller of the run.
func (h *Host) WithInput(e *session.Event) *Host {
	of := func(inv *session.Invocation) *session.Invocation {
		mine := *inv
		mine.Input = e
		return &mine
	}
	own := *h
	own.Now = func() *session.Invocation { return of(h.Now()) }
	own.BeforeModel = func(
		ctx context.Context, build func(*session.Invocation) (*model.Request, error),
	) (*model.Request, error) {
		return h.BeforeModel(ctx, func(inv *session.Invocation) (*model.Request, error) {
			return build(of(inv))
		})
	}
	return &own
}

// New returns an agent that runs a function. If the function runs other agents (with agent.Run),
// list them in agents: while one of them waits for an answer, this agent counts as waiting too.
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
