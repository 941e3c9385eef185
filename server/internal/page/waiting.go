package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/page/timeline"
	"github.com/plughook/plughook/server/internal/page/visible"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// maxWaiting is how many sessions with something that waits are looked at.
const maxWaiting = 100

// A waitingCall is a call that waits for an answer.
type waitingCall struct {
	sessions.WaitingCall
	Key      session.Key
	Mine     bool // the caller may answer it
	InputID  string
	Question []visible.Piece
	Values   []keyValue
	Fields   []field
	Asked    string // of whom a yes is asked, if not of the user
	By       string // who asks
	Seq      int64
	Updated  time.Time
	Title    []visible.Piece
	Back     string // where to go after the answer
	Reads    bool   // the caller may read the session
}

func newWaiting(key session.Key, c sessions.WaitingCall) waitingCall {
	w := waitingCall{WaitingCall: c, Key: key, InputID: session.NewID(), Question: visible.Line(c.Hint, 1000)}
	if message, ok := c.Args["message"].(string); ok && c.Name == session.AskTool {
		w.Question, _ = visible.Pieces(message, 4000)
		w.Name = nodeOf(c.ID)
	} else {
		for _, name := range slices.Sorted(maps.Keys(c.Args)) {
			text, ok := c.Args[name].(string)
			if !ok {
				text = eventtext.JSON(c.Args[name])
			}
			pieces, _ := visible.Pieces(text, 1000)
			w.Values = append(w.Values, keyValue{Key: name, Value: pieces})
		}
	}
	var asked []string
	for _, a := range c.By {
		if a.By != session.UserRole {
			who := a.By
			if a.Names > 1 {
				who = strconv.Itoa(a.Names) + " people of " + who
			}
			asked = append(asked, who)
		}
	}
	w.Asked = strings.Join(asked, ", ")
	if !c.Confirm {
		w.Fields = fieldsOf(schemaOf(c))
	}
	return w
}

// nodeOf returns the name of the node of a workflow that asks, from the question's ID: approve, of
// letters@…/approve@1#answer. An ID of another form is returned as it is.
func nodeOf(question string) string {
	path, _, ok := strings.Cut(question, "#")
	name, _, numbered := strings.Cut(path[strings.LastIndex(path, "/")+1:], "@")
	if !ok || !numbered || name == "" {
		return question
	}
	return name
}

// waitingCalls returns what waits in a live view.
func waitingCalls(ctx context.Context, key session.Key, live []*session.Event) (list []waitingCall) {
	calls := sessions.WaitingIn(live)
	mine := sessions.Mine(ctx, key, calls)
	for _, c := range calls {
		w := newWaiting(key, c)
		w.Reads = true
		w.Mine = slices.ContainsFunc(mine, func(m sessions.WaitingCall) bool { return m.ID == c.ID })
		for _, e := range live {
			for _, call := range e.FunctionCalls() {
				if call.ID == c.ID {
					w.Seq = e.Seq
				}
			}
			if _, asks := e.Actions.RequestedToolConfirmations[c.ID]; asks && e.Author != session.User {
				w.By = timeline.WhoOf(e, key.User)
			}
		}
		list = append(list, w)
	}
	return list
}

// allWaiting returns what waits in the sessions that the caller reaches, and what a role of the caller decides in others,
// the oldest first.
func (x *page) allWaiting(ctx context.Context, r *http.Request) (list []waitingCall, err error) {
	who := web.CallerOf(r)
	user := cmp.Or(who.User, web.DefaultUser)
	if who.Admin {
		user = ""
	}
	seen := map[string]bool{}
	add := func(w waitingCall) {
		if name := w.Key.String() + " " + w.ID; !seen[name] {
			seen[name] = true
			w.Back = "/waiting"
			list = append(list, w)
		}
	}
	for _, app := range x.Reachable(r) {
		query := session.Query{App: app.Name, User: user, Waiting: true, Limit: maxWaiting}
		for hit, err := range app.Sessions().Search(ctx, query) {
			if err != nil {
				return nil, err
			}
			live, err := x.Live(ctx, app, hit.Session.Key)
			if errors.Is(err, session.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, w := range waitingCalls(ctx, hit.Session.Key, live) {
				w.Updated = hit.Session.Updated
				w.Title = titleIn(live)
				add(w)
			}
		}
		approvals, err := x.Approvals(ctx, app, maxWaiting)
		if err != nil {
			return nil, err
		}
		for _, a := range approvals {
			w := newWaiting(session.Key{App: a.App, User: a.User, ID: a.Session}, a.WaitingCall)
			w.Mine = true
			w.Updated = a.Updated
			add(w)
		}
	}
	slices.SortStableFunc(list, func(a, b waitingCall) int { return a.Updated.Compare(b.Updated) })
	return list, nil
}

// titleIn returns the first message in a live view.
func titleIn(live []*session.Event) []visible.Piece {
	for _, e := range live {
		if e.Author == session.User && e.Text() != "" {
			return visible.Line(e.Text(), 120)
		}
	}
	return []visible.Piece{{Text: "this session"}}
}

// waitCount has how much waits for a caller, for the number beside the word Waiting. It is looked up at most every few
// seconds, since that costs the reading of live views.
type waitCount struct {
	mu sync.Mutex
	of map[string]waitNumber
}

type waitNumber struct {
	n  int
	at time.Time
}

const (
	countEvery = 5 * time.Second
	countTime  = 150 * time.Millisecond // how long a page waits for the number
)

// waitingCount returns how many calls wait, 0 if that is not known soon.
func (x *page) waitingCount(q *request) int {
	name := countName(q)
	x.wait.mu.Lock()
	was := x.wait.of[name]
	x.wait.mu.Unlock()
	if now().Sub(was.at) < countEvery || q.key.ID != "" { // a page of one session does not wait for the others
		return was.n
	}
	ctx, cancel := context.WithTimeout(q.Context(), countTime)
	defer cancel()
	if list, err := x.allWaiting(ctx, q.Request); err == nil {
		was.n = len(list)
	}
	x.setCount(name, waitNumber{n: was.n, at: now()})
	return was.n
}

// countName names those who see the same.
func countName(q *request) string {
	who := web.CallerOf(q.Request)
	return fmt.Sprintf("%q %q %t %q %q", who.User, who.Apps, who.Admin, who.Roles, who.OnBehalfOf)
}

func (x *page) setCount(name string, n waitNumber) {
	x.wait.mu.Lock()
	defer x.wait.mu.Unlock()
	if x.wait.of == nil || len(x.wait.of) > 1000 {
		x.wait.of = map[string]waitNumber{}
	}
	x.wait.of[name] = n
}

// waiting lists what waits, over all sessions.
func (x *page) waiting(q *request) (any, error) {
	list, err := x.allWaiting(q.Context(), q.Request)
	if err != nil {
		return nil, err
	}
	confirms := 0
	mine := 0
	for _, w := range list {
		if w.Confirm {
			confirms++
		}
		if w.Mine {
			mine++
		}
	}
	show := q.URL.Query().Get("show")
	all := len(list)
	list = slices.DeleteFunc(list, func(w waitingCall) bool {
		return show == "confirm" && !w.Confirm || show == "question" && w.Confirm || show == "mine" && !w.Mine
	})
	data := map[string]any{
		"Calls": list, "Confirms": confirms, "Questions": all - confirms, "Show": show,
		"Filters": []filter{
			{Word: "All", Link: "/waiting", Current: show == "", Count: all},
			{Word: "Yes or no", Link: "/waiting?show=confirm", Current: show == "confirm", Count: confirms},
			{Word: "Questions", Link: "/waiting?show=question", Current: show == "question", Count: all - confirms},
			{Word: "For me", Link: "/waiting?show=mine", Current: show == "mine", Count: mine},
		},
	}
	return &view{Template: "waiting", Title: "Waiting", Nav: "waiting", Narrow: true, Data: data}, nil
}

// answer gives a call its answer, and goes on with its session. It returns to the page that the form stood on when the
// answer is in the log: the run goes on.
func (x *page) answer(q *request) (any, error) {
	if err := x.form(q); err != nil {
		return nil, err
	}
	f := q.PostForm
	app, err := x.App(q.Request, f.Get("app"))
	if err != nil {
		return nil, err
	}
	key := session.Key{App: app.Name, User: f.Get("user"), ID: f.Get("session")}
	if err := key.Check(false); err != nil {
		return nil, err
	}
	call := f.Get("call")
	yes := f.Get("do") == "approve"
	confirm := yes || f.Get("do") == "decline"
	x.setCount(countName(q), waitNumber{}) // it is looked up anew

	// A call of somebody else's session, which a role decides.
	if !web.CallerOf(q.Request).Reaches(key.User) || confirm && f.Get("role") != "" {
		if !confirm {
			return nil, web.Bad("say yes or no")
		}
		_, err := x.Decide(q.Context(), app, key, f.Get("id"), yes, f.Get("message"), []string{call})
		return back(f.Get("back")), err
	}
	input := &session.Event{ID: f.Get("id"), Author: session.User}
	if text := strings.TrimSpace(f.Get("message")); text != "" {
		input.Content = session.Message(text).Content
	}
	if confirm {
		err = x.Approve(q.Context(), app, key, input, yes, []string{call}, false)
	} else {
		var value any
		if value, err = x.valueOf(q, app, key, call); err == nil {
			err = x.RespondTo(q.Context(), app, key, input, map[string]any{call: value})
		}
	}
	if err == nil {
		err = x.begin(q, app, key, input)
	}
	return back(f.Get("back")), err
}

// valueOf reads the answer to a question from the form that was made of its schema.
func (x *page) valueOf(q *request, app *apps.App, key session.Key, call string) (any, error) {
	calls, err := x.Service.Waiting(q.Context(), app, key)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(calls, func(c sessions.WaitingCall) bool { return c.ID == call })
	if i < 0 {
		return nil, sessions.NotWaiting("it was answered before, or taken back")
	}
	return answerOf(schemaOf(calls[i]), q.PostForm)
}

// begin runs an input, and returns when it is in the log, or the run has ended.
func (x *page) begin(q *request, app *apps.App, key session.Key, input *session.Event) error {
	run, follower, err := x.Runs.Start(q.Context(), sessions.Request(app, key, input), 0)
	if err != nil {
		return err
	}
	defer follower.Close()
	if _, err := follower.Next(q.Context(), 24*time.Hour); !errors.Is(err, io.EOF) {
		return err
	}
	return run.End().Err
}

// form reads a posted form.
func (x *page) form(q *request) error {
	limit := x.Limits.Body
	if strings.HasPrefix(q.Header.Get("Content-Type"), "multipart/") {
		limit = x.Limits.Upload
	}
	if limit > 0 {
		q.Body = http.MaxBytesReader(q.w, q.Body, limit)
	}
	hold := web.HoldOf(q.Context())
	if err := hold.TakeJSON(max(0, q.ContentLength)); err != nil {
		return err
	}
	var err error
	if limit == x.Limits.Upload {
		err = q.ParseMultipartForm(4 << 20)
	} else {
		err = q.ParseForm()
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return err
	case err != nil:
		return web.Bad("the form could not be read")
	}
	return nil
}

// back returns a path of this server to go to: nobody is sent elsewhere.
func back(path string) redirect {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.Contains(path, `\`) || strings.ContainsFunc(path, unicode.IsControl) {
		return "/"
	}
	return redirect(path)
}

// schemaOf returns the schema of the answer to a question, nil if there is none.
func schemaOf(c sessions.WaitingCall) map[string]any {
	schema, _ := c.Args["response_schema"].(map[string]any)
	if schema == nil {
		schema, _ = c.Args["responseSchema"].(map[string]any)
	}
	return schema
}

// A field is one of a form for an answer.
type field struct {
	Name, Label string // Name is "" for an answer that is no object
	Kind        string // text, long, number, choice, yesno, json
	Options     []string
	Needed      bool
}

// fieldsOf returns the fields of a form for a schema: one for each property of an object, else one.
func fieldsOf(schema map[string]any) (list []field) {
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) == 0 {
		one := fieldOf("", schema)
		one.Label = "Your answer"
		one.Needed = true
		return []field{one}
	}
	needed, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(map[string]any)
		f := fieldOf(name, property)
		f.Needed = slices.Contains(needed, any(name))
		list = append(list, f)
	}
	return list
}

func fieldOf(name string, schema map[string]any) field {
	f := field{Name: name, Label: name, Kind: "long"}
	if text, _ := schema["description"].(string); text != "" {
		f.Label = strings.TrimPrefix(name+": "+text, ": ")
	}
	kind, _ := schema["type"].(string)
	options, _ := schema["enum"].([]any)
	for _, o := range options {
		if text, ok := o.(string); ok {
			f.Options = append(f.Options, text)
		}
	}
	switch kind = strings.ToLower(kind); {
	case len(f.Options) > 0 && len(f.Options) == len(options):
		f.Kind = "choice"
	case kind == "boolean":
		f.Kind = "yesno"
	case kind == "number", kind == "integer":
		f.Kind = "number"
	case kind == "object", kind == "array":
		f.Kind = "json"
	}
	return f
}

// answerOf returns what the fields of a posted form say. Whether it fits is for the workflow to decide.
func answerOf(schema map[string]any, form map[string][]string) (any, error) {
	object := map[string]any{}
	for _, f := range fieldsOf(schema) {
		text := ""
		if given := form["field."+f.Name]; len(given) > 0 {
			text = given[0]
		}
		value, err := f.value(text)
		switch {
		case err != nil:
			return nil, err
		case f.Name == "":
			return value, nil
		case value != nil:
			object[f.Name] = value
		}
	}
	return object, nil
}

// value returns what a field's text says; nil if it is left out.
func (f field) value(text string) (any, error) {
	if text == "" && (f.Kind != "long" || !f.Needed) {
		return nil, nil
	}
	switch f.Kind {
	case "yesno":
		return text == "yes", nil
	case "number", "json":
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return nil, web.Bad("what stands in " + cmp.Or(f.Name, "the answer") + " is not what the question asks for: " +
				map[string]string{"number": "a number", "json": "JSON"}[f.Kind])
		}
		return v, nil
	}
	return strings.ReplaceAll(text, "\r\n", "\n"), nil
}

// message returns an input with a text and the files of a posted form.
func (x *page) message(q *request) (*session.Event, error) {
	text := strings.ReplaceAll(q.PostForm.Get("message"), "\r\n", "\n")
	input := &session.Event{ID: q.PostForm.Get("id"), Author: session.User, Content: &genai.Content{Role: genai.RoleUser}}
	if strings.TrimSpace(text) != "" {
		input.Content.Parts = append(input.Content.Parts, &genai.Part{Text: text})
	}
	if q.MultipartForm != nil {
		for _, file := range q.MultipartForm.File["file"] {
			f, err := file.Open()
			if err != nil {
				return nil, err
			}
			data, err := io.ReadAll(f)
			f.Close()
			if err != nil {
				return nil, err
			}
			if len(data) == 0 && file.Filename == "" {
				continue
			}
			part := genai.NewPartFromBytes(data, cmp.Or(file.Header.Get("Content-Type"), "application/octet-stream"))
			part.InlineData.DisplayName = file.Filename
			input.Content.Parts = append(input.Content.Parts, part)
		}
	}
	if len(input.Content.Parts) == 0 {
		return nil, web.Bad("the message is empty: write something, or attach a file")
	}
	return input, nil
}
