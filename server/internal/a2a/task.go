package a2a

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	wire "github.com/plughook/plughook/internal/a2awire"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// A taskID names a task: the session and the invocation. So every replica finds it.
type taskID struct {
	key        session.Key
	invocation string
}

// String returns the id that clients know: "context:invocation".
func (t taskID) String() string {
	return url.QueryEscape(t.key.ID) + ":" + url.QueryEscape(t.invocation)
}

// parse returns the task of an id that a client has sent, in the sessions of the caller.
func (x *routes) parse(c *rpcRequest, id string) (taskID, error) {
	first, second, ok := strings.Cut(id, ":")
	contextID, err := url.QueryUnescape(first)
	invocation, err2 := url.QueryUnescape(second)
	if !ok || err != nil || err2 != nil || invocation == "" {
		return taskID{}, notFound
	}
	key, err := x.Key(c.r, c.app, c.r.URL.Query().Get("user"), contextID, false)
	if err != nil {
		return taskID{}, notFound
	}
	return taskID{key: key, invocation: invocation}, nil
}

// A fullTask is a task with what it was made from.
type fullTask struct {
	wire.Task
	events  []*session.Event
	waiting []sessions.WaitingCall
	updated time.Time
}

// trim leaves as many messages of the history as a client wants.
func (t *fullTask) trim(history *int) {
	if history != nil && *history >= 0 && len(t.History) > *history {
		t.History = t.History[len(t.History)-*history:]
	}
}

// task returns a task as it is.
func (x *routes) task(c *rpcRequest, t taskID) (*fullTask, error) {
	return x.taskOf(c, t, x.Runs.Find(t.key, t.invocation))
}

// taskOf is task, with the run if that is one of this process.
func (x *routes) taskOf(c *rpcRequest, t taskID, run *runs.Run) (*fullTask, error) {
	ctx := context.WithoutCancel(c.r.Context())
	s, err := c.app.Sessions().Get(ctx, t.key)
	if errors.Is(err, session.ErrNotFound) && run != nil {
		return x.assemble(c, t, run, "", nil, nil), nil // it is made when the run begins
	}
	if err != nil {
		return nil, err
	}
	events, live, err := x.read(ctx, c.app, t)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 && run == nil && s.Holder != t.invocation {
		return nil, notFound
	}
	return x.assemble(c, t, run, s.Holder, events, live), nil
}

// assemble makes a task of its events, of what waits in the live view, and of who runs it.
func (x *routes) assemble(
	c *rpcRequest, t taskID, run *runs.Run, holder string, events, live []*session.Event,
) *fullTask {
	task := &fullTask{events: events, updated: time.Now()}
	task.Task = wire.Task{ID: t.String(), ContextID: t.key.ID, Artifacts: artifactsOf(events), History: historyOf(t, events)}
	if len(events) > 0 {
		task.updated = events[len(events)-1].Timestamp
	}
	for _, w := range sessions.WaitingIn(live) {
		if w.Invocation == t.invocation {
			task.waiting = append(task.waiting, w)
		}
	}
	ended := false
	var end runs.End
	if run != nil {
		select {
		case <-run.Done():
			ended = true
			end = run.End()
		default:
		}
	}
	switch {
	case end.Err != nil:
		task.Status = x.failure(c, t, end)
	case run != nil && !ended && !run.Began():
		task.Status = status(wire.Submitted, nil)
	case run != nil && !ended, run == nil && holder == t.invocation:
		task.Status = status(wire.Working, nil)
	case len(events) == 0: // a plugin has withheld all of it
		task.Status = status(wire.Completed, nil)
	default:
		task.Status = task.rest(t)
	}
	task.Status.Timestamp = wire.Time(task.updated)
	return task
}

// failure returns the status of a task whose run has returned an error.
func (x *routes) failure(c *rpcRequest, t taskID, end runs.End) wire.Status {
	if end.Kind == runs.Cancelled && !errors.Is(end.Err, runs.ErrTooLong) {
		return status(wire.Canceled, nil)
	}
	return status(wire.Failed, t.say("end", wire.Text(x.errorOf(c, end.Err).Message)))
}

// rest returns the status of a task that no process runs, by its events.
func (t *fullTask) rest(id taskID) wire.Status {
	end := runs.EndIn(t.events)
	switch {
	case end.Kind == runs.Cancelled:
		return status(wire.Canceled, nil)
	case len(t.waiting) > 0:
		return status(wire.InputRequired, question(id, t.waiting))
	case end.Kind == runs.Denied:
		return status(wire.Rejected, id.say("end", wire.Text(cmp.Or(denialOf(t.events), end.Reason))))
	case end.Kind == runs.Stopped:
		return status(wire.Completed, nil)
	}
	for _, e := range slices.Backward(t.events) {
		switch {
		case e.Author == session.User || len(e.FunctionResponses()) > 0 && e.Text() == "":
		case e.Interrupted && !e.TurnComplete && e.ErrorCode == "":
			return status(wire.Failed, id.say("end", wire.Text("the task was cut off before it had "+
				"an answer")))
		case e.ErrorCode == session.Denied:
			return status(wire.Rejected, id.say("end", wire.Text(cmp.Or(e.Text(), e.ErrorMessage, "refused"))))
		case e.ErrorCode != "":
			return status(wire.Failed, id.say("end", wire.Text(cmp.Or(e.ErrorMessage, e.ErrorCode))))
		case len(e.FunctionCalls()) == 0:
			return status(wire.Completed, nil)
		}
	}
	return status(wire.Failed, id.say("end", wire.Text("the task ended before it had an answer")))
}

// denialOf returns what the denial among a task's events says.
func denialOf(events []*session.Event) string {
	for _, e := range slices.Backward(events) {
		if e.ErrorCode == session.Denied && len(e.FunctionResponses()) == 0 {
			return e.Text()
		}
	}
	return ""
}

func status(state wire.State, message *wire.Message) wire.Status {
	return wire.Status{State: state, Message: message, Timestamp: wire.Time(time.Now())}
}

// say returns a message of the agent's in a status.
func (t taskID) say(what string, parts ...wire.Part) *wire.Message {
	return &wire.Message{
		MessageID: t.invocation + "/" + what,
		ContextID: t.key.ID,
		TaskID:    t.String(),
		Role:      wire.RoleAgent,
		Parts:     parts,
	}
}

// question returns what a task asks: a text for people, and data for programs.
func question(t taskID, waiting []sessions.WaitingCall) *wire.Message {
	var texts []string
	for _, w := range waiting {
		message, _ := w.Args["message"].(string)
		ask := "An answer is needed for " + w.Name + "."
		if w.Confirm {
			ask = "May " + w.Name + " be called? Answer yes or no."
		}
		texts = append(texts, cmp.Or(w.Hint, message, ask))
	}
	parts := []wire.Part{wire.Text(strings.Join(texts, "\n"))}
	if data, err := json.Marshal(map[string]any{"calls": waiting}, json.Deterministic(true)); err == nil {
		parts = append(parts, wire.Part{Data: data, MediaType: "application/json"})
	}
	return t.say("question-"+waiting[0].ID, parts...)
}

// read returns the events of a task, and the live view of its session. An invocation that stands behind a
// summary is read from the log; one that was rewound is not there.
func (x *routes) read(ctx context.Context, app *apps.App, t taskID) (events, live []*session.Event, err error) {
	mine := func(e *session.Event) bool { return e.InvocationID == t.invocation && !e.Marker() }
	live, err = x.Live(ctx, app, t.key)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range live {
		if mine(e) {
			events = append(events, e)
		}
	}
	if len(events) > 0 || len(live) == 0 || !live[0].Marker() {
		return events, live, nil
	}
	var statuses session.EventStatuses
	for e, err := range app.Sessions().Read(ctx, t.key, session.Selection{}) {
		if err != nil {
			return nil, nil, err
		}
		statuses.Add(e)
		if mine(e) {
			events = append(events, e)
		}
	}
	events = slices.DeleteFunc(events, func(e *session.Event) bool { return statuses.Of(e).Void != 0 })
	return events, live, nil
}

// artifactsOf returns what a task's agents have said. What refuses or fails is in the status.
func artifactsOf(events []*session.Event) []wire.Artifact {
	var list []wire.Artifact
	for _, e := range events {
		if a := artifactOf(e); len(a.Parts) > 0 {
			list = append(list, a)
		}
	}
	return list
}

func artifactOf(e *session.Event) wire.Artifact {
	a := wire.Artifact{ArtifactID: e.ID, Name: e.Author}
	if e.Author != session.User && e.ErrorCode == "" {
		a.Parts = wire.FromContent(e.Content)
		if text := web.TextOf(e); len(a.Parts) == 0 && text != "" { // the output of a workflow
			a.Parts = []wire.Part{wire.Text(text)}
		}
	}
	return a
}

// historyOf returns the messages of a task: those of the user.
func historyOf(t taskID, events []*session.Event) []wire.Message {
	var list []wire.Message
	for _, e := range events {
		if parts := wire.FromContent(e.Content); e.Author == session.User && len(parts) > 0 {
			list = append(list, wire.Message{MessageID: e.ID, ContextID: t.key.ID, TaskID: t.String(), Role: wire.RoleUser, Parts: parts})
		}
	}
	return list
}

func (x *routes) getTask(c *rpcRequest, t taskID, params *wire.TaskParams) (any, error) {
	task, err := x.task(c, t)
	if err != nil {
		return nil, err
	}
	task.trim(params.HistoryLength)
	return task.Task, nil
}

// listed is how many sessions ListTasks looks at: those that were used last.
const listed = 200

// listTasks lists tasks of the caller's, the newest first: those of one context, or of all.
func (x *routes) listTasks(c *rpcRequest, params *wire.ListParams) (any, error) {
	if params.PageSize == 0 {
		params.PageSize = 50
	}
	begin, err := strconv.Atoi(cmp.Or(params.PageToken, "0"))
	if err != nil || begin < 0 || params.PageSize < 1 || params.PageSize > 100 {
		return nil, bad("pageSize is from 1 to 100, and pageToken is one that ListTasks has returned")
	}
	user, err := x.User(c.r, c.r.URL.Query().Get("user"))
	if err != nil {
		return nil, err
	}
	var found []*session.Session
	for s, err := range c.app.Sessions().List(c.r.Context(), c.app.Name, user) {
		if err != nil {
			return nil, err
		}
		if params.ContextID == "" || params.ContextID == s.ID {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b *session.Session) int { return b.Updated.Compare(a.Updated) })
	var tasks []*fullTask
	for _, s := range found[:min(len(found), listed)] {
		of, err := x.tasksOf(c, s.Key)
		if err != nil {
			return nil, err
		}
		for _, task := range of {
			// The official client for JavaScript says UNRECOGNIZED where its user has named no state.
			every := slices.Contains([]wire.State{"", "TASK_STATE_UNSPECIFIED", "UNRECOGNIZED"}, params.Status)
			wanted := every || params.Status == task.Status.State
			if wanted && !task.updated.Before(params.StatusTimestampAfter) {
				tasks = append(tasks, task)
			}
		}
	}
	slices.SortStableFunc(tasks, func(a, b *fullTask) int { return b.updated.Compare(a.updated) })
	list := wire.TaskList{Tasks: []*wire.Task{}, PageSize: params.PageSize, TotalSize: len(tasks)}
	for _, task := range tasks[min(begin, len(tasks)):min(begin+params.PageSize, len(tasks))] {
		task.trim(params.HistoryLength)
		if !params.IncludeArtifacts {
			task.Artifacts = nil
		}
		list.Tasks = append(list.Tasks, &task.Task)
	}
	if begin+params.PageSize < len(tasks) {
		list.NextPageToken = strconv.Itoa(begin + params.PageSize)
	}
	return list, nil
}

// tasksOf returns the tasks in the live view of a session.
func (x *routes) tasksOf(c *rpcRequest, key session.Key) ([]*fullTask, error) {
	s, err := c.app.Sessions().Get(c.r.Context(), key)
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil // it was deleted meanwhile
	}
	if err != nil {
		return nil, err
	}
	live, err := x.Live(c.r.Context(), c.app, key)
	if err != nil {
		return nil, err
	}
	events := map[string][]*session.Event{}
	var begun []string
	for _, e := range live {
		if e.Marker() {
			continue
		}
		if events[e.InvocationID] == nil && e.Author == session.User {
			begun = append(begun, e.InvocationID)
		}
		events[e.InvocationID] = append(events[e.InvocationID], e)
	}
	var tasks []*fullTask
	for _, invocation := range begun {
		t := taskID{key: key, invocation: invocation}
		run := x.Runs.Find(key, invocation)
		tasks = append(tasks, x.assemble(c, t, run, s.Holder, events[invocation], live))
	}
	return tasks, nil
}
