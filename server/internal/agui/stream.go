package agui

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sse"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// A frame is one event of the protocol, or a part of one.
type frame map[string]any

// A stream tells a client of the events of one run. It is used from one goroutine.
type stream struct {
	*routes
	r     *http.Request
	app   *apps.App
	key   session.Key
	in    *request
	run   *runs.Run // nil if there is none
	input string    // the ID of the run's input, "" if there is none
	// before is the session before the run was started, nil if there was none.
	before *session.Session
	live   []*session.Event // the live view before the run was started, or joined
	after  int64            // the last position in it
	joined bool             // another request has started the run: the client is told what the live view lacks

	ctx context.Context
	out *sse.Stream
	err error // of the first write that failed

	begun bool                    // an event of the log has come
	seen  []*session.Event        // the events of the log that have come, if another process has the run
	state map[string]any          // that the client has
	open  map[string]*openMessage // what is being said, by the ID of the event
	stale bool                    // the client's messages differ from the log's: all are sent again at the end
	// rewound says that the session was rewound: its state and messages are sent at the end.
	rewound bool
}

// An openMessage is what the client was told of an event that is not whole yet.
type openMessage struct{ text, thought openText }

// An openText is a text that is streamed.
type openText struct {
	begun bool
	text  string
}

func (st *stream) send(f frame) {
	if st.err != nil {
		return
	}
	data, err := json.Marshal(f, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		err = st.out.Send("", 0, data)
	}
	st.err = err
}

// event tells of an event. It returns the error of writing.
func (st *stream) event(e *session.Event) error {
	if e.Partial {
		st.partial(e)
		return st.err
	}
	if st.run == nil {
		st.seen = append(st.seen, e)
	}
	if !st.begun {
		st.begun = true
		st.begin(e)
	}
	switch {
	case e.Actions.Rewind != nil:
		st.rewound = true
		return nil
	case e.Marker():
		st.send(activity(e, "ACTIVITY_SNAPSHOT", "messageId"))
	case e.Author == session.User:
		// The client has what it has sent; unless a plugin has changed it, or another client has sent it.
		if len(plugin.NotesOf(e).Changed) > 0 || e.Content != nil && e.Text() != "" && !st.has(e.ID) {
			st.stale = true
		}
	case st.has(e.ID) && !st.joined: // the input was sent before, and the client got the answer
		i := slices.IndexFunc(st.in.Messages, func(m message) bool { return m.ID == e.ID })
		var text string
		_ = json.Unmarshal(st.in.Messages[i].Content, &text)
		st.stale = st.stale || text != web.TextOf(e)
		return st.err
	default:
		st.whole(e)
	}
	st.calls(e)
	st.stateDelta(&e.Actions)
	st.decisions(e)
	return st.err
}

// begin sends the session's state if the client has another one, so that the changes that follow apply to it.
func (st *stream) begin(first *session.Event) {
	s := st.before
	if s == nil || first.Seq != s.Position+1 {
		// What this run has changed since may be in it, and is told again.
		var err error
		s, err = st.app.Sessions().Get(st.ctx, st.key)
		if err != nil {
			return
		}
		if st.input != "" && first.Seq == 1 {
			maps.DeleteFunc(s.State, func(key string, _ any) bool { return !session.SharedKey(key) })
		}
	}
	var has map[string]any
	_ = json.Unmarshal(st.in.State, &has) // whatever is not an object is not the state
	was, _ := json.Marshal(has, json.Deterministic(true))
	is, _ := json.Marshal(s.State, json.Deterministic(true))
	st.state = maps.Clone(s.State)
	if len(has)+len(s.State) > 0 && !bytes.Equal(was, is) {
		st.sendState(s.State)
	}
}

func (st *stream) sendState(state map[string]any) {
	st.state = maps.Clone(state)
	if state == nil {
		state = map[string]any{}
	}
	st.send(frame{"type": "STATE_SNAPSHOT", "snapshot": state})
}

// has reports whether the client has sent a message with an ID.
func (st *stream) has(id string) bool {
	return slices.ContainsFunc(st.in.Messages, func(m message) bool { return m.ID == id })
}

// partial sends the text of a partial event.
func (st *stream) partial(e *session.Event) {
	// The log has an event before its run tells of it.
	whole := func(other *session.Event) bool { return other.ID == e.ID }
	if e.Content == nil || st.joined && slices.ContainsFunc(st.live, whole) {
		return
	}
	if st.open == nil {
		st.open = map[string]*openMessage{}
	}
	s := st.open[e.ID]
	if s == nil {
		s = &openMessage{}
		st.open[e.ID] = s
	}
	for _, p := range e.Content.Parts {
		switch {
		case p == nil || p.Text == "":
		case p.Thought:
			st.think(e, &s.thought, p.Text)
		default:
			st.say(e, &s.text, p.Text)
		}
	}
}

func (st *stream) say(e *session.Event, u *openText, text string) {
	if !u.begun {
		u.begun = true
		st.send(frame{"type": "TEXT_MESSAGE_START", "messageId": e.ID, "role": "assistant", "name": e.Author})
	}
	u.text += text
	st.send(frame{"type": "TEXT_MESSAGE_CONTENT", "messageId": e.ID, "delta": text})
}

func (st *stream) think(e *session.Event, u *openText, text string) {
	id := thoughtID(e.ID)
	if !u.begun {
		u.begun = true
		st.send(frame{"type": "REASONING_START", "messageId": id})
		st.send(frame{"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"})
	}
	u.text += text
	st.send(frame{"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": text})
}

// whole sends what the partial events of an event have not brought yet of its text and thoughts.
func (st *stream) whole(e *session.Event) {
	text := web.TextOf(e)
	thought := thoughtOf(e)
	s := st.open[e.ID]
	if s == nil {
		s = &openMessage{}
	}
	rest, fits := strings.CutPrefix(thought, s.thought.text)
	st.stale = st.stale || !fits
	if fits && rest != "" {
		st.think(e, &s.thought, rest)
	}
	rest, fits = strings.CutPrefix(text, s.text.text)
	st.stale = st.stale || !fits
	if fits && rest != "" {
		st.say(e, &s.text, rest)
	}
	st.close(e.ID, s)
}

// close ends the messages that were begun for an event.
func (st *stream) close(id string, s *openMessage) {
	if s.thought.begun {
		st.send(frame{"type": "REASONING_MESSAGE_END", "messageId": thoughtID(id)})
		st.send(frame{"type": "REASONING_END", "messageId": thoughtID(id)})
	}
	if s.text.begun {
		st.send(frame{"type": "TEXT_MESSAGE_END", "messageId": id})
	}
	delete(st.open, id)
}

// closeAll ends the messages whose whole event has not come: it was withheld, or the run broke off.
func (st *stream) closeAll() {
	for _, id := range slices.Sorted(maps.Keys(st.open)) {
		st.close(id, st.open[id])
		st.stale = true
	}
}

// calls tells of an event's calls and responses.
func (st *stream) calls(e *session.Event) {
	for i, c := range e.FunctionCalls() {
		id := callID(e, i, c.ID)
		st.send(frame{"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": c.Name, "parentMessageId": e.ID})
		st.send(frame{"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": jsonText(c.Args)})
		st.send(frame{"type": "TOOL_CALL_END", "toolCallId": id})
	}
	for i, a := range e.FunctionResponses() {
		id := callID(e, i, a.ID)
		known := func(m message) bool { return m.Role == "tool" && m.ToolCallID == id }
		if !st.joined && slices.ContainsFunc(st.in.Messages, known) {
			continue
		}
		st.send(frame{"type": "TOOL_CALL_RESULT", "messageId": resultID(e, id), "toolCallId": id, "content": jsonText(a.Response), "role": "tool"})
	}
}

// stateDelta tells of what an event does to the state, as a JSON Patch (RFC 6902). "add" sets a key, whether
// it was there or not.
func (st *stream) stateDelta(a *session.Actions) {
	if st.state == nil {
		st.state = map[string]any{}
	}
	var patch []frame
	set := func(key string, v any) {
		path := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		_, is := st.state[key]
		switch {
		case strings.HasPrefix(key, session.TempPrefix):
		case v != nil:
			st.state[key] = v
			patch = append(patch, frame{"op": "add", "path": path, "value": v})
		case is:
			delete(st.state, key)
			patch = append(patch, frame{"op": "remove", "path": path})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(a.StateDelta)) {
		set(key, a.StateDelta[key])
	}
	for _, key := range slices.Sorted(maps.Keys(a.StateIncrement)) {
		if _, ok := a.StateDelta[key]; ok {
			continue // it is applied after the increment
		}
		if s, err := st.app.Sessions().Get(st.ctx, st.key); err == nil {
			set(key, s.State[key]) // others may have added to it
		}
	}
	if len(patch) > 0 {
		st.send(frame{"type": "STATE_DELTA", "delta": patch})
	}
}

// decisions tells what plugins did to an event.
func (st *stream) decisions(e *session.Event) {
	notes := plugin.NotesOf(e)
	tell := func(name, action, reason string) {
		value := frame{"plugin": name, "action": action, "eventId": e.ID}
		if reason != "" {
			value["reason"] = reason
		}
		st.send(frame{"type": "CUSTOM", "name": "plughook.decision", "value": value})
	}
	if name, ok := e.Plugin(); ok {
		tell(name, "emit", notes.Reason)
	}
	for _, n := range notes.Changed {
		tell(n.Plugin, "replace", n.Reason)
	}
	for _, n := range notes.Unchecked {
		tell(n.Plugin, "unchecked", n.Reason)
	}
	if notes.Stopped != "" {
		tell(notes.Stopped, "stop", notes.Reason)
	}
}

func jsonText(v map[string]any) string {
	if v == nil {
		return "{}"
	}
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return "{}"
	}
	return string(data)
}
