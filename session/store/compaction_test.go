package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// CheckCompaction takes a compaction of a random log exactly if the rules, written down here once more and in another
// way, take it.
func TestCheckCompactionOfRandomLogs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ask := &session.Event{Author: "agent", Actions: session.Decision(false, "1").Actions}
		log := []*session.Event{logtest.Call("1"), ask, session.Decision(true, "1")}
		log = logtest.Numbered(log[:rapid.IntRange(0, len(log)).Draw(rt, "begins with")]...)
		for range rapid.IntRange(1, 10).Draw(rt, "length") {
			e := logtest.Event(rt, log)
			e.Seq = int64(len(log)) + 1
			e.ID = fmt.Sprint("e", e.Seq)
			if r := e.Actions.Rewind; r != nil && (r.To < 0 || r.To >= e.Seq) {
				continue
			}
			if e.Actions.Compaction != nil && e.Marker() && !mayFollow(log, e) {
				continue
			}
			log = append(log, e)
		}
		live := session.Live(log)
		for range 20 {
			e := logtest.AnyCompaction(rt, log)
			if !e.Marker() { // inert: it is an ordinary event
				continue
			}
			err := store.CheckCompaction(live, logtest.Frontier(log), int64(len(log))+1, e)
			require.Equal(rt, mayFollow(log, e), err == nil, "%v", err)
		}
	})
}

// mayFollow reports whether a compaction may follow a log.
func mayFollow(log []*session.Event, e *session.Event) bool {
	c := e.Actions.Compaction
	seq := int64(len(log)) + 1
	live := session.Live(log)
	covered := covers(live, c)
	better := len(live) > 0 && live[0].Marker() && live[0].Actions.Compaction.Through == c.Through
	if c.Through < 1 || c.Through >= seq || c.Frontier != logtest.Frontier(log) ||
		len(covered) == 0 && !better ||
		!slices.IsSorted(c.Keep) {
		return false
	}
	for i, k := range c.Keep {
		j := slices.IndexFunc(live, func(e *session.Event) bool { return e.Seq == k })
		if k > c.Through || j < 0 || live[j].Marker() || i > 0 && c.Keep[i-1] == k {
			return false
		}
	}
	if live[0].Marker() && live[0].Actions.Compaction.Through > c.Through {
		return false
	}
	groups, closed := together(live)
	for i, group := range groups {
		for _, seq := range group {
			if covered[seq] != (closed[i] && covered[group[0]]) {
				return false
			}
		}
	}
	return true
}

// covers returns the positions of the live events that a compaction newly stands for.
func covers(live []*session.Event, c *session.Compaction) map[int64]bool {
	covered := map[int64]bool{}
	for _, e := range live {
		if e.Seq <= c.Through && !e.Marker() && !slices.Contains(c.Keep, e.Seq) {
			covered[e.Seq] = true
		}
	}
	return covered
}

// A modelCall is a function call of a live view and the positions of what belongs to it.
type modelCall struct {
	id, branch string
	call       int64
	response   int64   // 0 while it is open
	about      []int64 // while it is open: itself, interim responses, what says that it is answered later, the question about it and the decision
	later      bool
	held       bool
	decided    bool
	own        bool // its own event says that it is answered later
	told       int  // how many events of the user's are before it
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
	told := 0
	for _, e := range live {
		if e.Author == session.User {
			told++
		}
		for _, c := range e.FunctionCalls() {
			list = append(list,
				&modelCall{id: c.ID, branch: e.Branch, call: e.Seq, about: []int64{e.Seq},
					own: slices.Contains(e.LongRunningToolIDs, c.ID), told: told})
		}
		for _, r := range e.FunctionResponses() {
			switch c := about(e, r.ID, any); {
			case c == nil:
			case e.FromAgent() && (slices.Contains(e.LongRunningToolIDs, r.ID) || c.own && c.told == told):
				c.about = append(c.about, e.Seq) // another one comes
			default:
				c.response = e.Seq
			}
		}
		for _, id := range e.LongRunningToolIDs {
			if c := about(e, id, any); c != nil && !c.later {
				c.later = true
				c.about = append(c.about, e.Seq)
			}
		}
		for id := range e.Actions.RequestedToolConfirmations {
			if e.Author != session.User {
				if c := about(e, id, any); c != nil {
					c.held = true
					c.decided = false
					c.about = append(c.about, e.Seq)
				}
			} else if c := about(e, id, func(c *modelCall) bool { return c.held && !c.decided }); c != nil {
				c.decided = true
				c.about = append(c.about, e.Seq)
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
		groups = append(groups, group)
		closed = append(closed, c.response != 0)
	}
	return groups, closed
}

// answeredIn reports whether a branch is the one in which an agent answers the call, "agent@id" below the caller's,
// or below that.
func (c *modelCall) answeredIn(branch string) bool {
	path := strings.Split(branch, ".")
	own := strings.Split(c.branch, ".")
	if c.branch == "" {
		own = nil
	}
	if len(path) <= len(own) || !slices.Equal(path[:len(own)], own) {
		return false
	}
	_, id, callee := strings.Cut(path[len(own)], "@")
	return callee && id == c.id && c.id != ""
}
