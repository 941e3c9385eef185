package page

import (
	"net/http"
	"slices"

	"github.com/plughook/plughook/server/internal/page/timeline"
	"github.com/plughook/plughook/server/internal/page/visible"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// A chatView is the page of a conversation.
type chatView struct {
	*session.Session
	Path    string // of the chat
	Page    string // of the session
	Heading []visible.Piece
	Rows    []*timeline.Row
	More    bool // there are older messages
	Waiting []waitingCall
	InputID string
	Sums    timeline.Sums
}

// newChat begins a conversation: in a session of its own, with its first message.
func (x *page) newChat(q *request) (any, error) {
	who := web.CallerOf(q.Request)
	if q.Method == http.MethodGet {
		user, _ := x.User(q.Request, "")
		return &view{Template: "new", Title: "New chat", Nav: "chat", Data: map[string]any{
			"Apps": x.Reachable(q.Request), "User": user, "Others": who.Admin || who.AnyUser || len(who.OnBehalfOf) > 0,
			"InputID": session.NewID(), "SessionID": session.NewID(),
		}}, nil
	}
	if err := x.form(q); err != nil {
		return nil, err
	}
	var err error
	if q.app, err = x.App(q.Request, q.PostForm.Get("app")); err != nil {
		return nil, err
	}
	q.key, err = x.Key(q.Request, q.app, q.PostForm.Get("user"), q.PostForm.Get("session"), false)
	if err != nil {
		return nil, err
	}
	return x.say(q)
}

// chat shows a conversation: what was not taken back of it.
func (x *page) chat(q *request) (any, error) {
	s, err := q.app.Sessions().Get(q.Context(), q.key)
	if err != nil {
		return nil, err
	}
	p, err := x.read(q, s, choice{})
	if err != nil {
		return nil, err
	}
	live, err := x.liveOf(q, p)
	if err != nil {
		return nil, err
	}
	v := &chatView{
		Session: s,
		Path:    pathOf("/chat", q.key),
		Page:    pathOf("/s", q.key),
		Heading: titleIn(live),
		Waiting: waitingCalls(q.Context(), q.key, live),
		InputID: session.NewID(),
	}
	for i := range v.Waiting {
		v.Waiting[i].Back = v.Path
	}
	v.More = p.older
	p.events = slices.DeleteFunc(p.events, func(e *session.Event) bool {
		_, command := e.Command()
		return p.statuses.Of(e).Void != 0 || e.Marker() || command && e.Text() == ""
	})
	for _, t := range x.turns(q, p, nil) {
		v.Sums.Plus(t.Sums)
		for _, r := range t.Rows {
			r.Tags = slices.DeleteFunc(r.Tags, func(t timeline.Tag) bool { return t.Kind == "plain" && t.Rule == "" })
			if r.Spoken() {
				v.Rows = append(v.Rows, r)
			}
		}
	}
	title := "Chat"
	for _, piece := range v.Heading {
		title = piece.Text
		break
	}
	return &view{Template: "chat", Title: title, Nav: "chat", Follow: followed(q.key), Data: v}, nil
}

// say sends a message. The script of the page reads the answer from the stream of the session's events; without it, the
// answer to the form waits for the end of the run.
func (x *page) say(q *request) (any, error) {
	if err := x.form(q); err != nil {
		return nil, err
	}
	input, err := x.message(q)
	if err != nil {
		return nil, err
	}
	run := sessions.Request(q.app, q.key, input)
	run.Config.Create = true
	run.Config.Streaming = session.SSE
	begun, follower, err := x.Runs.Start(q.Context(), run, 0)
	if err != nil {
		return nil, err
	}
	defer follower.Close()
	if err := web.WaitForBegin(q.Context(), begun); err != nil {
		return nil, err
	}
	if q.PostForm.Get("script") != "" {
		header(q.w, "text/plain; charset=utf-8")
		q.w.WriteHeader(http.StatusAccepted)
		return nil, nil
	}
	if err := web.WaitForEnd(q.Context(), begun); err != nil {
		return nil, err
	}
	if end := begun.End(); end.Err != nil && len(begun.Events()) == 0 {
		return nil, end.Err
	}
	return redirect(pathOf("/chat", q.key) + "#end"), nil
}

// stop cancels what runs on the session.
func (x *page) stop(q *request) (any, error) {
	s, err := q.app.Sessions().Get(q.Context(), q.key)
	if err != nil {
		return nil, err
	}
	if s.Holder != "" {
		if _, _, err := x.Cancel(q.Context(), q.app, q.key, s.Holder, true); err != nil {
			return nil, err
		}
	}
	return redirect(pathOf("/chat", q.key) + "#end"), nil
}
