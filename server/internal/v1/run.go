package v1

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// runBody says what to run, and how.
type runBody struct {
	// ID names the input. The same input with the same ID is run once: who sends it again joins the run, or is
	// shown what became of it.
	ID string `json:"id"`
	// Invocation names the run; the ID does, if it is empty.
	Invocation string `json:"invocationId"`
	// Message is a text, Content more than that; one of them, or neither: then the agent goes on with what is
	// in the log.
	Message string         `json:"message"`
	Content *genai.Content `json:"content"`
	// Event is an input as the log has it, in place of message, content, stateDelta and customMetadata. Only its
	// ids, content, metadata, state and decisions count: its time, its branch, errors and what tells agents where to
	// go on are not the caller's to say.
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
			return nil, web.Bad("event is none: " + err.Error())
		case b.Message != "" || b.Content != nil || b.State != nil || b.Metadata != nil:
			return nil, web.Bad("event stands for message, content, stateDelta and customMetadata: leave them out")
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
func (x *routes) run(w http.ResponseWriter, r *http.Request) error {
	app, key, err := x.at(r)
	if err != nil {
		return err
	}
	var body runBody
	if err := x.Decode(w, r, &body); err != nil {
		return err
	}
	q, err := x.prepare(app, key, &body, wantsStream(r))
	if err != nil {
		return err
	}
	if err := checkResponses(r.Context(), app, key, q.Input); err != nil {
		return err
	}
	return x.answer(w, r, q)
}

// prepare returns the request for a run that a body asks for.
func (x *routes) prepare(app *web.App, key session.Key, body *runBody, stream bool) (runs.Request, error) {
	input, err := body.input()
	if err != nil {
		return runs.Request{}, err
	}
	q := x.request(app, key, input)
	q.Config.Create = input != nil && (body.Create == nil || *body.Create)
	if stream && (body.Streaming == nil || *body.Streaming) {
		q.Config.Streaming = session.SSE
	}
	switch q.Busy = body.OnBusy; q.Busy {
	case "", runs.Wait, runs.Reject, runs.Interrupt, runs.Rollback:
	default:
		return q, web.Bad("onBusy is wait, reject, interrupt or rollback")
	}
	switch body.OnDisconnect {
	case "", "continue":
	case "cancel":
		q.LeaveCancels = true
	default:
		return q, web.Bad("onDisconnect is continue or cancel")
	}
	return q, nil
}

// wantsStream reports whether a request wants server-sent events.
func wantsStream(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream") || r.Header.Get("Last-Event-ID") != ""
}

// answer runs a request, and answers with the run's events: as a stream, if one is wanted, or all at its end.
func (x *routes) answer(w http.ResponseWriter, r *http.Request, q runs.Request) error {
	after, err := web.After(r)
	if err != nil {
		return err
	}
	if after > 0 {
		s, err := q.Sessions.Get(r.Context(), q.Key)
		if err != nil {
			return err
		}
		if err := inside(s, after); err != nil {
			return err
		}
	}
	run, follower, err := x.Runs.Start(r.Context(), q, after)
	if err != nil {
		return err
	}
	defer follower.Close()
	if err := web.Wait(r.Context(), run); err != nil {
		return err
	}
	w.Header().Set("X-Invocation-ID", run.Invocation)
	if wantsStream(r) {
		return x.stream(w, r, run, follower)
	}
	select {
	case <-run.Done():
	case <-r.Context().Done():
		return web.ErrLeft
	}
	end := run.End()
	events := run.Events()
	if end.Err != nil && len(events) == 0 {
		return end.Err
	}
	return x.writeRun(w, r, run, events)
}

// stream answers with a run's events as they come, and a last one, "end", that says how it ended.
func (x *routes) stream(w http.ResponseWriter, r *http.Request, run *runs.Run, follower *runs.Follower) error {
	ctx, s, done, err := x.OpenStream(w, r)
	if err != nil {
		return err
	}
	defer done()
	send := func(e *session.Event) error {
		data, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		name := ""
		if e.Partial {
			name = "partial"
		}
		return s.Send(name, e.Seq, data)
	}
	if err := x.Pump(ctx, s, follower, send); err != nil {
		x.sendProblem(s, r, err)
		return nil
	}
	data, err := json.Marshal(x.endOf(r, run))
	if err == nil {
		_ = s.Send("end", 0, data) // whoever has left is not told
	}
	return nil
}

// sendProblem tells a client why its stream ends before the run does.
func (x *routes) sendProblem(s interface {
	Send(name string, id int64, data []byte) error
}, r *http.Request, err error) {
	if err == web.ErrLeft {
		return
	}
	if data, err := json.Marshal(x.Noted(r, err)); err == nil {
		_ = s.Send("error", 0, data)
	}
}

// endBody says how a run ended.
type endBody struct {
	Kind       runs.Kind    `json:"kind"`
	Invocation string       `json:"invocationId,omitzero"`
	Plugin     string       `json:"plugin,omitzero"`
	Reason     string       `json:"reason,omitzero"`
	Error      *web.Problem `json:"error,omitzero"`
	// Waiting are the calls that wait for an answer from outside.
	Waiting []web.Call `json:"waiting,omitzero"`
}

// endOf returns how a run that has ended did so.
func (x *routes) endOf(r *http.Request, run *runs.Run) endBody {
	q := run.Request()
	end := run.End()
	body := endBody{Kind: end.Kind, Invocation: run.Invocation, Plugin: end.Plugin, Reason: end.Reason}
	if end.Err != nil {
		body.Error = x.Noted(r, end.Err)
		return body
	}
	calls, known := run.Waiting()
	waiting := web.CallsOf(calls)
	if !known {
		waiting, _ = web.WaitingCalls(context.WithoutCancel(r.Context()), q.Sessions, q.Key) // what can be read
	}
	if len(waiting) > 0 {
		body.Waiting = waiting
		if body.Kind == runs.Done {
			body.Kind = runs.Waiting
		}
	}
	return body
}

// ended is how an invocation ended that did not run any more when it was cancelled: the log has what it said.
const ended runs.Kind = "ended"

// has reports whether the log has events of an invocation.
func has(ctx context.Context, sessions session.Reader, key session.Key, invocation string) (bool, error) {
	for e, err := range sessions.Read(ctx, key, session.Selection{}) {
		if err != nil || e.InvocationID == invocation {
			return err == nil, err
		}
	}
	return false, nil
}

// cancel ends an invocation, in whatever process it runs. Of one that has ended, and has left a workflow waiting, it
// ends the workflow's run. Without ?wait=1 it does not wait for the end.
func (x *routes) cancel(w http.ResponseWriter, r *http.Request) error {
	app, key, err := x.at(r)
	if err != nil {
		return err
	}
	s, err := app.Sessions.Get(r.Context(), key)
	if err != nil {
		return err
	}
	invocation := r.PathValue("invocation")
	wait, err := flag(r, "wait")
	if err != nil {
		return err
	}

	// Does it run, here or elsewhere? If not, has it ever?
	running := s.Holder == invocation || x.Runs.Find(app.Sessions, key, invocation) != nil
	if !running {
		waiting, err := waitingWorkflows(r.Context(), app, key, invocation)
		if err != nil {
			return err
		}
		if len(waiting) > 0 {
			return x.abandon(w, r, app, key, invocation, waiting, wait)
		}
		known, err := has(r.Context(), app.Sessions, key, invocation)
		if err != nil {
			return err
		}
		if !known {
			return &web.Problem{Status: http.StatusNotFound, Code: "not_found", Message: "no such invocation runs, and the session has none of it"}
		}
	}
	if !wait {
		if running {
			x.Runs.CancelLater(app.Sessions, key, invocation)
		}
		web.WriteJSON(w, http.StatusAccepted, map[string]string{"invocationId": invocation})
		return nil
	}
	run, err := x.Runs.Cancel(r.Context(), app.Sessions, key, invocation)
	if err != nil {
		return err
	}
	body := endBody{Kind: runs.Cancelled, Invocation: invocation}
	switch {
	case run != nil:
		body = x.endOf(r, run)
	case !running:
		body.Kind = ended
	}
	web.WriteJSON(w, http.StatusOK, map[string]any{"end": body})
	return nil
}

// waitingWorkflows returns the paths of the workflows' runs that an invocation has begun or gone on with, and that wait
// for an answer from outside.
func waitingWorkflows(ctx context.Context, app *web.App, key session.Key, invocation string) (paths []string, err error) {
	live, err := web.Live(ctx, app.Sessions, key)
	if err != nil {
		return nil, err
	}
	asking := map[*session.Event]bool{}
	for _, c := range session.Calls(live) {
		asking[c.Event] = asking[c.Event] || c.Waits()
	}
	for _, run := range session.NewWorkflowRuns(live).Workflows() {
		part := slices.ContainsFunc(run.Events, func(e *session.Event) bool { return e.InvocationID == invocation })
		if part && run.Open() && slices.ContainsFunc(run.Events, func(e *session.Event) bool { return asking[e] }) {
			paths = append(paths, run.Path)
		}
	}
	return paths, nil
}

// abandon ends the runs of workflows, which wait, by an event each. The answer is that of cancel.
func (x *routes) abandon(w http.ResponseWriter, r *http.Request, app *web.App, key session.Key, invocation string, paths []string, wait bool) error {
	for _, path := range paths {
		if name, _, _ := strings.Cut(path, "@"); name != app.Agent.Name() {
			return &web.Problem{Status: http.StatusConflict, Code: "not_possible",
				Message: "a workflow waits that is not the app's agent, and only the app's agent ends its run; rewind the session to before it"}
		}
		run, follower, err := x.Runs.Start(r.Context(), x.request(app, key, workflow.Abandon(path)), 0)
		if err != nil {
			return err
		}
		follower.Close()
		if !wait {
			continue
		}
		select {
		case <-run.Done():
		case <-r.Context().Done():
			return web.ErrLeft
		}
		switch end := run.End(); {
		case end.Err != nil:
			return end.Err
		case end.Kind != runs.Done:
			return &web.Problem{Status: http.StatusForbidden, Code: "denied", Message: cmp.Or(end.Reason, "a plugin has refused it")}
		}
	}
	if !wait {
		web.WriteJSON(w, http.StatusAccepted, map[string]string{"invocationId": invocation})
		return nil
	}
	web.WriteJSON(w, http.StatusOK, map[string]any{"end": endBody{Kind: runs.Cancelled, Invocation: invocation}})
	return nil
}
