package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// yieldIfRepeated reports whether the live view has the input already, or an event that names it because the
// input is not in the log: a caller that did not get the answer asks again. Then what the invocation has is
// yielded, and the run ends unless there is something to go on with.
func (x *run) yieldIfRepeated(input *session.Event) bool {
	if x.given == nil {
		return false // its ID was made for this run
	}
	first := x.loan.InputIndex(input.ID)
	if first < 0 {
		return false
	}
	live := x.view.Live()
	was := live[first]
	if !x.repeats(was, input) {
		x.fail(context.Background(), &session.EventError{Key: x.key, ID: input.ID, Err: session.ErrIDReused})
		return true
	}

	// The run goes on as the invocation that the input has begun.
	x.id = was.InvocationID
	if was.ID == input.ID {
		x.input = was
	}
	x.snapshot.Lend(nil)
	o := outcomeOf(live, first, input.ID)
	for _, e := range o.events {
		x.deliver(e)
	}
	if x.ended || o.kind == unfinished {
		return true
	}
	x.ended = true
	x.repeated = true
	x.end = plugin.End{Kind: plugin.EndDone, Reason: "the input was answered before"}
	if o.kind == wasCancelled {
		x.end = plugin.End{Kind: plugin.EndCancelled, Err: cancelled(x.key)}
	}
	return true
}

// An outcome is what the live view says of an invocation whose input is sent again.
type outcome struct {
	kind   outcomeKind
	events []*session.Event // of the invocation, in order
}

type outcomeKind int

const (
	unfinished   outcomeKind = iota // there is something to go on with
	finished                        // it was answered, withheld, or stopped by a plugin
	wasCancelled                    // somebody has cancelled it
)

// outcomeOf returns what became of the invocation whose input has an ID. first is the index in the live view
// of that input or, if the input is not in the log, of the event that names it.
//
// The invocation is finished if the input was withheld, or a plugin has stopped the run, or an agent has
// answered, or a plugin in its place, and nothing is left to do: no answer has broken off, each call has a
// response of which something was made, and no workflow's run is open that the invocation had a part in. A
// workflow that only waits is open, too: to go on with it does no node again. If a call has waited, the invocation
// that has brought its response goes on with all calls.
func outcomeOf(live []*session.Event, first int, inputID string) outcome {
	input := live[first]
	own := func(e *session.Event) bool { return e.InvocationID == input.InvocationID }
	_, command := input.Command()
	leftOpen, handedOn := leavingOpen(live, own)
	steps := stepsToGoOnWith(live)

	o := outcome{events: []*session.Event{input}}
	stopped := input.ID != inputID || plugin.NotesOf(input).Stopped != ""
	stoppedByUser := isCancelled(input)
	answered := false
	openWorkflow := false
	openCall := map[string]bool{} // by branch, until something is said in it
	brokeOff := map[string]bool{} // the answer in this branch did, and nothing was said after it
	for _, e := range live[first+1:] {
		if !own(e) {
			if leftOpen[e] {
				openCall[e.Branch] = true
			}
			continue
		}
		o.events = append(o.events, e)
		stopped = stopped || plugin.NotesOf(e).Stopped != ""
		switch {
		case isCancelled(e):
			stoppedByUser = true
		case steps[e]:
			openWorkflow = true
		case leftOpen[e], isResponse(e):
			openCall[e.Branch] = true
		case cutShort(e):
			brokeOff[e.Branch] = true
		case isAnswer(e), command && input.Content == nil:
			answered = true
			delete(openCall, e.Branch)
			maps.DeleteFunc(brokeOff, func(branch string, _ bool) bool { return within(branch, e.Branch) })
		}
	}
	if handedOn {
		clear(openCall)
	}
	switch {
	case stoppedByUser:
		o.kind = wasCancelled
	case stopped, answered && !openWorkflow && len(openCall) == 0 && len(brokeOff) == 0:
		o.kind = finished
	}
	return o
}

// leavingOpen returns the events after which there is something to do: an invocation's events with a call
// that nobody has answered, and other invocations' events with a response to one of its calls. A run that
// came in between has made such a response, since the call was interrupted. handedOn says that a call had waited,
// and another invocation has brought its response.
func leavingOpen(
	live []*session.Event, own func(*session.Event) bool,
) (leftOpen map[*session.Event]bool, handedOn bool) {
	leftOpen = map[*session.Event]bool{}
	for _, c := range session.Calls(live) {
		switch {
		case !own(c.Event):
		case c.Response == nil && !c.Waits():
			leftOpen[c.Event] = true
		case c.Response == nil || own(c.Response):
		case c.Held != nil || c.Deferred != nil:
			handedOn = true
		case isResponse(c.Response):
			leftOpen[c.Response] = true
		}
	}
	return leftOpen, handedOn
}

// stepsToGoOnWith returns the events that are steps of a workflow's run that has neither ended nor failed.
func stepsToGoOnWith(live []*session.Event) map[*session.Event]bool {
	steps := map[*session.Event]bool{}
	for _, w := range session.NewWorkflowRuns(live).Workflows() {
		if !w.Open() || w.Failed() {
			continue
		}
		for _, e := range w.Events {
			steps[e] = true
		}
	}
	return steps
}

// isCancelled reports whether an event says that somebody has cancelled its run.
func isCancelled(e *session.Event) bool {
	return e.Author == session.User && e.Interrupted && e.ErrorCode == session.Cancelled
}

// within reports whether a branch is another one or below it.
func within(branch, top string) bool {
	return top == "" || branch == top || strings.HasPrefix(branch, top+".")
}

// repeats reports whether an input says the same as one before, of which the log has an event: the input
// itself, or an event that names it. What says the same is content, command and actions, in whatever Go
// types. A plugin may have changed what is in the log: then every input with the ID does.
func (x *run) repeats(was, input *session.Event) bool {
	notes := plugin.NotesOf(was)
	switch {
	case was.ID != input.ID:
		return notes.Input.Digest == x.digest(input)
	case len(notes.Changed) > 0:
		return true
	}
	before, err := x.recordOf(was, was)
	if err != nil {
		return false
	}
	now, err := x.recordOf(input, was)
	return err == nil && now.Same(before.Data)
}

// recordOf returns, as the log would have it, an event with what an input says, and with the ID and the time
// of another event.
func (x *run) recordOf(input, of *session.Event) (*store.Record, error) {
	e := &session.Event{}
	if c, ok := input.Command(); ok {
		e = c.Event()
	}
	e.ID = of.ID
	e.Timestamp = of.Timestamp
	e.Content = input.Content
	e.Actions = input.Actions
	records, err := store.Records(x.key, []*session.Event{e})
	if err != nil {
		return nil, err
	}
	return records[0], nil
}

// digest returns the digest of an input in a note: of what it says, in whatever Go types. The digest of an
// input that cannot be stored is empty.
func (x *run) digest(input *session.Event) string {
	record, err := x.recordOf(input, &session.Event{ID: input.ID, Timestamp: time.Unix(0, 0).UTC()})
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

// cutShort reports whether an event is the beginning of an answer that never became whole (see keepShown).
// A live session's turn that the user has cut short is complete.
func cutShort(e *session.Event) bool { return e.Interrupted && !e.TurnComplete && e.ErrorCode == "" }

// isResponse reports whether an event has responses of calls, and the agent is to make something of them: not
// where they end a workflow's node.
func isResponse(e *session.Event) bool {
	ends := e.NodeInfo != nil && e.NodeInfo.Ended
	return !ends && e.Author != session.User && len(e.FunctionResponses()) > 0 && e.Text() == "" && e.ErrorCode == "" &&
		!e.Actions.SkipSummarization && !e.Actions.Escalate
}

// isAnswer reports whether an event is a step of an answer: an agent's event, or what a plugin says in its
// place. What a plugin notes or counts is no answer, nor is a response alone. The end of a workflow's node is
// one, with or without content.
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
