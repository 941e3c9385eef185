package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
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
	} else {
		x.given = in
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
	for _, p := range in.Parts() {
		if !reflect.ValueOf(*p).IsZero() {
			return false
		}
	}
	return in.Content != nil || len(in.CustomMetadata) == 0 && reflect.ValueOf(in.Actions).IsZero()
}

// checkDecisions returns an error if the input does nothing but approve or decline calls that are not awaiting
// confirmation: there is nothing to go on with. It also does if the input has the response to a call that is: whoever
// may say yes or no cannot say what a tool has answered that never ran.
func (x *run) checkDecisions(input *session.Event) error {
	if responses := input.FunctionResponses(); len(responses) > 0 && !x.opt.Restore {
		for _, c := range session.Calls(x.view.Live()) {
			answers := func(r *genai.FunctionResponse) bool { return r.ID == c.ID }
			awaits := c.Response == nil && c.Held != nil && c.Decision == nil
			if awaits && slices.ContainsFunc(responses, answers) {
				return fmt.Errorf("runner: input: it responds to the call %q (%s), which waits for a yes or no: %w",
					c.ID, c.Name, ErrNotWaiting)
			}
		}
	}
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
	return fmt.Errorf("runner: input: it approves or declines %q: %w; %s", asked, ErrNotWaiting, what)
}

// yieldIfRepeated reports whether the live view has the input already, or an event that names it because the input
// is not in the log: a caller that did not get the answer asks again. Then what the invocation has is yielded. The run
// ends if the input was withheld, or the run was cancelled, or an agent has answered, or a plugin in its place, and
// no answer has broken off, no call is without a response, and no workflow's run is open that the invocation had a
// part in; else the invocation goes on. It also goes on with a workflow that only waits, which does no node again.
func (x *run) yieldIfRepeated(input *session.Event) bool {
	if x.given == nil {
		return false // its ID was made for this run
	}
	at := x.loan.InputIndex(input.ID)
	if at < 0 {
		return false
	}
	live := x.view.Live()

	// The same ID must say the same, unless a plugin has changed what is in the log.
	was := live[at]
	withheld := was.ID != input.ID
	same := len(plugin.NotesOf(was).Changed) > 0 || x.same(was, input)
	if withheld {
		same = plugin.NotesOf(was).Input.Digest == x.digest(input)
	}
	if !same {
		x.fail(context.Background(), &session.EventError{Key: x.key, ID: input.ID, Err: session.ErrIDReused})
		return true
	}
	x.id = was.InvocationID
	if !withheld {
		x.input = was
	}
	x.snapshot.Lend(nil)
	x.deliver(was)

	// Which events have a call that nobody answered? Which events of other invocations have a response of a call
	// of this one? A run that came in between has answered it as interrupted.
	unanswered := map[*session.Event]bool{}
	interrupted := map[*session.Event]bool{}
	for _, c := range session.Calls(live) {
		switch {
		case c.Response == nil && !c.Waits():
			unanswered[c.Event] = true
		case c.Response != nil && c.Event.InvocationID == was.InvocationID && isResponse(c.Response):
			interrupted[c.Response] = true
		}
	}

	// Which events are steps of a workflow's run that has neither ended nor failed?
	steps := map[*session.Event]bool{}
	for _, w := range session.NewWorkflowRuns(live).Workflows() {
		if !w.Open() || w.Failed() {
			continue
		}
		for _, e := range w.Events {
			steps[e] = true
		}
	}

	// Is there an answer? A branch with an unanswered call, or with a response that nothing was made of, has none
	// until something is said after it.
	_, command := was.Command()
	stopped := withheld || plugin.NotesOf(was).Stopped != ""
	wasCancelled := isCancelled(was)
	answered := false
	unfinished := false           // a workflow's run is
	open := map[string]bool{}     // by branch
	brokeOff := map[string]bool{} // the answer in this branch did, and nothing was said after it
	for _, e := range live[at+1:] {
		if e.InvocationID != was.InvocationID {
			if interrupted[e] {
				open[e.Branch] = true
			}
			continue
		}
		switch {
		case isCancelled(e):
			wasCancelled = true
		case steps[e]:
			unfinished = true
		case unanswered[e]:
			open[e.Branch] = true
		case isResponse(e):
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
	switch {
	case x.ended:
	case wasCancelled:
		x.ended = true
		x.repeated = true
		x.end = plugin.End{Kind: plugin.EndCancelled, Err: cancelled(x.key)}
	case stopped || done:
		x.ended = true
		x.repeated = true
		x.end = plugin.End{Kind: plugin.EndDone, Reason: "the input was answered before"}
	}
	return true
}

// isCancelled reports whether an event says that somebody has cancelled its run.
func isCancelled(e *session.Event) bool {
	return e.Author == session.User && e.Interrupted && e.ErrorCode == session.Cancelled
}

// within reports whether a branch is another one or below it.
func within(branch, top string) bool {
	return top == "" || branch == top || strings.HasPrefix(branch, top+".")
}

// same reports whether an input says what the one in the log does: content, command and actions, in
// whatever Go types.
func (x *run) same(was, input *session.Event) bool {
	before, err := x.said(was, was)
	if err != nil {
		return false
	}
	now, err := x.said(input, was)
	return err == nil && now.Same(before.Data)
}

// said returns an event that says what an input does, and nothing else, as the log would have it. It has the ID and
// the time of another one.
func (x *run) said(input, of *session.Event) (*store.Record, error) {
	said := &session.Event{}
	if c, ok := input.Command(); ok {
		said = c.Event()
	}
	said.ID = of.ID
	said.Timestamp = of.Timestamp
	said.Content = input.Content
	said.Actions = input.Actions
	records, err := store.Records(x.key, []*session.Event{said})
	if err != nil {
		return nil, err
	}
	return records[0], nil
}

// digest returns the digest of an input in a note: of what it says, in whatever Go types. The digest of an input
// that cannot be stored is empty.
func (x *run) digest(input *session.Event) string {
	record, err := x.said(input, &session.Event{ID: input.ID, Timestamp: time.Unix(0, 0).UTC()})
	if err != nil {
		return ""
	}
	data := jsontext.Value(record.Data)
	if data.Canonicalize() != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:2])
}

// noteInput notes the run's input, which the log does not get, on the first event that it gets of the run.
func (x *run) noteInput(b *batch) {
	if x.unlogged == nil {
		return
	}
	for _, p := range b.pending {
		if p.event.Partial || p.event.Marker() {
			continue // it is not in the live view
		}
		notes := plugin.NotesOf(p.event)
		notes.Input = &plugin.InputNote{ID: x.inputID, Digest: x.digest(x.unlogged)}
		p.swap(notes.With(p.event))
		return
	}
}

// cutShort reports whether an event is the beginning of an answer that never became whole (see keepShown).
// A live session's turn that the user has cut short is complete.
func cutShort(e *session.Event) bool { return e.Interrupted && !e.TurnComplete && e.ErrorCode == "" }

// isResponse reports whether an event has responses of calls, and the agent is to make something of them: not where
// they end a workflow's node.
func isResponse(e *session.Event) bool {
	ends := e.NodeInfo != nil && e.NodeInfo.Ended
	return !ends && e.Author != session.User && len(e.FunctionResponses()) > 0 && e.Text() == "" && e.ErrorCode == "" &&
		!e.Actions.SkipSummarization && !e.Actions.Escalate
}

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
	}
	_, emitted := e.Plugin()
	return !emitted || e.Content != nil && e.Content.Role == genai.RoleModel
}
