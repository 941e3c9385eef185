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

// A shownText is the text of an event that is still being made, as far as the caller was shown it in
// partial events: what the plugins let pass.
type shownText struct {
	id, author, branch string // of the event
	text               strings.Builder
}

// noteShown takes in an event that the caller is shown.
func (x *run) noteShown(e *session.Event) {
	text := e.Text()
	ofAgent := e.Author != session.User && !strings.HasPrefix(e.Author, session.PluginPrefix)
	if !e.Partial || text == "" || !ofAgent {
		return
	}
	at := slices.IndexFunc(x.shown, func(s *shownText) bool { return s.id == e.ID })
	if at < 0 {
		at = len(x.shown)
		x.shown = append(x.shown, &shownText{id: e.ID, author: e.Author, branch: e.Branch})
	}
	x.shown[at].text.WriteString(text)
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
// closed, or the agent failed. If a plugin has stopped the run or has failed, its word counts, and
// nothing more is offered; a store that has failed could not take it.
func (x *run) brokeOff() bool {
	var failed *AgentError
	return x.end.Kind == plugin.EndCancelled || x.end.Kind == plugin.EndLeft ||
		x.end.Kind == plugin.EndFailed && (errors.As(x.end.Err, &failed) || errors.Is(x.end.Err, session.ErrClosed))
}

// keepShown puts what the caller was shown of events that never became whole into the log, marked as
// interrupted, so that the caller can go on from there. Such an event takes the one path: plugins judge it
// as they do any other. Nothing is kept that was not shown.
func (x *run) keepShown(ctx context.Context) error {
	if len(x.shown) == 0 || !x.brokeOff() {
		return nil
	}

	// The context of the run is done, so this has a time of its own. Close gives one second more.
	limit := x.opt.AfterRunTimeout
	if x.tasks.ctx.Err() != nil {
		limit = time.Second / 2
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()

	// Whether the append of a whole event has failed or not is known once the session was read again.
	if x.stale {
		if err := x.load(ctx); err != nil {
			return err
		}
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
		e.Timestamp = time.Now().UTC()
		e.Interrupted = true
		if _, err := x.put(ctx, newPending(e), 0); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
