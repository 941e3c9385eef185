package sessiontest

import (
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// A modelCall is a function call of a live view and the positions of what belongs to it.
type modelCall struct {
	id, branch string
	call       int64
	response   int64   // 0 while it is open
	about      []int64 // while it is open: itself, what says that it is answered later, the question about it and the verdict
	later      bool
	held       int // index in about of the question, 0 if there is none
	verdict    int
}

// modelCalls follows each call through the events after it.
func modelCalls(live []*session.Event) (list []*modelCall) {
	// about returns the call that an event is about: the latest in the event's branch, or else in any.
	about := func(e *session.Event, id string, fits func(*modelCall) bool) *modelCall {
		var own, all *modelCall
		for _, c := range list {
			if c.id == id && c.response == 0 && fits(c) {
				if all = c; c.branch == e.Branch {
					own = c
				}
			}
		}
		if own == nil || e.Author == session.User && e.Branch == "" {
			return all
		}
		return own
	}
	any := func(*modelCall) bool { return true }
	for _, e := range live {
		for _, c := range e.FunctionCalls() {
			list = append(list, &modelCall{id: c.ID, branch: e.Branch, call: e.Seq, about: []int64{e.Seq}})
		}
		for _, r := range e.FunctionResponses() {
			if c := about(e, r.ID, any); c != nil {
				c.response = e.Seq
			}
		}
		for _, id := range e.LongRunningToolIDs {
			if c := about(e, id, any); c != nil && !c.later {
				c.later, c.about = true, append(c.about, e.Seq)
			}
		}
		for id := range e.Actions.RequestedToolConfirmations {
			if e.Author != session.User {
				if c := about(e, id, any); c != nil {
					if c.held > 0 { // a new question
						c.about[c.held] = c.call
					}
					if c.verdict > 0 {
						c.about[c.verdict] = c.call
					}
					c.about, c.held, c.verdict = append(c.about, e.Seq), len(c.about), 0
				}
			} else if c := about(e, id, func(c *modelCall) bool { return c.held > 0 && c.verdict == 0 }); c != nil {
				c.about, c.verdict = append(c.about, e.Seq), len(c.about)
			}
		}
	}
	return list
}

// together returns, for each call, the positions of live events that a compaction covers all or none of, and
// whether it may cover them: not while the call is open, nor what the agent that is to answer it has said.
func together(live []*session.Event) (groups [][]int64, closed []bool) {
	for _, c := range modelCalls(live) {
		group := []int64{c.call, c.response}
		if c.response == 0 {
			group = slices.Clone(c.about)
			for _, e := range live {
				if c.answeredIn(e.Branch) {
					group = append(group, e.Seq)
				}
			}
		}
		groups, closed = append(groups, group), append(closed, c.response != 0)
	}
	return groups, closed
}

// answeredIn reports whether a branch is the one in which an agent answers the call, "agent@id" below the caller's,
// or below that.
func (c *modelCall) answeredIn(branch string) bool {
	path, own := strings.Split(branch, "."), strings.Split(c.branch, ".")
	if c.branch == "" {
		own = nil
	}
	if len(path) <= len(own) || !slices.Equal(path[:len(own)], own) {
		return false
	}
	_, id, callee := strings.Cut(path[len(own)], "@")
	return callee && id == c.id && c.id != ""
}
