package runner

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// prepare checks the input and makes a copy of it that is the run's own.
func (x *run) prepare() error {
	if err := x.key.Check(false); err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	if x.input == nil {
		x.id = session.NewID()
		return nil
	}

	// Is it something that a caller may put in?
	in := x.input.Clone()
	refuse := func(what string) error { return fmt.Errorf("runner: input: %w: %s", session.ErrInvalid, what) }
	switch {
	case in.Author != "" && in.Author != session.User:
		return refuse(fmt.Sprintf("its author is %q; only %q is possible", in.Author, session.User))
	case in.Marker():
		return refuse("only plugins may emit a compaction or a rewind; send a command to the plugin that does")
	case in.Partial:
		return refuse("it is partial")
	case !x.opt.Restore && empty(in):
		return refuse("it is empty: it needs content, a command, metadata or actions; a nil input goes on with what is in the log")
	}
	if !x.opt.Restore {
		in = plugin.Notes{}.With(in) // only the runner notes what plugins did
	}
	in.Author = session.User
	if !x.opt.Restore {
		in.NodeInfo = nil // only a workflow says what its nodes have done
	}
	if err := x.owners.CheckEvent(in); err != nil {
		return fmt.Errorf("runner: input: %w", err)
	}

	// It gets what it has not got.
	in.Seq = 0
	if in.ID == "" {
		in.ID = session.NewID()
	}
	if in.InvocationID == "" {
		in.InvocationID = in.ID
	}
	if in.Timestamp.IsZero() {
		in.Timestamp = time.Now().UTC()
	}
	x.input = in
	x.id = in.InvocationID
	x.inputID = in.ID
	return nil
}

// empty reports whether an input says nothing.
func empty(in *session.Event) bool {
	for _, p := range partsOf(in) {
		if p != nil && !reflect.ValueOf(*p).IsZero() {
			return false
		}
	}
	return in.Content != nil || len(in.CustomMetadata) == 0 && reflect.ValueOf(in.Actions).IsZero()
}

// checkDecisions returns an error if the input does nothing but approve or decline calls that are not awaiting
// confirmation. There is nothing to go on with.
func (x *run) checkDecisions(input *session.Event) error {
	rest := input.Actions
	decisions := rest.RequestedToolConfirmations
	rest.RequestedToolConfirmations = nil
	_, command := input.Command()
	onlyDecides := len(decisions) > 0 && !command && input.Content == nil && reflect.ValueOf(rest).IsZero()
	if x.opt.Restore || !onlyDecides {
		return nil
	}
	var waiting []string
	for _, c := range session.Calls(x.view.Live()) {
		if c.Response != nil || c.Held == nil || c.Decision != nil {
			continue
		}
		if _, ok := decisions[c.ID]; ok {
			return nil
		}
		waiting = append(waiting, fmt.Sprintf("%q (%s)", c.ID, c.Name))
	}
	what := "no call does"
	if len(waiting) > 0 {
		what = "those that do: " + strings.Join(waiting, ", ")
	}
	asked := slices.Sorted(maps.Keys(decisions))
	return fmt.Errorf("runner: input: it approves or declines %q: %w; %s", asked, ErrDecision, what)
}

// yieldIfRepeated reports whether the live view has the input already: a caller that did not get the answer asks
// again. Then what the invocation has is yielded. If an agent has answered, or a plugin in its place, no answer
// has broken off, no call is without a response, and no workflow's run is open that the invocation had a part in, the
// run ends; else the invocation goes on. It also goes on with a workflow that only waits, which does no node again.
func (x *run) yieldIfRepeated(input *session.Event) bool {
	live := x.view.Live()
	at := slices.IndexFunc(live, func(e *session.Event) bool { return e.ID == input.ID })
	if at < 0 {
		return false
	}

	// The same ID must say the same, unless a plugin has changed what is in the log.
	was := live[at]
	if len(plugin.NotesOf(was).Changed) == 0 && !x.same(was, input) {
		x.fail(context.Background(), &session.EventError{Key: x.key, ID: input.ID, Err: session.ErrIDReused})
		return true
	}
	x.id = was.InvocationID
	x.input = was
	x.snapshot = nil
	x.deliver(was)

	// Which events have a call that nobody answered?
	unanswered := map[*session.Event]bool{}
	for _, c := range session.Calls(live) {
		if c.Response == nil && !c.Waits() {
			unanswered[c.Event] = true
		}
	}

	// Which events are steps of a workflow's run that has neither ended nor failed?
	steps := map[*session.Event]bool{}
	for _, w := range session.Nodes(live).Workflows() {
		if !w.Open() || w.Failed() {
			continue
		}
		for _, e := range w.Events {
			steps[e] = true
		}
	}

	// Is there an answer? A branch with an unanswered call has none until something is said after it.
	_, command := was.Command()
	stopped := plugin.NotesOf(was).Stopped != ""
	answered := false
	unfinished := false           // a workflow's run is
	open := map[string]bool{}     // by branch
	brokeOff := map[string]bool{} // the answer in this branch did, and nothing was said after it
	for _, e := range live[at+1:] {
		if e.InvocationID != was.InvocationID {
			continue
		}
		switch {
		case steps[e]:
			unfinished = true
		case unanswered[e]:
			open[e.Branch] = true
		case cutShort(e):
			brokeOff[e.Branch] = true
		case isAnswer(e), command && was.Content == nil:
			answered = true
			delete(open, e.Branch)
			maps.DeleteFunc(brokeOff, func(branch string, _ bool) bool { return within(branch, e.Branch) })
		}
		stopped = stopped || plugin.NotesOf(e).Stopped != ""
		x.deliver(e)
	}
	done := answered && !unfinished && len(open) == 0 && len(brokeOff) == 0
	if (stopped || done) && !x.ended {
		x.ended = true
		x.end = plugin.End{Kind: plugin.EndDone, Reason: "the input was answered before"}
	}
	return true
}

// within reports whether a branch is another one or below it.
func within(branch, top string) bool {
	return top == "" || branch == top || strings.HasPrefix(branch, top+".")
}

// same reports whether an input says what the one in the log does: content, command and actions, in
// whatever Go types.
func (x *run) same(was, input *session.Event) bool {
	var list [2]*store.Record
	for i, e := range []*session.Event{was, input} {
		said := &session.Event{}
		if c, ok := e.Command(); ok {
			said = c.Event()
		}
		said.ID = was.ID
		said.Timestamp = was.Timestamp
		said.Content = e.Content
		said.Actions = e.Actions
		records, err := store.Records(x.key, []*session.Event{said})
		if err != nil {
			return false
		}
		list[i] = records[0]
	}
	return list[1].Same(list[0].Data)
}

// cutShort reports whether an event is the beginning of an answer that never became whole (see keepShown).
// A live session's turn that the user has cut short is complete.
func cutShort(e *session.Event) bool { return e.Interrupted && !e.TurnComplete && e.ErrorCode == "" }

// isAnswer reports whether an event is a step of an answer: an agent's event, or what a plugin says in its
// place. What a plugin notes or counts is no answer, nor is a response alone. The end of a workflow's node is one, with
// or without content.
func isAnswer(e *session.Event) bool {
	switch {
	case e.ErrorCode != "":
		return true
	case cutShort(e):
		return false
	case e.Author != session.User && e.NodeInfo != nil && e.NodeInfo.Ended:
		return true
	case e.Author == session.User || len(e.FunctionResponses()) > 0 && e.Text() == "":
		return false
	case strings.HasPrefix(e.Author, session.PluginPrefix):
		return e.Content != nil && e.Content.Role == genai.RoleModel
	}
	return true
}
