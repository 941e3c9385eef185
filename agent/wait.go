package agent

import "github.com/plughook/plughook/session"

// Resumes reports whether the run goes on with something that root, or an agent below it, was
// waiting for: its input answers one of their calls, with a human's yes or no or with the response.
func (h *Host) Resumes(root Agent) bool {
	for _, c := range h.Answered() {
		if Find(root, Owner(c.Event)) != nil {
			return true
		}
	}
	return false
}

// Answered returns the calls that the run's input answers, with a human's yes or no or with the
// response of a long-running tool.
func (h *Host) Answered() []session.Call {
	var answered []session.Call
	for _, c := range session.Calls(h.Now().Live) {
		if c.Event.Seq <= h.Began && (h.byUser(c.Decision) || h.byUser(c.Response)) {
			answered = append(answered, c)
		}
	}
	return answered
}

// byUser reports whether an event is the user's, and of this run.
func (h *Host) byUser(e *session.Event) bool {
	return e != nil && e.Author == session.User && e.Seq > h.Began
}

// Pending reports whether a call waits for its answer, and the agents that it concerns wait with
// it: it was made in this run, or in one that this run goes on with. Other calls that wait are left
// to wait, and the conversation goes on.
func (h *Host) Pending(c session.Call) bool {
	return c.Waits() && (c.Event.Seq > h.Began || h.asked()[c.Event.InvocationID])
}

// asked returns the invocations that the run goes on with: those that asked what its input answers,
// those that asked what their inputs answered, and so on.
func (h *Host) asked() map[string]bool {
	invocations := map[string]bool{}
	for _, c := range h.Answered() {
		invocations[c.Event.InvocationID] = true
	}
	calls := session.Calls(h.Now().Live)
	for n := -1; n < len(invocations); {
		n = len(invocations)
		for _, c := range calls {
			for _, answer := range []*session.Event{c.Decision, c.Response} {
				if answer != nil && answer.Author == session.User && invocations[answer.InvocationID] {
					invocations[c.Event.InvocationID] = true
				}
			}
		}
	}
	return invocations
}

// Waits reports whether root, or an agent below it, has come to where it waits for an answer (see
// Pending).
func (h *Host) Waits(root Agent) bool {
	for _, c := range session.Calls(h.Now().Live) {
		if Find(root, Owner(c.Event)) != nil && h.Pending(c) {
			return true
		}
	}
	return false
}
