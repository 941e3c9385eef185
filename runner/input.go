package runner

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
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
	x.id, x.inputID = in.InvocationID, in.ID
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

// repeated deals with an input that the live view has already: a caller that did not get the answer asks
// again. What the invocation has is yielded, and the run ends; if it has only the input, it goes on.
func (x *run) repeated(input *session.Event) bool {
	live := x.view.Live()
	at := slices.IndexFunc(live, func(e *session.Event) bool { return e.ID == input.ID })
	if at < 0 {
		return false
	}
	was := live[at]
	if len(plugin.NotesOf(was).Changed) == 0 && !reflect.DeepEqual(was.Content, input.Content) {
		x.fail(context.Background(), &session.EventError{Key: x.key, ID: input.ID, Err: session.ErrIDReused})
		return true
	}
	x.id, x.input, x.now = was.InvocationID, was, nil
	x.deliver(was)
	answered := false
	for _, e := range live[at+1:] {
		if e.InvocationID == was.InvocationID {
			answered = true
			x.deliver(e)
		}
	}
	if answered && !x.ended {
		x.ended, x.end = true, plugin.End{Kind: plugin.EndDone, Reason: "the input was answered before"}
	}
	return true
}
