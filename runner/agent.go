package runner

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/panicked"
	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// agent runs the agent. In a session of an agent outside it is one that only says so.
func (x *run) agent(ctx context.Context) {
	runs := x.opt.Agent
	if other := AgentOutside(x.view.State()); other != "" && !x.opt.Restore {
		runs = agent.Outside(other, "")
	}
	name := runs.Name()
	ctx, span := telemetry.Agent(ctx, name)
	defer func() { span.End(telemetry.Failure(x.end.Err)) }()
	returned := false
	defer func() {
		if returned || x.inLoopBody {
			return
		}
		if err := plugin.Recovered(recover()); err != nil {
			panicked.Log(x.opt.Log, "agent panicked", err, "agent", name, "invocation", x.id)
			x.fail(ctx, &AgentError{Agent: name, Err: err})
			return
		}
		// runtime.Goexit: this goroutine ends, and the caller's loop with it.
		x.opt.Log.Error("agent ended its goroutine", "agent", name, "invocation", x.id)
		x.fail(ctx, &AgentError{Agent: name, Err: fmt.Errorf("%w: runtime.Goexit", plugin.ErrPanic)})
	}()
	host := &agent.Host{
		Root:  x.opt.Agent,
		Began: x.startSeq,
		Log:   x.opt.Log,
		Now:   x.invocation,
		BeforeModel: func(agentCtx context.Context, build func(*session.Invocation) (*model.Request, error)) (*model.Request, error) {
			return x.beforeModel(ctx, agentCtx, build)
		},
	}
	x.loop(ctx, runs.Run(ctx, host))
	if err := context.Cause(ctx); err != nil {
		x.fail(ctx, err)
	}
	if !x.ended {
		x.ended = true
		x.end = plugin.End{Kind: plugin.EndDone}
	}
	returned = true
}

// loop puts what an agent yields, until the invocation has ended.
func (x *run) loop(ctx context.Context, events iter.Seq2[*session.Event, error]) {
	for e, err := range events {
		if cause := context.Cause(ctx); cause != nil {
			x.fail(ctx, cause)
		}
		if x.ended {
			return
		}
		given := err == nil && e != nil && e.ID != "" // its caller may offer it again
		if err == nil {
			e, err = x.fromAgent(e)
		}
		if err == nil && e.Partial && x.cfg.Streaming == session.NoStreaming {
			continue
		}
		if err != nil {
			x.fail(ctx, &AgentError{Agent: x.agentName(), Err: err})
			return
		}
		if x.outside != nil {
			x.putOffered(ctx, e, given)
		} else {
			x.put(ctx, newPending(e), 0)
		}
		if x.ended {
			return
		}
	}
}

// agentName returns the name of the agent whose events have no author.
func (x *run) agentName() string {
	if x.outside != nil {
		return x.outside.agent
	}
	return x.opt.Agent.Name()
}

// offered is session.Invocation.Offered.
func (r *Runner) offered(name string) []*genai.FunctionDeclaration {
	return agent.Offered(r.opt.Agent, name)
}

// fromAgent checks an agent's event and stamps a copy of it: with the author, the invocation, an ID and a
// time where it has none. It refuses what only users and plugins may say.
func (x *run) fromAgent(e *session.Event) (*session.Event, error) {
	if e == nil {
		return nil, errors.New("it yielded neither an event nor an error")
	}
	c := e.Clone() // the agent may use its own again
	c.Seq = 0
	if c.Author == "" {
		c.Author = x.agentName()
	}
	if !x.opt.Restore {
		switch {
		case c.Marker():
			return nil, errors.New("it yielded a compaction or a rewind; only plugins may")
		case !c.FromAgent():
			return nil, fmt.Errorf("it yielded an event as %q; an agent cannot speak as the user or as a plugin", c.Author)
		}
		c.InvocationID = ""
		if c.CustomMetadata[session.NotesKey] != nil {
			c = plugin.Notes{}.With(c)
		}
	}
	if err := x.owners.CheckEvent(c); err != nil {
		return nil, err
	}
	if c.InvocationID == "" {
		c.InvocationID = x.id
	}
	if c.ID == "" {
		c.ID = x.streamID(c)
	}
	if c.Timestamp.IsZero() {
		c.Timestamp = x.opt.Now().UTC()
	}
	return c, nil
}

// streamID returns an ID for an event without one. Partial events and the whole event that they are parts of
// get the same ID.
func (x *run) streamID(e *session.Event) string {
	if !e.Partial && len(x.streams) == 0 {
		return session.NewID()
	}
	stream := e.Author + "\x00" + e.Branch
	id := x.streams[stream]
	if id == "" {
		id = session.NewID()
	}
	if !e.Partial {
		delete(x.streams, stream)
		return id
	}
	if x.streams == nil {
		x.streams = map[string]string{}
	}
	x.streams[stream] = id
	return id
}
