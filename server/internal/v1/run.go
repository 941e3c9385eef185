package v1

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/sse"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

var runHandlers = handlers{
	"run":    with((*routes).run),
	"cancel": (*routes).cancel,
}

// runBody says what to run, and how.
type runBody struct {
	// ID names the input. The same input with the same ID is run once: who sends it again joins the run, or
	// is shown what became of it.
	ID string `json:"id"`
	// Invocation names the run; the ID does, if it is empty.
	Invocation string `json:"invocationId"`
	// Message is a text, Content more than that; one of them, or neither: then the agent goes on with what is
	// in the log.
	Message string         `json:"message"`
	Content *genai.Content `json:"content"`
	// Event is an input as the log has it, in place of message, content, stateDelta and customMetadata. Only
	// its ids, content, metadata, state and decisions count: its time, its branch, errors and what tells
	// agents where to go on are not the caller's to say.
	Event jsontext.Value `json:"event"`
	// State sets keys of the session's state, with the input.
	State    map[string]any `json:"stateDelta"`
	Metadata map[string]any `json:"customMetadata"`
	// Create makes the session if it is not there; true, unless it is false.
	Create *bool `json:"create"`
	// Partial events are wanted: text as it comes; true where the answer is a stream, unless it is false.
	Streaming *bool `json:"streaming"`
	// OnBusy says what happens on a session that is busy.
	OnBusy runs.Busy `json:"onBusy"`
	// OnDisconnect is "continue", the default, or "cancel": the run ends when nobody reads it any more.
	OnDisconnect string `json:"onDisconnect"`
}

// input returns the input of a run, nil if there is none.
func (b *runBody) input() (*session.Event, error) {
	if b.Message != "" && b.Content != nil {
		return nil, web.Bad("message and content are both there: send one of them")
	}
	if b.Event != nil {
		e, err := session.DecodeEvent(b.Event)
		switch {
		case err != nil:
			return nil, web.Bad("event is not an event of a session's log: " + err.Error())
		case b.Message != "" || b.Content != nil || b.State != nil || b.Metadata != nil:
			return nil, web.Bad("event stands for message, content, stateDelta and customMetadata: " +
				"leave them out")
		}
		return &session.Event{
			ID:             cmp.Or(b.ID, e.ID),
			InvocationID:   cmp.Or(b.Invocation, e.InvocationID),
			Author:         e.Author,
			Partial:        e.Partial,
			Content:        e.Content,
			CustomMetadata: e.CustomMetadata,
			Actions: session.Actions{
				StateDelta:                 e.Actions.StateDelta,
				StateIncrement:             e.Actions.StateIncrement,
				StateBound:                 e.Actions.StateBound,
				RequestedToolConfirmations: e.Actions.RequestedToolConfirmations,
				Compaction:                 e.Actions.Compaction, // the runner refuses both
				Rewind:                     e.Actions.Rewind,
			},
		}, nil
	}
	e := &session.Event{ID: b.ID, InvocationID: b.Invocation, Author: session.User}
	switch {
	case b.Message != "":
		e.Content = session.Message(b.Message).Content
	case b.Content != nil:
		e.Content = b.Content
	}
	e.Actions.StateDelta = b.State
	e.CustomMetadata = b.Metadata
	if e.Content == nil && len(b.State) == 0 && len(b.Metadata) == 0 {
		if b.ID != "" || b.Invocation != "" {
			return nil, web.Bad("an input without content cannot have an id")
		}
		return nil, nil
	}
	return e, nil
}

// run runs an input, or goes on with the session without one.
func (x *routes) run(w http.ResponseWriter, r *request, body *runBody) (any, error) {
	input, err := body.input()
	if err != nil {
		return nil, err
	}
	q, err := body.request(r, input)
	if err != nil {
		return nil, err
	}
	return x.answer(w, r, q)
}

// request returns the request to run an input in the way that the body says.
func (b *runBody) request(r *request, input *session.Event) (runs.Request, error) {
	q := sessions.Request(r.app, r.key, input)
	q.Config.Create = input != nil && (b.Create == nil || *b.Create)
	if wantsStream(r) && (b.Streaming == nil || *b.Streaming) {
		q.Config.Streaming = session.SSE
	}
	switch q.Busy = b.OnBusy; q.Busy {
	case "", runs.Wait, runs.Reject, runs.Interrupt, runs.Rollback:
	default:
		return q, web.Bad("onBusy is wait, reject, interrupt or rollback")
	}
	switch b.OnDisconnect {
	case "", "continue":
	case "cancel":
		q.LeaveCancels = true
	default:
		return q, web.Bad("onDisconnect is continue or cancel")
	}
	return q, nil
}

// wantsStream reports whether a request wants server-sent events.
func wantsStream(r *request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream") ||
		r.Header.Get("Last-Event-ID") != ""
}

// answer runs a request, and answers with the run's events: as a stream, if one is wanted, or all at its end.
func (x *routes) answer(w http.ResponseWriter, r *request, q runs.Request) (any, error) {
	after := r.after()
	if after > 0 {
		if err := inside(r); err != nil {
			return nil, err
		}
	}
	run, follower, err := x.Runs.Start(r.Context(), q, after)
	if err != nil {
		return nil, err
	}
	defer follower.Close()
	if err := web.WaitForBegin(r.Context(), run); err != nil {
		return nil, err
	}
	w.Header().Set("X-Invocation-ID", run.Invocation)
	if wantsStream(r) {
		return nil, x.Stream(w, r.Request, func(_ context.Context, out *sse.Stream) web.Frames {
			frames := x.frames(r, out, follower)
			frames.End = func() error {
				data, err := json.Marshal(x.endOf(r, run))
				if err == nil {
					_ = out.Send("end", 0, data) // whoever has left is not told
				}
				return nil
			}
			return frames
		})
	}
	if err := web.WaitForEnd(r.Context(), run); err != nil {
		return nil, err
	}
	if end := run.End(); end.Err != nil && (end.Kind == runs.CutOff || len(run.Events()) == 0) {
		return nil, end.Err
	}
	return nil, x.eventsOf(w, r, run)
}

// eventsOf answers with the events of a run that has ended, and how it ended.
func (x *routes) eventsOf(w http.ResponseWriter, r *request, run *runs.Run) error {
	list := func(yield func(jsontext.Value, error) bool) {
		for _, e := range run.Events() {
			data, err := e.MarshalJSON()
			if !yield(data, err) {
				return
			}
		}
	}
	return x.WriteList(w, r.Request, "events", list, func() map[string]any { return map[string]any{"end": x.endOf(r, run)} })
}

// endBody says how a run ended.
type endBody struct {
	Kind       runs.Kind    `json:"kind"`
	Invocation string       `json:"invocationId,omitzero"`
	Plugin     string       `json:"plugin,omitzero"`
	Reason     string       `json:"reason,omitzero"`
	Error      *web.Problem `json:"error,omitzero"`
	// Waiting are the calls that wait for an answer from outside.
	Waiting []sessions.WaitingCall `json:"waiting,omitzero"`
}

// endOf returns how a run that has ended did so.
func (x *routes) endOf(r *request, run *runs.Run) endBody {
	end := run.End()
	body := endBody{Kind: end.Kind, Invocation: run.Invocation, Plugin: end.Plugin, Reason: end.Reason}
	if end.Err != nil {
		body.Error = x.Noted(r.Request, end.Err)
		return body
	}
	waiting, _ := x.WaitingAfter(context.WithoutCancel(r.Context()), r.app, run) // what can be read
	if len(waiting) > 0 {
		body.Waiting = waiting
		if body.Kind == runs.Done {
			body.Kind = runs.Waiting
		}
	}
	return body
}

// cancel ends an invocation, in whatever process it runs. Without ?wait=1 it does not wait for the end.
func (x *routes) cancel(w http.ResponseWriter, r *request) (any, error) {
	invocation := r.PathValue("invocation")
	wait := r.flag("wait")
	kind, run, err := x.Cancel(r.Context(), r.app, r.key, invocation, wait)
	switch {
	case err != nil:
		return nil, err
	case !wait:
		web.WriteJSON(w, http.StatusAccepted, map[string]string{"invocationId": invocation})
		return nil, nil
	}
	body := endBody{Kind: kind, Invocation: invocation}
	if run != nil {
		body = x.endOf(r, run)
	}
	return map[string]any{"end": body}, nil
}
