package plan

import (
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// stayIfNeeded makes the groups stay that must, or that are wanted, wherever they are in the view. Of several
// reasons the first one counts, so that a group that must stay does not give way with the pins or with the
// goal.
func (d *decision) stayIfNeeded() {
	goal := firstMessage(d.inv.Live)
	if goal != nil && d.m.Event(goal) > d.s.Budget/8 {
		goal = nil
	}

	// A workflow goes on with what the live view has of its run, so all of that stays until the run has
	// ended.
	unfinished := map[*session.Event]bool{}
	for _, w := range session.NewWorkflowRuns(d.inv.Live).Workflows() {
		if !w.Open() {
			continue
		}
		unfinished[w.Input] = true
		for _, e := range w.Events {
			unfinished[e] = true
		}
	}

	for _, g := range d.groups {
		has := func(is func(*session.Event) bool) bool { return slices.ContainsFunc(g.Events, is) }
		g.goal = has(func(e *session.Event) bool { return e == goal })
		switch {
		case has(func(e *session.Event) bool { return e == d.question }):
			d.stay(g, stayQuestion)
		case has(func(e *session.Event) bool {
			return d.t.Running && e.InvocationID == d.inv.ID && elsewhere(d.t.Branch, e.Branch)
		}):
			d.stay(g, stayBranch)
		case g.Open, g.Answers:
			d.stay(g, stayOpen)
		case has(func(e *session.Event) bool { return unfinished[e] }):
			d.stay(g, stayWorkflow)
		case d.hasUnseen(g):
			d.stay(g, stayUnseen)
		case has(d.s.names):
			d.stay(g, stayPinned)
			g.pinned = true
		case g.goal:
			d.stay(g, stayGoal)
		}
	}
}

// names reports whether Config.Keep names an event.
func (s *Settings) names(e *session.Event) bool {
	return s.namesWhole(e) || slices.ContainsFunc(e.FunctionCalls(), func(c *genai.FunctionCall) bool {
		return slices.Contains(s.Keep.Tools, c.Name)
	})
}

// namesWhole reports whether Config.Keep names an event, and not only a tool that is called in it.
func (s *Settings) namesWhole(e *session.Event) bool {
	return slices.Contains(s.Keep.Authors, e.Author) || slices.Contains(s.Keep.Events, e.ID)
}

// answering returns the message that the running invocation answers.
func answering(inv *session.Invocation, t Task) *session.Event {
	if !t.Running {
		return nil
	}
	for _, e := range slices.Backward(inv.Live) {
		if e.Author == session.User && e.Content != nil && len(e.FunctionResponses()) == 0 && !e.Marker() {
			return e
		}
	}
	return nil
}

// firstMessage returns the first message of the session, nil if a summary covers it.
func firstMessage(live []*session.Event) *session.Event {
	for i, e := range live {
		switch {
		case i == 0 && e.Marker():
		case e.Author == session.User && e.Content != nil && e.Branch == "":
			return e
		case i > 0 && live[0].Marker():
			return nil
		}
	}
	return nil
}

// elsewhere reports whether a branch is beside own: neither above nor below it. An agent that runs others in
// branches below its own waits for them before it calls its model, so nothing below is in work at that time.
func elsewhere(own, branch string) bool {
	if own == "" || branch == "" || own == branch {
		return false
	}
	return !strings.HasPrefix(own, branch+".") && !strings.HasPrefix(branch, own+".")
}

// stayAsTail makes the latest groups stay, the newest first, until tail is used or less than half a summary's
// room is left. The newest group stays if it takes no more than a quarter of the room, even if it is larger
// than tail.
func (d *decision) stayAsTail(tail, summary int) {
	used := 0
	for _, g := range slices.Backward(d.groups) {
		if g.stays != "" {
			continue
		}
		own := d.size(g)
		all := max(own, d.m.View(g.Events, "")) // Config.Tail counts what any branch sees
		newest := used == 0 && own <= d.room/4
		if used+all > tail && !newest || d.least(d.room/2)+own > d.room-summary/2 {
			return
		}
		used += all
		d.stay(g, stayTail)
	}
}
