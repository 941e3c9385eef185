// Package agenthost is a plugin that makes a runner a host of AGENT-HOOKS 0.1: interceptors (package agenthooks) are shown
// each run at eight points, and their verdicts are carried out. docs/agent-hooks.md says how, and what is claimed.
//
//	point            is                                                     a denial
//	agent_startup    the first event of a run, or its BeforeRun             ends the run
//	input            the user's event, if it has content                    ends the run
//	pre_model_call   BeforeModel                                            ends the run
//	post_model_call  the event after it of the same agent and branch        withholds it, ends the run
//	pre_tool_call    each function call of an event; each that is released  is the call's response
//	post_tool_call   each function response                                 takes its place
//	output           the text of an event                                   withholds it, ends the run
//	agent_shutdown   AfterRun                                               changes nothing
//
// Put the plugin last: what a later plugin emits nobody has judged, and what an earlier observer sees, either.
//
// One session of the contract is one run: sessions of this runner have no end. Contexts name the run's own session in
// extensions.plughook. The points of an event are in event.go, those of its calls in calls.go. stream.go has a model's answer
// that is judged as it is made, and content.go how contents become JSON and back.
package agenthost

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/agenthooks"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Name is the plugin's name where Config has none.
const Name = "agenthost"

// Config says who is asked, and how verdicts are carried out.
type Config struct {
	agenthooks.Config
	// Name is the plugin's name, which held calls are known by.
	Name string
	// Keep takes the record of each emission, after Record, with the invocation that it is of. If it fails, so does the
	// hook: what was judged does not happen. It may be nil.
	Keep func(ctx context.Context, inv *session.Invocation, r agenthooks.Record) error
	// Agent is the name of the runner's agent, which contexts have as agent.id. It is needed.
	Agent string
	// Hold says that a denial of a call that a human may lift holds the call, if there is no Resolver: the run ends, and a
	// later input decides, as with every held call. The interceptors are asked again then.
	Hold bool
	// Incremental says that a model's answer is judged and shown as it is made: the declaration buffered_output false.
	// Each time, the answer so far is judged, and never is more shown than was judged. Segment is how many bytes come
	// together before that is done again; 0 is each chunk.
	Incremental bool
	Segment     int
	// Terminate says that a run ends if a call is denied because something failed (host_error:…). Else its model goes on.
	Terminate bool
}

// New returns the plugin. Close waits for interceptors that came too late.
func New(c Config) (*plugin.Plugin, error) {
	c.Name = cmp.Or(c.Name, Name)
	host, err := agenthooks.NewHost(c.Config)
	if err == nil && c.Agent == "" {
		err = fmt.Errorf("agenthost: Agent is empty; it is the name of the runner's agent")
	}
	if err != nil {
		return nil, err
	}
	b := &bridge{Config: c, host: host, runs: map[session.Key]*run{}}
	return &plugin.Plugin{
		Name:        c.Name,
		Doc:         "Lets interceptors of AGENT-HOOKS 0.1 judge what agents do.",
		Partials:    c.Incremental,
		BeforeRun:   b.beforeRun,
		BeforeModel: b.beforeModel,
		OnEvent:     b.onEvent,
		AfterRun:    b.afterRun,
		Close:       host.Close,
	}, nil
}

// bridge has the runs under way. Each run's hooks are called one after the other.
type bridge struct {
	Config
	host *agenthooks.Host
	mu   sync.Mutex
	runs map[session.Key]*run
}

// A run is one that is under way, and a session of the contract.
type run struct {
	agenthooks.Session
	invocation string
	started    bool // agent_startup was emitted
	refused    bool // and denied
	blocked    bool // something was denied, and the run ends
	waiting    map[asker]string
	answers    map[string]string  // the models of the answers that were judged, by event, since events are offered again
	streams    map[string]*stream // by event
}

// An asker is an agent, in a branch, that waits for its model's answer.
type asker struct{ agent, branch string }

// of returns the run of an invocation.
func (b *bridge) of(inv *session.Invocation) *run {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.runs[inv.Key]
	if r == nil || r.invocation != inv.ID {
		r = &run{
			invocation: inv.ID,
			waiting:    map[asker]string{},
			answers:    map[string]string{},
			streams:    map[string]*stream{},
		}
		r.Host, r.ID, r.Agent, r.Framework = b.host, session.NewID(), b.Agent, "plughook"
		b.runs[inv.Key] = r
	}
	return r
}

// A subject is what one hook call is about.
type subject struct {
	*bridge
	*run
	ctx    context.Context
	inv    *session.Invocation
	branch string
	labels []string // of what was let through
}

// emit asks the interceptors.
func (s *subject) emit(a agenthooks.Ask) (agenthooks.Result, error) {
	own := map[string]any{"app": s.inv.Key.App, "user": s.inv.Key.User, "session": s.inv.Key.ID, "invocation": s.inv.ID}
	if s.branch != "" {
		own["branch"] = s.branch
	}
	if labels := labelsOf(s.inv.Live); len(labels) > 0 {
		own["source_labels"] = labels
	}
	a.Fields["extensions"] = encode(map[string]any{"plughook": own})
	r, err := s.run.Emit(s.ctx, a)
	if err == nil && s.Keep != nil {
		err = s.Keep(s.ctx, s.inv, r.Record)
	}
	if err == nil && r.Proceed {
		s.labels = union(s.labels, r.Labels)
	}
	return r, err
}

// begin emits agent_startup if that was not done. It returns how to end the run, nil if it goes on.
func (s *subject) begin() (*plugin.Outcome, error) {
	if s.started {
		if s.refused {
			return &plugin.Outcome{Withhold: true, Stop: true}, nil
		}
		return nil, nil
	}
	s.started = true
	tools := []string{}
	if s.inv.Offered != nil {
		for _, d := range s.inv.Offered(s.Agent()) {
			tools = append(tools, d.Name)
		}
	}
	ask := agenthooks.Ask{
		Point:  agenthooks.AgentStartup,
		Fields: agenthooks.Fields{"agent_init": encode(map[string]any{"tools_registered": tools})},
	}
	if s.inv.Config.Streaming == session.Bidi {
		ask.Refuse = agenthooks.AdapterUnsupported
	}
	r, err := s.emit(ask)
	if err != nil || r.Proceed {
		return nil, err
	}
	s.refused = true
	return s.block(r), nil
}

// Agent returns the name of the runner's agent.
func (s *subject) Agent() string { return s.bridge.Agent }

// block ends the run with a refusal in the place of what is at hand.
func (s *subject) block(r agenthooks.Result) *plugin.Outcome {
	s.blocked = true
	text := cmp.Or(r.Verdict.Message, "This was refused.")
	if agenthooks.HostError(r.Verdict.Reason) {
		text = "This was refused, since it could not be judged."
	}
	out := plugin.Deny(text, cmp.Or(r.Verdict.Reason, "denied"))
	return &out
}

func (b *bridge) subject(ctx context.Context, inv *session.Invocation, branch string) (*subject, *plugin.Outcome, error) {
	s := &subject{bridge: b, run: b.of(inv), ctx: ctx, inv: inv, branch: branch}
	out, err := s.begin()
	return s, out, err
}

func (b *bridge) beforeRun(ctx context.Context, inv *session.Invocation) (plugin.Outcome, error) {
	_, out, err := b.subject(ctx, inv, "")
	if err != nil || out == nil {
		return plugin.Outcome{}, err
	}
	return *out, nil
}

func (b *bridge) beforeModel(ctx context.Context, inv *session.Invocation, req *model.Request) (plugin.Outcome, error) {
	s, out, err := b.subject(ctx, inv, req.Branch)
	if err != nil || out != nil {
		return orZero(out), err
	}
	id := cmp.Or(req.Model, "default")
	messages := messagesOf(req)
	r, err := s.emit(agenthooks.Ask{
		Point:  agenthooks.PreModelCall,
		Fields: agenthooks.Fields{"model": encode(map[string]string{"id": id}), "messages": encode(messages)},
		Usable: func(target jsontext.Value) error { return setMessages(req.Clone(), messages, target) },
	})
	switch {
	case err != nil:
		return plugin.Outcome{}, err
	case !r.Proceed:
		return *s.block(r), nil
	case r.Changed:
		if err := setMessages(req, messages, r.Target); err != nil {
			return plugin.Outcome{}, err
		}
	}
	s.waiting[asker{agent: req.Agent, branch: req.Branch}] = id
	return plugin.Outcome{}, nil
}

func (b *bridge) afterRun(ctx context.Context, inv *session.Invocation, end plugin.End) (plugin.Outcome, error) {
	s := &subject{bridge: b, run: b.of(inv), ctx: ctx, inv: inv}
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.runs, inv.Key)
	}()
	if !s.started {
		return plugin.Outcome{}, nil
	}
	reason := "completed"
	switch {
	case s.blocked || end.Kind == plugin.EndFailed:
		reason = "error"
	case end.Kind == plugin.EndCancelled, end.Kind == plugin.EndLeft:
		reason = "cancelled"
	}
	_, err := s.emit(agenthooks.Ask{
		Point:  agenthooks.AgentShutdown,
		Fields: agenthooks.Fields{"summary": encode(map[string]string{"reason": reason})},
	})
	return plugin.Outcome{}, err
}

func orZero(out *plugin.Outcome) plugin.Outcome {
	if out == nil {
		return plugin.Outcome{}
	}
	return *out
}

// encode returns a value's JSON, nil if it has none: then the context is not valid, which is a denial.
func encode(v any) jsontext.Value {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil
	}
	return data
}
