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

// prepare checks the input and makes it the run's own.
func (x *run) prepare() error {
	if err := x.key.Check(false); err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	if x.input == nil {
		x.id = session.NewID()
		return nil
	}
	in := *x.input.Clone()
	bad := func(what string) error { return fmt.Errorf("runner: input: %w: %s", session.ErrInvalid, what) }
	switch {
	case in.Author != "" && in.Author != session.User:
		return bad(fmt.Sprintf("its author is %q; only %q is possible", in.Author, session.User))
	case in.Marker():
		return bad("only plugins may emit a compaction or a rewind; send a command to the plugin that does")
	case in.Partial:
		return bad("it is partial")
	case !x.opt.Restore && empty(&in):
		return bad("it is empty: it needs content, a command, metadata or actions; a nil input goes on with what is in the log")
	}
	in.Author, in.Seq = session.User, 0
	if in.ID == "" {
		in.ID = session.NewID()
	}
	if in.InvocationID == "" {
		in.InvocationID = in.ID
	}
	if in.Timestamp.IsZero() {
		in.Timestamp = time.Now().UTC()
	}
	x.input = &in
	if !x.opt.Restore {
		x.input = plugin.Notes{}.With(&in) // nobody notes what plugins did but the runner
	}
	if err := x.checkOwners(x.input); err != nil {
		return fmt.Errorf("runner: input: %w", err)
	}
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

// undecided returns an error if an input says nothing but yes or no, to calls of which none waits for that. Nobody would
// know what to go on with.
func (x *run) undecided(input *session.Event) error {
	rest := input.Actions
	rest.RequestedToolConfirmations = nil
	_, command := input.Command()
	if x.opt.Restore || command || input.Content != nil || len(input.Actions.RequestedToolConfirmations) == 0 || !reflect.ValueOf(rest).IsZero() {
		return nil
	}
	var waiting []string
	for _, c := range session.Calls(x.view.Live()) {
		if c.Response != nil || c.Held == nil || c.Decision != nil {
			continue
		}
		if _, ok := input.Actions.RequestedToolConfirmations[c.ID]; ok {
			return nil
		}
		waiting = append(waiting, fmt.Sprintf("%q (%s)", c.ID, c.Name))
	}
	what := "no call does"
	if len(waiting) > 0 {
		what = "those that do: " + strings.Join(waiting, ", ")
	}
	asked := slices.Sorted(maps.Keys(input.Actions.RequestedToolConfirmations))
	return fmt.Errorf("runner: input: it approves or declines %q: %w; %s", asked, ErrDecision, what)
}

// repeated deals with an input that the live view has already: a caller that did not get the answer asks
// again. What the invocation has is yielded, and the run ends; if it has only the input, it goes on.
func (x *run) repeated(input *session.Event) bool {
	live := x.view.Live()
	at := slices.IndexFunc(live, func(e *session.Event) bool { return e.ID == input.ID })
	if at < 0 {
		return false
	}
	was := live[at]
	if len(plugin.NotesOf(was).Changed) == 0 && !x.same(was, input) {
		x.fail(context.Background(), &session.EventError{Key: x.key, ID: input.ID, Err: session.ErrIDReused})
		return true
	}
	x.id, x.input, x.now = was.InvocationID, was, nil
	x.deliver(was)
	cut := map[*session.Event]bool{} // what has a call that nobody answered
	for _, c := range session.Calls(live) {
		cut[c.Event] = cut[c.Event] || c.Response == nil && !c.Waits()
	}
	_, command := was.Command()
	stopped := plugin.NotesOf(was).Stopped != ""
	answered, open := false, map[string]bool{} // by branch, what has a call that nobody answered, and nobody refused
	for _, e := range live[at+1:] {
		if e.InvocationID != was.InvocationID {
			continue
		}
		switch {
		case cut[e]:
			open[e.Branch] = true
		case answers(e), command && was.Content == nil:
			answered = true
			delete(open, e.Branch)
		}
		stopped = stopped || plugin.NotesOf(e).Stopped != ""
		x.deliver(e)
	}
	if (stopped || answered && len(open) == 0) && !x.ended {
		x.ended, x.end = true, plugin.End{Kind: plugin.EndDone, Reason: "the input was answered before"}
	}
	return true
}

// same reports whether an input says what the one in the log does, in whatever Go types: content, command and actions.
func (x *run) same(was, input *session.Event) bool {
	var list [2]*store.Record
	for i, e := range []*session.Event{was, input} {
		said := &session.Event{}
		if c, ok := e.Command(); ok {
			said = c.Event()
		}
		said.ID, said.Timestamp, said.Content, said.Actions = was.ID, was.Timestamp, e.Content, e.Actions
		records, err := store.Records(x.key, []*session.Event{said})
		if err != nil {
			return false
		}
		list[i] = records[0]
	}
	return list[1].Same(list[0].Data)
}

// answers reports whether an event is a step of an answer: an agent's, or what a plugin says in its place. What a plugin
// notes or counts is none, nor is a response alone.
func answers(e *session.Event) bool {
	switch {
	case e.ErrorCode != "":
		return true
	case e.Author == session.User || len(e.FunctionResponses()) > 0 && e.Text() == "":
		return false
	case strings.HasPrefix(e.Author, session.PluginPrefix):
		return e.Content != nil && e.Content.Role == genai.RoleModel
	}
	return true
}
