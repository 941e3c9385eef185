package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/session"
)

// A loop is the work of one agent in one invocation: it asks the model and executes calls until it
// has an answer, waits, or hands over to another agent.
type loop struct {
	agent     *llmAgent
	ctx       context.Context
	host      *agent.Host
	yield     func(*session.Event, error) bool
	functions map[string]*function // by name, with the agent's own
	targets   []agent.Agent        // the agents that it can hand over to
	from      int64                // the last position in the log when the loop began
	asked     int                  // how often the model was asked
	executed  int                  // how often functions were executed
	root      *llmAgent            // the agent whose Run this is part of
	all       *int                 // how often models were asked in that Run
	calling   bool                 // the last answer of the model has calls
	again     bool                 // the last answer was withheld for a compaction, so the model is asked again
	started   map[callKey]bool     // the calls that were executed
	given     map[string]any       // what the model has passed to setResponse, nil if nothing
}

// A callKey identifies a call in the log.
type callKey struct{ event, id, name string }

func keyOf(c session.Call) callKey { return callKey{event: c.Event.ID, id: c.ID, name: c.Name} }

// A timeLimit is the cause of a context that ended because of an agent's Timeout.
type timeLimit struct{ agent *llmAgent }

func (l *timeLimit) Error() string {
	return fmt.Sprintf("agent %s: its time limit was reached: %v", l.agent.Name(), l.agent.Timeout)
}

// loop runs the agent's loop in a Run of root. It returns the agent that it hands over to, nil if
// it does not.
func (a *llmAgent) loop(ctx context.Context, host *agent.Host,
	yield func(*session.Event, error) bool, root *llmAgent, asked *int) agent.Agent {
	if a.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.Timeout, &timeLimit{agent: a})
		defer cancel()
	}
	ctx, span := telemetry.Agent(ctx, a.Name())
	defer func() { span.End(telemetry.Failure(context.Cause(ctx))) }()
	lp := &loop{
		agent:   a,
		ctx:     ctx,
		host:    host,
		yield:   yield,
		from:    host.Now().Position,
		root:    root,
		all:     asked,
		started: map[callKey]bool{},
	}
	lp.setFunctions(root)
	for {
		// Execute calls first.
		open, waits := lp.open()
		if len(open) > 0 {
			if !lp.execute(open) {
				return nil
			}
			continue
		}

		// Then the log decides: hand over, end, or ask the model.
		p := lp.progress()
		switch {
		case p.transfer != "":
			next := root.member(p.transfer)
			if next != nil && next.Name() == p.transfer {
				return next
			}
			lp.fail(UnknownAgent, fmt.Errorf("agent %s: there is no agent %q to hand over to", a.Name(),
				p.transfer))
			return nil
		case waits:
			return nil
		case p.skip && lp.given != nil:
			if !lp.yieldGiven() {
				return nil
			}
		case p.skip || p.kind == progressFailed || p.kind == progressPending:
			return nil
		case p.kind == progressAnswer:
			lp.save(p.final)
			return nil
		case !lp.ask():
			return nil
		}
	}
}

// open returns the calls of one event that are to be executed now, and whether the loop waits for
// other calls.
func (lp *loop) open() (open []session.Call, waits bool) {
	calls := lp.host.Now().CallsSince(lp.host.Began)
	answered := sync.OnceValue(lp.host.Answered)
	var waiting []session.Call
	for _, c := range calls {
		started := lp.started[keyOf(c)]
		if c.Response != nil || c.Event.Branch != lp.host.Branch || !lp.own(c.Event) ||
			started && !c.Waits() {
			continue
		}
		if len(c.Interim) > 0 && c.Deferred != nil { // the model goes on with what it knows so far
			continue
		}
		f, ok := lp.functions[c.Name]
		now := c.Event.Seq > lp.host.Began
		// the agent was called in an earlier run, and waited
		callee := ok && f.callee != nil && c.Deferred != nil
		held := c.Held != nil && c.Decision == nil
		calleeWaits := callee && waitsBelow(calls, c) && !slices.ContainsFunc(answered(),
			func(other session.Call) bool { return c.Conversation(other.Event.Branch) })
		longRunning := c.Deferred != nil && ok && !callee
		decidedNow := c.Decision != nil && c.Decision.Seq > lp.host.Began
		unknown := c.Deferred != nil && !ok
		switch {
		case started, held, calleeWaits, longRunning:
			waiting = append(waiting, c)
			continue
		case decidedNow, callee, unknown:
		case c.Event.ErrorCode != "", !now:
			continue
		}
		if len(open) == 0 || open[0].Event == c.Event {
			open = append(open, c)
		}
	}
	return open, lp.waitsFor(waiting)
}

// waitsFor reports whether the loop must wait for one of these calls. If the input says something new, or
// answers a call, the loop does not wait for the calls of earlier runs.
func (lp *loop) waitsFor(waiting []session.Call) bool {
	if len(waiting) == 0 {
		return false
	}
	input := lp.host.Now().Input
	news := input != nil && input.Content != nil || len(lp.host.Answered()) > 0
	return !news || slices.ContainsFunc(waiting, lp.host.Pending())
}

// own reports whether the agent executes the calls of an event.
func (lp *loop) own(e *session.Event) bool { return ownedBy(lp.agent.Name(), e) }

// ownedBy reports whether an event is an agent's own: its own calls are, and those of a plugin that answered for its
// model.
func ownedBy(name string, e *session.Event) bool {
	owner := agent.Owner(e)
	return owner == name || owner == ""
}

// progress is what the log says about how the loop goes on.
type progress struct {
	kind     progressKind
	final    *session.Event // the model's answer
	skip     bool           // the responses of functions are the answer
	transfer string         // the agent to hand over to
}

// A progressKind is what the last event of the loop is.
type progressKind int

const (
	progressNone    progressKind = iota // there is none
	progressTold                        // something that the model has not been asked about
	progressAnswer                      // the answer of the model, or of a plugin in its place
	progressFailed                      // an event with an ErrorCode
	progressPending                     // calls that wait
)

func (lp *loop) progress() (p progress) {
	inv := lp.host.Now()
	since := len(inv.Live)
	for since > 0 && inv.Live[since-1].Seq > lp.from {
		since--
	}
	for _, e := range inv.Live[since:] {
		if e.Branch != lp.host.Branch || e.Marker() {
			continue
		}
		switch {
		case len(e.FunctionResponses()) > 0:
			p.kind = progressTold
			p.skip = p.skip || e.Actions.SkipSummarization
			if e.Actions.TransferToAgent != "" {
				p.transfer = e.Actions.TransferToAgent
			}
		case e.ErrorCode != "":
			p = progress{kind: progressFailed}
		case e.Content == nil || len(e.Content.Parts) == 0:
		case e.Content.Role != genai.RoleModel:
			p.kind = progressTold
			p.skip = false
		case len(e.FunctionCalls()) > 0:
			p = progress{kind: progressPending}
		default:
			p = progress{kind: progressAnswer, final: e}
		}
	}
	// A compaction in this loop may have covered the answer. Then the loop is done.
	answered := lp.asked > 0 && !lp.calling && !lp.again
	compacted := len(inv.Live) > 0 && inv.Live[0].Marker() && inv.Live[0].Seq > lp.from
	if p.kind == progressNone && answered && compacted {
		p.kind = progressPending
	}
	return p
}

// event returns an event of the agent.
func (lp *loop) event() *session.Event {
	return &session.Event{Author: lp.agent.Name(), Branch: lp.host.Branch}
}

// fail yields an event with an error. It reports whether the loop goes on.
func (lp *loop) fail(code string, err error) bool {
	e := lp.event()
	e.ErrorCode = code
	e.ErrorMessage = err.Error()
	return lp.yield(e, nil)
}

// limited returns the time limit that has ended the loop's context: the agent's own, or that of an
// agent that has called it. It is nil if there is none.
func (lp *loop) limited() *timeLimit {
	var limit *timeLimit
	errors.As(context.Cause(lp.ctx), &limit)
	return limit
}

// expired ends a loop whose context is done, with an event if the agent's own time limit was
// reached. It returns false.
func (lp *loop) expired() bool {
	limit := lp.limited()
	if limit != nil && limit.agent == lp.agent {
		lp.fail(TimeLimit, limit)
	} else {
		lp.yield(nil, context.Cause(lp.ctx))
	}
	return false
}

// put yields an event and reports whether the loop goes on. It does not if a plugin withheld the event and
// put nothing in its place. If a plugin put a compaction in the place of an error (as plugin compaction does
// for a prompt that is too long), the model is asked again.
func (lp *loop) put(e *session.Event) bool {
	before := lp.host.Now().Position
	lp.again = false
	if !lp.yield(e, nil) {
		return false
	}
	inv := lp.host.Now()
	compacted := len(inv.Live) > 0 && inv.Live[0].Marker() && inv.Live[0].Seq > before
	if e.ErrorCode != "" && compacted {
		last := inv.Live[len(inv.Live)-1]
		lp.again = last.Marker() || last.Seq <= before
		if lp.again {
			return true
		}
	}
	for i := len(inv.Live) - 1; i >= 0 && inv.Live[i].Seq > before; i-- {
		if inv.Live[i].Branch == lp.host.Branch {
			return true
		}
	}
	return false
}
