package runner

import (
	"context"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// answerInterrupted answers the calls that an earlier invocation has left open: a crash, a stop or a caller
// who left came before their responses. Nobody knows how far they came, so they are not executed again. Calls
// that wait for a human or for what they have started are not among them, unless their agent is gone.
func (x *run) answerInterrupted(ctx context.Context) {
	if x.opt.Restore {
		return
	}
	for _, c := range x.invocation().CallsSince(x.startSeq) {
		if c.Response != nil || c.Event.Seq > x.startSeq || c.Decision != nil && c.Decision.Seq > x.startSeq {
			continue
		}
		if x.goesOnWith(&c) {
			continue
		}
		e := session.Respond(c.FunctionCall, map[string]any{"interrupted": true,
			"error": "interrupted: the run ended before the function had answered; it may or may not have had its effects"})
		e.Author, e.Branch = c.Event.Author, c.Event.Branch
		if !e.FromAgent() {
			e.Author = x.agentName()
		}
		stamped, err := x.fromAgent(e)
		if err == nil {
			_, err = x.put(ctx, newPending(stamped), 0)
		}
		if err != nil || x.ended {
			return
		}
	}
}

// goesOnWith reports whether a call waits and its agent goes on with it. An agent outside that got another input has
// left what it asked a human about. What a workflow that is gone has asked waits until somebody says more: it may have
// its name again by then.
func (x *run) goesOnWith(c *session.Call) bool {
	owner := agent.Owner(c.Event)
	switch {
	case !c.Waits():
		return false
	case x.outside != nil && owner == x.outside.agent:
		return c.Held == nil
	case x.outside == nil && owner == AgentOutside(x.view.State()):
		return true // the agent outside gets the answer when it asks next
	}
	fresh := x.input != nil && x.input.Seq > x.startSeq
	return owner == "" || agent.Find(x.opt.Agent, owner) != nil || !fresh && c.Event.FromWorkflow()
}
