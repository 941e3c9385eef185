package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// settle tells the observers what they saw, and delivers a batch that is in the log. If it is not, the
// invocation fails.
func (x *run) settle(ctx context.Context, b *batch, err error) error {
	for _, o := range b.observed {
		x.observers.add(&x.tasks, o)
	}
	if err != nil {
		x.unlogged = nil // the input is judged again when it is sent again
		x.fail(ctx, err)
		return err
	}
	if b.original != nil {
		x.forgetShown(b.original)
	}
	for _, e := range b.events {
		if !e.Partial || x.partials {
			x.deliver(e)
		}
	}
	return nil
}

// deliver yields an event to the caller, if there is one.
func (x *run) deliver(e *session.Event) {
	if x.left || x.inLoopBody || x.yield == nil {
		return
	}
	x.noteShown(e)
	x.inLoopBody = true // a panic in there comes out of yield, and leaves it so
	goesOn := x.yield(e, nil)
	x.inLoopBody = false
	if goesOn {
		return
	}
	x.left = true
	if !x.ended {
		x.ended = true
		x.end = plugin.End{Kind: plugin.EndLeft}
	}
}

// A shownText is the text of an event that is still being made, as far as the caller was shown it in
// partial events: what the plugins let pass.
type shownText struct {
	id, author, branch string // of the event
	text               strings.Builder
}

// noteShown takes in an event that the caller is shown.
func (x *run) noteShown(e *session.Event) {
	text := e.Text()
	if !e.Partial || text == "" || !e.FromAgent() {
		return
	}
	i := slices.IndexFunc(x.shown, func(s *shownText) bool { return s.id == e.ID })
	if i < 0 {
		i = len(x.shown)
		x.shown = append(x.shown, &shownText{id: e.ID, author: e.Author, branch: e.Branch})
	}
	x.shown[i].text.WriteString(text)
}

// forgetShown forgets what was shown of an event, which is whole now.
func (x *run) forgetShown(e *session.Event) {
	if e.Partial || len(x.shown) == 0 {
		return
	}
	x.shown = slices.DeleteFunc(x.shown, func(s *shownText) bool {
		return s.id == e.ID || s.author == e.Author && s.branch == e.Branch
	})
}

// brokeOff reports whether the invocation ended before its agent had: the caller was gone, the runner was
// closed, or the agent failed. It is not so if a plugin has stopped the run, or has failed: then no further
// event may be offered. Nor if the store has failed, which could not append one.
func (x *run) brokeOff() bool {
	var failed *AgentError
	return x.end.Kind == plugin.EndCancelled || x.end.Kind == plugin.EndLeft ||
		x.end.Kind == plugin.EndFailed && (errors.As(x.end.Err, &failed) || errors.Is(x.end.Err, session.ErrClosed))
}

// afterTheEnd returns a context to append with after the end of the run, whose own context is done. It reads
// the session again if it is not known whether the last append has failed.
func (x *run) afterTheEnd(ctx context.Context) (context.Context, context.CancelFunc, error) {
	limit := x.opt.AfterRunTimeout
	if x.tasks.ctx.Err() != nil {
		limit = time.Second / 2 // Close gives one second more
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	if !x.stale {
		return ctx, cancel, nil
	}
	return ctx, cancel, x.load(ctx)
}

// noteCancelled puts an event into the log which says that somebody has cancelled the run. If the input is
// sent again, the run does not go on. It does go on after a run whose caller has left, or whose server was
// shut down.
func (x *run) noteCancelled(ctx context.Context) error {
	if x.outside != nil || x.inputID == "" || x.repeated || x.end.Kind != plugin.EndCancelled || !errors.Is(x.end.Err, session.ErrCancelled) {
		return nil
	}
	ctx, cancel, err := x.afterTheEnd(ctx)
	defer cancel()
	if err != nil {
		return err
	}
	if x.input == nil {
		x.unlogged = x.given
	}
	_, err = x.put(ctx, newPending(&session.Event{
		ID:           session.NewID(),
		InvocationID: x.id,
		Author:       session.User,
		Timestamp:    x.opt.Now().UTC(),
		Interrupted:  true,
		ErrorCode:    session.Cancelled,
		ErrorMessage: "the run was cancelled",
	}), 0)
	return err
}

// keepShown puts what the caller was shown of events that never became whole into the log, marked as
// interrupted, so that the caller can go on from there. Such an event takes the one path: plugins judge it
// as they do any other. Nothing is kept that was not shown.
func (x *run) keepShown(ctx context.Context) error {
	if len(x.shown) == 0 || !x.brokeOff() {
		return nil
	}
	ctx, cancel, err := x.afterTheEnd(ctx)
	defer cancel()
	if err != nil {
		return err
	}
	for _, e := range x.view.Live() {
		x.forgetShown(&session.Event{ID: e.ID})
	}

	var errs []error
	shown := x.shown
	x.shown = nil
	for _, s := range shown {
		if strings.TrimSpace(s.text.String()) == "" {
			continue
		}
		e := session.Reply(s.text.String())
		e.ID = s.id
		e.InvocationID = x.id
		e.Author = s.author
		e.Branch = s.branch
		e.Timestamp = x.opt.Now().UTC()
		e.Interrupted = true
		if _, err := x.put(ctx, newPending(e), 0); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
