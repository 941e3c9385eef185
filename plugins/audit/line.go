package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agenthooks"
	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// A line is one line of the file. Its fields are written in this order. Later versions may add fields.
type line struct {
	N    int64  `json:"n"`    // the number of the line in the chain, from 1
	Prev string `json:"prev"` // the hash of the line before, "" in the first
	Kind string `json:"kind"`
	// Time is that of the event; in a begin that of the input, in an end that of the invocation's last event.
	Time    time.Time `json:"time,omitzero"`
	Written time.Time `json:"written,omitzero"`

	App        string `json:"app,omitzero"`
	User       string `json:"user,omitzero"`
	Session    string `json:"session,omitzero"`
	Invocation string `json:"invocation,omitzero"`
	// Position is the position of the last event in the log, in a begin and an end.
	Position int64 `json:"position,omitzero"`

	ID      string `json:"id,omitzero"` // of the event
	Author  string `json:"author,omitzero"`
	Branch  string `json:"branch,omitzero"`
	Agent   string `json:"agent,omitzero"` // the agent for which a plugin made calls
	Command string `json:"command,omitzero"`
	// Reason is why a plugin emitted the event.
	Reason    string        `json:"reason,omitzero"`
	Changed   []plugin.Note `json:"changed,omitzero"`
	Unchecked []plugin.Note `json:"unchecked,omitzero"`
	// Policy is the revision of the policy that the rules in Decisions are in.
	Policy    string     `json:"policy,omitzero"`
	Decisions []decision `json:"decisions,omitzero"`

	// Sizes are in bytes.
	Text          int            `json:"text,omitzero"`
	Thoughts      int            `json:"thoughts,omitzero"`
	Calls         []callRecord   `json:"calls,omitzero"`
	Responses     []callRecord   `json:"responses,omitzero"`
	Media         []media        `json:"media,omitzero"`
	Others        int            `json:"others,omitzero"` // the number of other parts, such as executable code
	State         []string       `json:"state,omitzero"`  // keys that are set, deleted or added to
	Artifacts     int            `json:"artifacts,omitzero"`
	Confirmations []confirmation `json:"confirmations,omitzero"`
	TransferTo    string         `json:"transferTo,omitzero"`
	Node          string         `json:"node,omitzero"`   // the path of the run of a workflow's node
	Ended         bool           `json:"ended,omitzero"`  // the event ends that run
	Output        int            `json:"output,omitzero"` // the size of the node's output as JSON
	Route         []string       `json:"route,omitzero"`
	Through       int64          `json:"through,omitzero"` // of a compaction
	RewindTo      *int64         `json:"rewindTo,omitzero"`
	More          int            `json:"more,omitzero"` // how many entries of lists were left out

	Error        string `json:"error,omitzero"` // the error code
	FinishReason string `json:"finishReason,omitzero"`
	Interrupted  bool   `json:"interrupted,omitzero"`
	Model        string `json:"model,omitzero"` // the version of the model
	Tokens       tokens `json:"tokens,omitzero"`
	Fingerprint  string `json:"fingerprint,omitzero"`

	End  *end               `json:"end,omitzero"`
	Hook *agenthooks.Record `json:"hook,omitzero"`
	// Cut is how many bytes a repair removed.
	Cut int64 `json:"cut,omitzero"`
}

type callRecord struct {
	Name string `json:"name"`
	ID   string `json:"id,omitzero"`
	Size int    `json:"size"`            // of the arguments, or of the response, as JSON
	Fail bool   `json:"failed,omitzero"` // the response has an error
}

type media struct {
	Type string `json:"type,omitzero"`
	Size int    `json:"size,omitzero"`
	Link bool   `json:"link,omitzero"` // an address, not the data
}

type confirmation struct {
	Call      string `json:"call"`
	Confirmed bool   `json:"confirmed"`
	// By has answered, or Asked are the roles whose yes is needed.
	By    string   `json:"by,omitzero"`
	Asked []string `json:"asked,omitzero"`
}

type tokens struct {
	Prompt   int32 `json:"prompt,omitzero"`
	Cached   int32 `json:"cached,omitzero"`
	Answer   int32 `json:"answer,omitzero"`
	Thoughts int32 `json:"thoughts,omitzero"`
	Tools    int32 `json:"tools,omitzero"`
	Total    int32 `json:"total,omitzero"`
}

type end struct {
	Kind   string `json:"kind"`
	Plugin string `json:"plugin,omitzero"` // that stopped the invocation, or failed
	Hook   string `json:"hook,omitzero"`
	Reason string `json:"reason,omitzero"`
	// Error is the kind of the error. Its text is not written, since it may quote.
	Error string `json:"error,omitzero"`
}

// Limits of what is written.
const (
	maxEntries = 256 // entries of each list
	maxReason  = 200 // bytes of a reason
)

// newLine returns a line about an invocation.
func newLine(inv *session.Invocation, kind string) *line {
	return &line{
		Kind:       kind,
		App:        inv.Key.App,
		User:       inv.Key.User,
		Session:    inv.Key.ID,
		Invocation: name(inv.ID),
	}
}

// lastTime returns the time of the invocation's last live event, or of its input if there is none.
func lastTime(inv *session.Invocation) time.Time {
	for _, e := range slices.Backward(inv.Live) {
		if e.InvocationID == inv.ID {
			return e.Timestamp.UTC()
		}
	}
	if inv.Input != nil {
		return inv.Input.Timestamp.UTC()
	}
	return time.Time{}
}

// namePattern matches names; name bounds their length, since a regular expression that counts letters of all scripts takes
// milliseconds to compile.
var namePattern = lazyregexp.New(`^[\pL\pN._:/@#+$-]*$`)

const maxName = 128 // characters

// name returns a name that a model or a client has chosen. If it does not look like a name, it may be content, and name returns
// only its length.
func name(s string) string {
	if utf8.RuneCountInString(s) <= maxName && namePattern.MatchString(s) {
		return s
	}
	return fmt.Sprintf("(%d bytes)", len(s))
}

// reason returns the beginning of a reason.
func reason(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxReason)], "")
}

// first returns the first maxEntries entries of a list, and adds to More how many it leaves out.
func first[T any](l *line, list []T) []T {
	if len(list) > maxEntries {
		l.More += len(list) - maxEntries
		return list[:maxEntries]
	}
	return list
}

// event fills in what an event is.
func (l *line) event(e *session.Event) {
	l.Time = e.Timestamp.UTC()
	l.ID = name(e.ID)
	l.Author = name(e.Author)
	l.Branch = name(e.Branch)
	if e.InvocationID != "" { // a replayed event has its own
		l.Invocation = name(e.InvocationID)
	}
	if c, ok := e.Command(); ok {
		l.Command = name(c.Name)
	}

	// What plugins did with it.
	notes := plugin.NotesOf(e)
	l.notes(notes)
	l.decisions(e, notes)

	// What is in it.
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			l.part(p)
		}
	}
	l.node(e)
	l.actions(e.Actions)
	l.Calls = first(l, l.Calls)
	l.Responses = first(l, l.Responses)
	l.Media = first(l, l.Media)
	l.State = first(l, l.State)
	l.Confirmations = first(l, l.Confirmations)

	// How it was made.
	l.Error = name(e.ErrorCode)
	l.FinishReason = name(string(e.FinishReason))
	l.Interrupted = e.Interrupted
	l.Model = name(e.ModelVersion)
	if u := e.UsageMetadata; u != nil {
		l.Tokens = tokens{
			Prompt:   u.PromptTokenCount,
			Cached:   u.CachedContentTokenCount,
			Answer:   u.CandidatesTokenCount,
			Thoughts: u.ThoughtsTokenCount,
			Tools:    u.ToolUsePromptTokenCount,
			Total:    u.TotalTokenCount,
		}
	}
}

// notes fills in what plugins did with the event. The reason why a plugin failed is left out, since it is the text of an
// error.
func (l *line) notes(n plugin.Notes) {
	l.Agent = name(n.Agent)
	l.Reason = reason(n.Reason)
	for _, c := range first(l, n.Changed) {
		l.Changed = append(l.Changed, plugin.Note{Plugin: name(c.Plugin), Reason: reason(c.Reason)})
	}
	for _, c := range first(l, n.Unchecked) {
		l.Unchecked = append(l.Unchecked, plugin.Note{Plugin: name(c.Plugin), Hook: plugin.Hook(name(string(c.Hook)))})
	}
}

// part adds a part of the content.
func (l *line) part(p *genai.Part) {
	switch {
	case p == nil:
	case p.FunctionCall != nil:
		c := p.FunctionCall
		l.Calls = append(l.Calls, callRecord{Name: name(c.Name), ID: name(c.ID), Size: size(c.Args)})
	case p.FunctionResponse != nil:
		r := p.FunctionResponse
		_, failed := r.Response["error"]
		l.Responses = append(l.Responses, callRecord{Name: name(r.Name), ID: name(r.ID), Size: size(r.Response), Fail: failed})
	case p.InlineData != nil:
		l.Media = append(l.Media, media{Type: mimeType(p.InlineData.MIMEType), Size: len(p.InlineData.Data)})
	case p.FileData != nil:
		l.Media = append(l.Media, media{Type: mimeType(p.FileData.MIMEType), Link: true})
	case p.Text != "" && p.Thought:
		l.Thoughts += len(p.Text)
	case p.Text != "":
		l.Text += len(p.Text)
	case p.ExecutableCode != nil, p.CodeExecutionResult != nil:
		l.Others++
	}
}

// mimeType returns a MIME type without its parameters.
func mimeType(mime string) string {
	mime, _, _ = strings.Cut(mime, ";")
	return name(mime)
}

// size returns the length of the JSON of arguments or a response. It is 0 if they are empty, since the log does not
// distinguish empty ones from none.
func size(v map[string]any) int {
	if len(v) == 0 {
		return 0
	}
	data, err := json.Marshal(v)
	if err != nil { // the event cannot be appended either
		return 0
	}
	return len(data)
}

// node fills in the run of a workflow's node to which the event belongs, the size of its output and its route.
func (l *line) node(e *session.Event) {
	if n := e.NodeInfo; n != nil {
		l.Node = name(n.Path)
		l.Ended = n.Ended
	}
	if e.Output != nil {
		data, err := json.Marshal(e.Output)
		if err == nil { // or the event cannot be appended either
			l.Output = len(data)
		}
	}
	routes, list := e.Actions.Route.([]any)
	if !list && e.Actions.Route != nil {
		routes = []any{e.Actions.Route}
	}
	for _, route := range first(l, routes) {
		l.Route = append(l.Route, name(fmt.Sprint(route)))
	}
}

// actions fills in the event's actions.
func (l *line) actions(a session.Actions) {
	for _, key := range slices.Sorted(maps.Keys(a.StateDelta)) {
		l.State = append(l.State, name(key))
	}
	for _, key := range slices.Sorted(maps.Keys(a.StateIncrement)) {
		l.State = append(l.State, name(key))
	}
	for _, id := range slices.Sorted(maps.Keys(a.RequestedToolConfirmations)) {
		c := a.RequestedToolConfirmations[id]
		line := confirmation{Call: name(id), Confirmed: c.Confirmed, By: name(c.Name)}
		for _, asked := range c.Ask {
			line.Asked = append(line.Asked, name(asked.By))
		}
		l.Confirmations = append(l.Confirmations, line)
	}
	l.Artifacts = len(a.ArtifactDelta)
	l.TransferTo = name(a.TransferToAgent)
	if a.Compaction != nil {
		l.Through = a.Compaction.Through
	}
	if a.Rewind != nil {
		l.RewindTo = &a.Rewind.To
	}
}

// errorKinds are the errors that the line of an end distinguishes. The first that matches counts.
var errorKinds = []struct {
	err  error
	name string
}{
	{plugin.ErrTimeout, "timeout"},
	{plugin.ErrPanic, "panic"},
	{plugin.ErrInPlace, "in_place"},
	{plugin.ErrOutcome, "outcome"},
	{session.ErrFenced, "fenced"},
	{session.ErrConflict, "conflict"},
	{session.ErrIDReused, "id_reused"},
	{session.ErrInvalid, "invalid"},
	{session.ErrNotFound, "not_found"},
	{session.ErrClosed, "closed"},
	{context.DeadlineExceeded, "deadline"},
	{context.Canceled, "canceled"},
}

// newEnd returns how an invocation ended.
func newEnd(e plugin.End) *end {
	out := &end{
		Kind:   name(string(e.Kind)),
		Plugin: name(e.Plugin),
		Reason: reason(e.Reason),
	}
	if e.Err == nil {
		return out
	}
	out.Error = "error"
	for _, kind := range errorKinds {
		if errors.Is(e.Err, kind.err) {
			out.Error = kind.name
			break
		}
	}
	var failed *plugin.Error
	if errors.As(e.Err, &failed) {
		out.Plugin = name(failed.Plugin)
		out.Hook = name(string(failed.Hook))
	}
	return out
}
