package v1

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// rewindBody says how far to go back: one of To, Before and Turns.
type rewindBody struct {
	ID     string `json:"id"` // of the command: with the same one, it is carried out once
	To     *int64 `json:"to"`
	Before string `json:"before"`
	Turns  int    `json:"turns"`
	DryRun bool   `json:"dryRun"`
}

// rewind takes back the end of a session, or says what that would do.
func (x *routes) rewind(w http.ResponseWriter, r *http.Request) error {
	var body rewindBody
	if err := x.Decode(w, r, &body); err != nil {
		return err
	}
	var c session.Command
	said := 0
	if body.To != nil {
		said++
		c = rewind.To(*body.To)
	}
	if body.Before != "" {
		said++
		c = rewind.Before(body.Before)
	}
	if body.Turns > 0 {
		said++
		c = rewind.Turns(body.Turns)
	}
	if said != 1 {
		return web.Bad("how far back? Send one of to (a position), before (an invocation) and turns (a number above 0)")
	}
	return x.back(w, r, c, body.ID, body.DryRun)
}

// undo takes back the last rewind.
func (x *routes) undo(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		ID     string `json:"id"`
		DryRun bool   `json:"dryRun"`
	}
	if err := x.Decode(w, r, &body); err != nil {
		return err
	}
	return x.back(w, r, rewind.Undo(), body.ID, body.DryRun)
}

// back carries out a rewind.
func (x *routes) back(w http.ResponseWriter, r *http.Request, c session.Command, id string, dryRun bool) error {
	app, key, err := x.at(r)
	if err != nil {
		return err
	}
	if !dryRun {
		return x.command(w, r, app, key, c, id)
	}
	s, err := app.Sessions.Get(r.Context(), key)
	if err != nil {
		return err
	}
	var log []*session.Event
	for e, err := range app.Sessions.Read(r.Context(), key, session.Selection{}) {
		if err != nil {
			return err
		}
		log = append(log, e)
	}
	plan, err := rewind.DryRun(s.Initial, log, c)
	if err != nil {
		return &web.Problem{Status: http.StatusConflict, Code: "not_possible", Message: err.Error()}
	}
	web.WriteJSON(w, http.StatusOK, map[string]any{"plan": plan})
	return nil
}

// command sends a command to the app's plugins, and answers with the events that came of it.
func (x *routes) command(w http.ResponseWriter, r *http.Request, app *web.App, key session.Key, c session.Command, id string) error {
	if _, err := app.Sessions.Get(r.Context(), key); err != nil {
		return err
	}
	e := c.Event()
	e.ID = id
	q := x.request(app, key, e)
	run, follower, err := x.Runs.Start(r.Context(), q, 0)
	if err != nil {
		return err
	}
	defer follower.Close()
	select {
	case <-run.Done():
	case <-r.Context().Done():
		return web.ErrLeft
	}
	end := run.End()
	if end.Err != nil {
		return end.Err
	}
	events := run.Events()
	for _, e := range events {
		if e.ErrorCode == rewind.Invalid {
			return &web.Problem{Status: http.StatusConflict, Code: "not_possible", Message: e.ErrorMessage}
		}
		if e.ErrorCode == session.Denied {
			return &web.Problem{Status: http.StatusForbidden, Code: "denied", Message: e.ErrorMessage}
		}
	}
	return x.writeRun(w, r, run, events)
}

// writeRun answers with the events of a run that has ended, and how it ended.
func (x *routes) writeRun(w http.ResponseWriter, r *http.Request, run *runs.Run, events []*session.Event) error {
	list := make([]jsontext.Value, 0, len(events))
	for _, e := range events {
		data, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		list = append(list, data)
	}
	web.WriteJSON(w, http.StatusOK, map[string]any{"events": list, "end": x.endOf(r, run)})
	return nil
}

// planBody is what a dry run of a compaction says.
type planBody struct {
	Trigger  string             `json:"trigger,omitzero"`
	Declined string             `json:"declined,omitzero"`
	Why      string             `json:"why,omitzero"`
	Through  int64              `json:"through,omitzero"`
	Covers   []int64            `json:"covers,omitzero"`
	Stays    map[string][]int64 `json:"stays,omitzero"`
	Before   int                `json:"before"`
	Kept     int                `json:"kept"`
	Summary  int                `json:"summary"`
	Text     string             `json:"text,omitzero"` // of the summary, as it would be without a model
}

// compact makes a summary stand in for the older part of a session, or says what that would do.
func (x *routes) compact(w http.ResponseWriter, r *http.Request) error {
	app, key, err := x.at(r)
	if err != nil {
		return err
	}
	var body struct {
		ID           string `json:"id"`
		Instructions string `json:"instructions"`
		DryRun       bool   `json:"dryRun"`
	}
	if err := x.Decode(w, r, &body); err != nil {
		return err
	}
	if !body.DryRun {
		return x.command(w, r, app, key, compaction.Now(body.Instructions), body.ID)
	}
	if app.Compaction == nil {
		return &web.Problem{Status: http.StatusNotImplemented, Code: "no_plugin", Message: "the app has no compaction"}
	}
	inv, err := session.Snapshot(r.Context(), app.Sessions, key)
	if err != nil {
		return err
	}
	plan, err := compaction.Preview(r.Context(), *app.Compaction, inv, body.Instructions)
	if err != nil {
		return err
	}
	said := planBody{
		Trigger:  plan.Trigger,
		Declined: plan.Declined,
		Why:      plan.Why,
		Before:   plan.Before,
		Kept:     plan.Kept,
		Summary:  plan.Summary,
		Text:     plan.Draft.After,
		Stays:    plan.Positions(func(f compaction.Fate) string { return f.Stays }),
	}
	if plan.Declined == "" {
		said.Through = plan.Through
	}
	for _, e := range plan.Covered {
		said.Covers = append(said.Covers, e.Seq)
	}
	web.WriteJSON(w, http.StatusOK, map[string]any{"plan": said})
	return nil
}

// fork makes a session of the first events of another one.
func (x *routes) fork(w http.ResponseWriter, r *http.Request) error {
	app, key, err := x.at(r)
	if err != nil {
		return err
	}
	var body struct {
		At *int64 `json:"at"`
		ID string `json:"id"`
	}
	if err := x.Decode(w, r, &body); err != nil {
		return err
	}
	s, err := app.Sessions.Get(r.Context(), key)
	if err != nil {
		return err
	}
	at := s.Position
	if body.At != nil {
		at = *body.At
	}
	fork, err := session.Fork(r.Context(), app.Sessions, key, at, body.ID)
	if err != nil {
		return err
	}
	w.Header().Set("Location", locationOf(fork))
	web.WriteJSON(w, http.StatusCreated, bodyOf(fork))
	return nil
}

// export answers with a session file, which "runner session import" reads.
func (x *routes) export(w http.ResponseWriter, r *http.Request) error {
	app, key, err := x.at(r)
	if err != nil {
		return err
	}
	if _, err := app.Sessions.Get(r.Context(), key); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/jsonl")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Disposition", `attachment; filename="session.jsonl"`)
	if err := session.Export(r.Context(), app.Sessions, key, w); err != nil {
		x.Noted(r, err)
		panic(http.ErrAbortHandler) // a file that ends early must not look whole
	}
	return nil
}
