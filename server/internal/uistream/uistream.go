// Package uistream serves the UI message stream of Vercel's AI SDK
// (https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol), version 1: what useChat and DefaultChatTransport of
// its version 6 send and read. Package v1 has the routes.
//
// A chat is a session, and the session's log is what counts. Of the messages that a client sends, the last
// one counts, if it is the user's, and the answers in all of them to calls that wait. A message of the
// assistant is all that comes between two messages of the user, in however many runs.
//
// A new chunk of the protocol: where stream.event tells of an event, and in message.add. A new key of
// requests: a field of request, read in request.input.
package uistream

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/sse"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// Routes answer requests.
type Routes struct{ sessions.Service }

// Run runs what is new in a chat, and answers with a stream of what comes of it. The user is the one that the
// request names, if it names one.
func (x Routes) Run(w http.ResponseWriter, r *http.Request, app *apps.App, user string) error {
	data, err := web.JSON(w, r, x.Limits.Upload) // the whole chat comes each time, and may hold files
	if err != nil {
		return err
	}
	var in request
	if err := web.Unmarshal(data, &in); err != nil {
		return err
	}
	key, err := x.Key(r, app, user, in.ID, false)
	if err != nil {
		return err
	}
	live, err := x.live(r.Context(), app, key)
	if err != nil {
		return err
	}
	input, err := in.input(sessions.Mine(r.Context(), key, sessions.WaitingIn(live)))
	if err != nil {
		return err
	}
	if edited := in.edited(); edited || in.regenerates() {
		if live, err = x.takeBack(r.Context(), app, key, live, input, edited); err != nil {
			return err
		}
	}

	// Run it.
	q := sessions.Request(app, key, input)
	q.Config = session.RunConfig{Create: true, Streaming: session.SSE}
	q.Busy = in.Busy
	q.LeaveCancels = in.OnDisconnect == "cancel"
	run, follower, err := x.Runs.Start(r.Context(), q, 0)
	if err != nil {
		return err
	}
	defer follower.Close()
	if err := web.WaitForBegin(r.Context(), run); err != nil {
		return err
	}
	st := &stream{Routes: x, r: r, app: app, key: key, run: run, invocation: run.Invocation, shown: in.calls()}
	if in.last().Role == session.User {
		st.message = answerTo(input.ID)
	}
	for _, e := range live {
		if e.InvocationID != run.Invocation {
			st.calls.Add(e)
		}
	}
	return st.answer(w, follower)
}

// live returns the live view; nothing if there is no session.
func (x Routes) live(ctx context.Context, app *apps.App, key session.Key) ([]*session.Event, error) {
	live, err := x.Live(ctx, app, key)
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil
	}
	return live, err
}

// takeBack takes back what has become of a message of the user's that the client sends again for another
// answer, or has edited, and what came after it; the input gets an id of its own. What has no answer yet, still
// runs, or was cut off, is gone on with; a run of what was edited is cancelled. It returns the live view as it
// is then.
func (x Routes) takeBack(
	ctx context.Context, app *apps.App, key session.Key, live []*session.Event, input *session.Event, edited bool,
) ([]*session.Event, error) {
	i := slices.IndexFunc(live, func(e *session.Event) bool { return isMessage(e) && messageID(e.ID) == input.ID })
	if i < 0 { // it did not get into the log
		if edited {
			input.ID += againMark + session.NewID()
			input.InvocationID = input.ID
		}
		return live, nil
	}
	stored, err := app.Sessions().Get(ctx, key)
	if err != nil {
		return nil, err
	}
	invocation := live[i].InvocationID
	answered := slices.ContainsFunc(live, func(e *session.Event) bool {
		return e.InvocationID == invocation && e.Author != session.User
	})
	if !edited && (!answered || stored.Holder == invocation || stored.CutOff == invocation) {
		input.ID = live[i].ID
		input.InvocationID = invocation
		return live, nil
	}
	if stored.Holder == invocation {
		if _, _, err := x.Cancel(ctx, app, key, invocation, true); err != nil {
			return nil, err
		}
	}
	args := map[string]any{"before": invocation}
	if _, err := x.Command(ctx, app, key, plugin.Rewind, args, ""); err != nil {
		return nil, err
	}
	input.ID += againMark + session.NewID()
	input.InvocationID = input.ID
	return x.live(ctx, app, key)
}

// Resume answers with a stream of the message of the assistant that is being made, from its beginning; with
// status 204 if nothing runs.
func (x Routes) Resume(w http.ResponseWriter, r *http.Request, app *apps.App, key session.Key) error {
	// Which run is it?
	st := &stream{Routes: x, r: r, app: app, key: key}
	if run := x.Runs.Find(key, ""); run != nil && !run.HasEnded() {
		st.run = run
	}
	stored, err := app.Sessions().Get(r.Context(), key)
	switch {
	case err != nil && !errors.Is(err, session.ErrNotFound):
		return err
	case st.run != nil:
		st.invocation = st.run.Invocation
	case err != nil || stored.Holder == "":
		w.WriteHeader(http.StatusNoContent)
		return nil
	default:
		st.invocation = stored.Holder
	}

	// Its message begins behind the user's last one, maybe with what other runs have added.
	live, err := x.live(r.Context(), app, key)
	if err != nil {
		return err
	}
	begin := 0
	for i, e := range live {
		if isMessage(e) {
			begin = i + 1
			st.message = answerTo(e.ID)
		}
	}
	if st.run != nil {
		if input := st.run.Request().Input; input != nil && isMessage(input) {
			st.message = answerTo(input.ID)
			begin = len(live)
		}
	}
	after := int64(0)
	for i, e := range live {
		switch {
		case e.InvocationID == st.invocation:
		case i < begin:
			st.calls.Add(e)
			after = e.Seq
		default:
			st.before = append(st.before, e)
			after = e.Seq
		}
	}
	st.message = cmp.Or(st.message, st.invocation)

	// Follow it.
	var from runs.Follower
	if st.run != nil {
		from = st.run.Follow(0)
	} else {
		from, err = x.Runs.FollowInvocation(r.Context(), app.Sessions(), key, st.invocation, after)
		if err != nil {
			return err
		}
	}
	defer from.Close()
	return st.answer(w, from)
}

// answer sends the stream.
func (st *stream) answer(w http.ResponseWriter, from runs.Follower) error {
	w.Header().Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	return st.Stream(w, st.r, func(ctx context.Context, out *sse.Stream) web.Frames {
		st.ctx = ctx
		st.out = out
		return web.Frames{From: from, Begin: st.begin, Event: st.event, End: st.end, Broken: st.broken}
	})
}

// Messages returns the messages of a chat, as useChat takes them to begin with.
func (x Routes) Messages(r *http.Request, app *apps.App, key session.Key) ([]any, error) {
	live, err := x.Live(r.Context(), app, key)
	if err != nil {
		return nil, err
	}
	list := []any{}
	c := &collector{tools: map[any]frame{}}
	st := &stream{Routes: x, r: r, app: app, key: key, ctx: r.Context(), collect: c}
	done := func() {
		st.closeStep()
		if len(c.parts) > 0 {
			list = append(list, frame{"id": c.id, "role": "assistant", "parts": c.parts})
		}
	}
	for _, e := range live {
		if isMessage(e) {
			done()
			list = append(list, frame{"id": messageID(e.ID), "role": "user", "parts": partsOf(e)})
			c.id = answerTo(e.ID)
			c.parts = nil
		}
		c.id = cmp.Or(c.id, e.ID)
		st.tell(e)
	}
	st.ask(sessions.WaitingIn(live))
	done()
	return list, nil
}
