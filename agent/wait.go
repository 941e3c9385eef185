package agent

import (
	"slices"
	"sync"

	"github.com/plughook/plughook/session"
)

// Resumes reports whether the input of this run answers a call of root, or of an agent below it,
// that was waiting: with a human's yes or no, or with the call's response.
func (h *Host) Resumes(root Agent) bool {
	for _, c := range h.Now().CallsSince(h.Began) {
		if h.answersNow(c) && Find(root, Owner(c.Event)) != nil {
			return true
		}
	}
	return false
}

// Answered returns the calls that the run's input answers, with a human's yes or no or with the
// response of a long-running tool. A call that waits for the yes of another person, too, is not among them.
func (h *Host) Answered() []session.Call {
	return slices.DeleteFunc(h.Now().CallsSince(h.Began), func(c session.Call) bool {
		return c.Event.Seq > h.Began || !h.byUser(c.Decision) && !h.byUser(c.Response)
	})
}

// answersNow reports whether the run's input answers a call, or one of several questions about it.
func (h *Host) answersNow(c session.Call) bool {
	return c.Event.Seq <= h.Began && (slices.ContainsFunc(c.Decisions, h.byUser) || h.byUser(c.Response))
}

// byUser reports whether an event belongs to this run and its author is the user.
func (h *Host) byUser(e *session.Event) bool {
	return e != nil && e.Author == session.User && e.Seq > h.Began
}

// Pending returns a function that reports whether a call waits for an answer and its agent must wait
// for it too, because the call was made in this run or in a run that this one continues. Calls of
// other runs may stay unanswered while the conversation continues. The function knows the log as it
// is now: ask for it once for all calls of a live view.
func (h *Host) Pending() func(session.Call) bool {
	live := h.Now().Live
	continued := sync.OnceValue(func() map[string]bool { return h.continued(live) }) // reads the whole view
	return func(c session.Call) bool {
		return c.Waits() && (c.Event.Seq > h.Began || continued()[c.Event.InvocationID])
	}
}

// continued returns the invocations that this run continues: those whose calls its input answers, those
// whose calls their inputs answered, and so on.
func (h *Host) continued(live []*session.Event) map[string]bool {
	// Find out which invocations the input of each invocation answers.
	answers := map[string][]string{}
	var next []string
	for _, c := range session.Calls(live) {
		for _, answer := range append(slices.Clip(c.Decisions), c.Response) {
			if answer == nil || answer.Author != session.User {
				continue
			}
			answers[answer.InvocationID] = append(answers[answer.InvocationID], c.Event.InvocationID)
			if h.answersNow(c) {
				next = append(next, c.Event.InvocationID)
			}
		}
	}

	// Follow them from this run on.
	continued := map[string]bool{}
	for len(next) > 0 {
		last := len(next) - 1
		invocation := next[last]
		next = next[:last]
		if !continued[invocation] {
			continued[invocation] = true
			next = append(next, answers[invocation]...)
		}
	}
	return continued
}

// Waits reports whether root, or an agent below it, is waiting for an answer (see Pending).
func (h *Host) Waits(root Agent) bool {
	pending := h.Pending()
	for _, c := range h.Now().CallsSince(h.Began) {
		if pending(c) && Find(root, Owner(c.Event)) != nil {
			return true
		}
	}
	return false
}
