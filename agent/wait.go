package agent

import "github.com/plughook/plughook/session"

// Resumes reports whether the input of this run answers a call of root, or of an agent below it,
// that was waiting: with a human's yes or no, or with the call's response.
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

// byUser reports whether an event belongs to this run and its author is the user.
func (h *Host) byUser(e *session.Event) bool {
	return e != nil && e.Author == session.User && e.Seq > h.Began
}

// Pending reports whether a call waits for an answer and its agent must wait for it too, because
// the call was made in this run or in a run that this one continues. Calls of other runs may stay
// unanswered while the conversation continues.
func (h *Host) Pending(c session.Call) bool {
	return c.Waits() && (c.Event.Seq > h.Began || h.asked()[c.Event.InvocationID])
}

// asked returns the invocations that this run continues: those whose calls its input answers, those
// whose calls their inputs answered, and so on.
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

// Waits reports whether root, or an agent below it, is waiting for an answer (see Pending).
func (h *Host) Waits(root Agent) bool {
	for _, c := range session.Calls(h.Now().Live) {
		if Find(root, Owner(c.Event)) != nil && h.Pending(c) {
			return true
		}
	}
	return false
}
