package llm

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// turn is one agent's turn in one invocation: from when it is its own to when it ends, waits or hands over.
type turn struct {
	agent     *llmAgent
	ctx       context.Context
	host      *agent.Host
	yield     func(*session.Event, error) bool
	functions map[string]*function // by name, the agent's own among them
	targets   []agent.Agent        // whom it can hand over to
	from      int64                // where the log was when the turn began
	asked     int                  // how often the model was asked
	ran       int                  // how often functions were executed
	root      *llmAgent            // whose run it is
	all       *int                 // how often models were asked in that run
	calling   bool                 // its last answer had calls
	again     bool                 // its last answer was withheld for a compaction: the model is to be asked again
	started   map[callKey]bool
	given     map[string]any // what the model has passed to setResponse, nil if it has not
}

// callKey is a call in the log.
type callKey struct{ event, id, name string }

func keyOf(c session.Call) callKey { return callKey{c.Event.ID, c.ID, c.Name} }

// timeLimit is the cause of a context that has ended by an agent's time limit.
type timeLimit struct{ agent *llmAgent }

func (l *timeLimit) Error() string {
	return fmt.Sprintf("agent %s: its time limit was reached: %v", l.agent.Name(), l.agent.Timeout)
}

// turn takes a's turn, in a tree that is run from root, and returns the agent that it hands over to, nil
// if it does not.
func (a *llmAgent) turn(ctx context.Context, host *agent.Host, yield func(*session.Event, error) bool, root *llmAgent, asked *int) agent.Agent {
	if a.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.Timeout, &timeLimit{a})
		defer cancel()
	}
	t := &turn{agent: a, ctx: ctx, host: host, yield: yield, from: host.Now().Position, root: root, all: asked, started: map[callKey]bool{}}
	t.setFunctions(root)
	for {
		open, waits := t.open()
		if len(open) > 0 {
			if !t.execute(open) {
				return nil
			}
			continue
		}
		word := t.word()
		switch {
		case word.transfer != "":
			if m := root.member(word.transfer); m != nil && m.Name() == word.transfer {
				return m
			}
			t.fail(UnknownAgent, fmt.Errorf("agent %s: there is no agent %q to hand over to", a.Name(), word.transfer))
			return nil
		case waits:
			return nil
		case word.skip && t.given != nil:
			if !t.answerGiven() {
				return nil
			}
		case word.skip || word.is == wordFailed || word.is == wordPending:
			return nil
		case word.is == wordAnswer:
			t.save(word.answer)
			return nil
		case !t.ask():
			return nil
		}
	}
}

// open returns the calls of one event that are to be executed now, and whether the turn waits for others.
func (t *turn) open() (open []session.Call, waits bool) {
	live := t.host.Now().Live
	calls := session.Calls(live)
	for _, c := range calls {
		started := t.started[keyOf(c)]
		if c.Response != nil || c.Event.Branch != t.host.Branch || !t.own(c.Event) || started && !c.Waits() {
			continue
		}
		f, ok := t.functions[c.Name]
		now := c.Event.Seq > t.host.Began
		callee := ok && f.callee != nil && c.Deferred != nil // it was called, and waits itself
		switch {
		case started, c.Held != nil && c.Decision == nil, callee && t.waitsBelow(calls, c) && !t.goesOnBelow(c), c.Deferred != nil && ok && !callee:
			waits = waits || t.waitsFor(c)
			continue
		case c.Decision != nil && c.Decision.Seq > t.host.Began, callee, c.Deferred != nil && !ok:
		case c.Event.ErrorCode != "", !now:
			continue
		}
		if len(open) == 0 || open[0].Event == c.Event {
			open = append(open, c)
		}
	}
	return open, waits
}

// waitsFor reports whether the turn waits for a call that waits. It goes on without one that an earlier run
// has left if there is something new to talk about.
func (t *turn) waitsFor(c session.Call) bool {
	input := t.host.Now().Input
	news := input != nil && input.Content != nil || len(t.host.Answered()) > 0
	return !news || t.host.Pending(c)
}

// own reports whether the event's calls are the agent's to execute: its own, and those of a plugin that
// stands in for its model.
func (t *turn) own(e *session.Event) bool {
	owner := agent.Owner(e)
	return owner == t.agent.Name() || owner == ""
}

// word is the last word of a turn: what the log says about how it goes on.
type word struct {
	is       wordKind
	answer   *session.Event // what the model's last words are
	skip     bool           // the responses are the answer
	transfer string
}

type wordKind int

const (
	wordNone    wordKind = iota // nothing was said in this turn
	wordTold                    // something that the model has not been asked about
	wordAnswer                  // the model's, or a plugin's in its place
	wordFailed                  // an event with an ErrorCode
	wordPending                 // calls that wait
)

func (t *turn) word() (w word) {
	inv := t.host.Now()
	for _, e := range inv.Live {
		if e.Seq <= t.from || e.Branch != t.host.Branch || e.Marker() {
			continue
		}
		switch {
		case len(e.FunctionResponses()) > 0:
			w.is, w.skip = wordTold, w.skip || e.Actions.SkipSummarization
			if e.Actions.TransferToAgent != "" {
				w.transfer = e.Actions.TransferToAgent
			}
		case e.ErrorCode != "":
			w = word{is: wordFailed}
		case e.Content == nil || len(e.Content.Parts) == 0:
		case e.Content.Role != genai.RoleModel:
			w.is, w.skip = wordTold, false
		case len(e.FunctionCalls()) > 0:
			w = word{is: wordPending}
		default:
			w = word{is: wordAnswer, answer: e}
		}
	}
	if w.is == wordNone && t.asked > 0 && !t.calling && !t.again && len(inv.Live) > 0 && inv.Live[0].Marker() && inv.Live[0].Seq > t.from {
		w.is = wordPending // the answer is behind a compaction by now
	}
	return w
}

// event returns an event of the agent.
func (t *turn) event() *session.Event {
	return &session.Event{Author: t.agent.Name(), Branch: t.host.Branch}
}

// fail yields an event that says what failed. It reports whether the turn goes on.
func (t *turn) fail(code string, err error) bool {
	e := t.event()
	e.ErrorCode, e.ErrorMessage = code, err.Error()
	return t.yield(e, nil)
}

// over reports whether the turn's context is done.
func (t *turn) over() bool { return t.ctx.Err() != nil }

// limited returns the time limit that has ended the turn's context, its own or that of an agent which calls
// it, nil if none has.
func (t *turn) limited() *timeLimit {
	var limit *timeLimit
	errors.As(context.Cause(t.ctx), &limit)
	return limit
}

// expired ends a turn whose context is done: with an event if its own time limit was reached. It returns
// false.
func (t *turn) expired() bool {
	if limit := t.limited(); limit != nil && limit.agent == t.agent {
		t.fail(TimeLimit, limit)
	} else {
		t.yield(nil, context.Cause(t.ctx))
	}
	return false
}

// put yields an event and reports whether the turn goes on: not if it was withheld, with nothing in its
// place. A failure in whose place there is a compaction is tried again.
func (t *turn) put(e *session.Event) bool {
	before := t.host.Now().Position
	t.again = false
	if !t.yield(e, nil) {
		return false
	}
	inv := t.host.Now()
	if n := len(inv.Live); e.ErrorCode != "" && n > 0 && inv.Live[0].Marker() && inv.Live[0].Seq > before {
		last := inv.Live[n-1]
		if t.again = last.Marker() || last.Seq <= before; t.again {
			return true
		}
	}
	for i := len(inv.Live) - 1; i >= 0 && inv.Live[i].Seq > before; i-- {
		if inv.Live[i].Branch == t.host.Branch {
			return true
		}
	}
	return false
}
