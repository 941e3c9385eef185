package uistream

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/sse"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// A frame is one chunk of the protocol, or a part of a message.
type frame map[string]any

// A stream tells a client of one message of the assistant. It is used from one goroutine.
type stream struct {
	Routes
	r          *http.Request
	app        *apps.App
	key        session.Key
	run        *runs.Run // nil if another process has it
	invocation string
	message    string           // the id of the message, "" if the client goes on with one that it has
	before     []*session.Event // what other runs have added to the message

	ctx     context.Context
	out     *sse.Stream
	collect *collector // takes the chunks in place of out, if it is not nil
	err     error      // of the first write that failed

	calls    session.CallTracker
	shown    map[string]bool    // the calls that the message has, by their ids
	open     map[string]*spoken // what is being said, by the id of the event
	inStep   bool               // a step has begun: what one answer of a model is, and the results of its calls
	answered bool               // the step has results of calls: what is said next is another step
	said     bool               // the message has a text
	seen     []*session.Event   // the events of the log that have come, if another process has the run
}

// spoken is what the client was told of an event that is not whole yet.
type spoken struct{ text, thought string }

func (st *stream) send(f frame) {
	if st.collect != nil {
		st.collect.add(f)
		return
	}
	if st.err != nil {
		return
	}
	data, err := json.Marshal(f, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		err = st.out.Send("", 0, data)
	}
	st.err = err
}

// done ends the stream as the protocol does.
func (st *stream) done() {
	if st.err == nil {
		st.err = st.out.Send("", 0, []byte("[DONE]"))
	}
}

// begin tells that the message begins, and what other runs have added to it.
func (st *stream) begin() error {
	start := frame{"type": "start", "messageMetadata": frame{"invocationId": st.invocation}}
	if st.message != "" {
		start["messageId"] = st.message
	}
	st.send(start)
	for _, e := range st.before {
		st.tell(e)
	}
	return st.err
}

// broken tells why the stream ends before the run, or why the run has failed.
func (st *stream) broken(err error) {
	st.closeAll()
	st.send(frame{"type": "error", "errorText": st.Noted(st.r, err).Message})
	st.done()
}

// end tells how the run has ended.
func (st *stream) end() error {
	events := st.seen
	end := runs.EndIn(events)
	if st.run != nil {
		events = st.run.Events()
		end = st.run.End()
	}
	var failed *session.Event // the last thing that was said, if it is a failure
	for _, e := range events {
		switch {
		case e.Author == session.User, e.Marker(), len(e.FunctionResponses()) > 0:
		case e.ErrorCode != "":
			failed = e
		case e.Content != nil:
			failed = nil
		}
	}
	st.closeAll()
	st.closeStep()
	metadata := frame{"end": end.Kind}
	if end.Reason != "" {
		metadata["reason"] = end.Reason
	}
	finish := func(reason string) {
		st.send(frame{"type": "finish", "finishReason": reason, "messageMetadata": metadata})
	}
	switch {
	case end.Kind == runs.Cancelled && !errors.Is(end.Err, runs.ErrTooLong):
		st.send(frame{"type": "abort", "reason": "the run was cancelled"})
	case end.Err != nil:
		return end.Err
	case end.Kind == runs.Denied && st.said:
		finish("content-filter")
	case end.Kind == runs.Denied:
		st.send(frame{"type": "error", "errorText": end.Reason})
	case end.Kind == runs.Stopped:
		finish("other")
	case failed != nil && failed.ErrorCode == "MAX_TOKENS":
		finish("length")
	case failed != nil:
		message := failed.ErrorMessage
		if message == "" {
			message = failed.ErrorCode
		}
		st.send(frame{"type": "error", "errorText": message})
	default:
		waiting, err := st.Waiting(st.ctx, st.app, st.key)
		if err != nil && !errors.Is(err, session.ErrNotFound) {
			return err
		}
		if st.ask(waiting) {
			metadata["end"] = runs.Waiting
			finish("tool-calls")
		} else {
			metadata["end"] = runs.Done
			finish("stop")
		}
	}
	st.done()
	return st.err
}

// ask asks for the user's yes to those calls of the message that wait for it. It reports whether calls of the
// message wait for anybody.
func (st *stream) ask(waiting []sessions.WaitingCall) (waits bool) {
	mine := sessions.Mine(st.ctx, st.key, waiting)
	for _, c := range waiting {
		if !st.shown[c.ID] {
			continue // another message has it
		}
		waits = true
		isMine := slices.ContainsFunc(mine, func(m sessions.WaitingCall) bool { return m.ID == c.ID })
		switch {
		case !c.Confirm:
		case !isMine: // others decide, maybe after this user's yes
			st.available(c.ID, c.Name, c.Args)
		default:
			st.send(frame{"type": "tool-approval-request", "approvalId": c.ID, "toolCallId": c.ID})
			if c.Hint != "" {
				st.send(frame{"type": "data-approval", "id": c.ID, "data": frame{"hint": c.Hint}})
			}
		}
	}
	return waits
}

// event tells of an event. It returns the error of writing.
func (st *stream) event(e *session.Event) error {
	if st.run == nil && !e.Partial {
		st.seen = append(st.seen, e)
	}
	st.tell(e)
	return st.err
}

func (st *stream) tell(e *session.Event) {
	if e.Partial {
		st.partial(e)
		return
	}
	_, answered := st.calls.Add(e)
	if e.Author != session.User && !e.Marker() {
		st.whole(e)
		for i, c := range e.FunctionCalls() {
			st.call(callID(e, i, c.ID), c.Name, c.Args)
		}
	}
	for _, c := range answered {
		st.result(c, c.Result.Response, false)
	}
	for _, c := range st.calls.Informed(e) {
		st.result(c, c.Interim[len(c.Interim)-1].Result.Response, true)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Actions.ArtifactDelta)) {
		st.step()
		data := frame{"name": name, "version": e.Actions.ArtifactDelta[name]}
		st.send(frame{"type": "data-artifact", "id": name, "data": data})
	}
}

// step begins a step, unless one has begun. Nothing that is being said goes on in another step.
func (st *stream) step() {
	if st.answered && len(st.open) == 0 {
		st.closeStep()
	}
	if !st.inStep {
		st.inStep = true
		st.send(frame{"type": "start-step"})
	}
}

func (st *stream) closeStep() {
	if st.inStep {
		st.send(frame{"type": "finish-step"})
	}
	st.inStep = false
	st.answered = false
}

// partial sends the text of a partial event.
func (st *stream) partial(e *session.Event) {
	for _, p := range e.Parts() {
		if p.Text != "" {
			st.say(e.ID, p.Thought, p.Text)
		}
	}
}

// say sends a piece of a text, or of a thought.
func (st *stream) say(event string, thought bool, text string) {
	s := st.open[event]
	if s == nil {
		st.step()
		s = &spoken{}
		if st.open == nil {
			st.open = map[string]*spoken{}
		}
		st.open[event] = s
	}
	id, kind, told := event, "text", &s.text
	if thought {
		id, kind, told = event+"/thought", "reasoning", &s.thought
	}
	if *told == "" {
		st.send(frame{"type": kind + "-start", "id": id})
	}
	*told += text
	st.send(frame{"type": kind + "-delta", "id": id, "delta": text})
}

// whole sends what the partial events of an event have not brought yet of its texts, and its files.
func (st *stream) whole(e *session.Event) {
	var thought strings.Builder
	for _, p := range e.Parts() {
		if p.Thought {
			thought.WriteString(p.Text)
		}
	}
	text := web.TextOf(e)
	s := st.open[e.ID]
	if s != nil && (!strings.HasPrefix(text, s.text) || !strings.HasPrefix(thought.String(), s.thought)) {
		st.close(e.ID, true) // a plugin has changed it
		s = nil
	}
	if s == nil {
		s = &spoken{}
	}
	if rest := thought.String()[len(s.thought):]; rest != "" {
		st.say(e.ID, true, rest)
	}
	if rest := text[len(s.text):]; rest != "" {
		st.say(e.ID, false, rest)
	}
	st.close(e.ID, false)
	for _, p := range e.Parts() {
		if p.InlineData != nil || p.FileData != nil {
			st.step()
			f := fileOf(p)
			delete(f, "filename") // a chunk has none
			st.send(f)
		}
	}
}

// close ends the texts of an event. The protocol cannot take back what was said: what does not count, since a
// plugin has changed or withheld it, is marked, so that a page leaves it out.
func (st *stream) close(event string, withheld bool) {
	s := st.open[event]
	if s == nil {
		return
	}
	end := func(kind, id string) {
		f := frame{"type": kind + "-end", "id": id}
		if withheld {
			f["providerMetadata"] = frame{"plughook": frame{"withheld": true}}
		}
		st.send(f)
	}
	if s.thought != "" {
		end("reasoning", event+"/thought")
	}
	if s.text != "" {
		end("text", event)
		st.said = st.said || !withheld
	}
	delete(st.open, event)
}

// closeAll ends the texts whose whole event has not come: it was withheld, or the run broke off.
func (st *stream) closeAll() {
	for _, id := range slices.Sorted(maps.Keys(st.open)) {
		st.close(id, true)
	}
}

// call tells of a call.
func (st *stream) call(id, name string, args map[string]any) {
	if st.shown == nil {
		st.shown = map[string]bool{}
	}
	st.shown[id] = true
	st.step()
	text, err := json.Marshal(argsOf(args), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		text = []byte("{}")
	}
	st.send(frame{"type": "tool-input-start", "toolCallId": id, "toolName": name})
	st.send(frame{"type": "tool-input-delta", "toolCallId": id, "inputTextDelta": string(text)})
	st.available(id, name, args)
}

func (st *stream) available(id, name string, args map[string]any) {
	st.send(frame{"type": "tool-input-available", "toolCallId": id, "toolName": name, "input": argsOf(args)})
}

func argsOf(args map[string]any) map[string]any {
	if args == nil {
		return map[string]any{}
	}
	return args
}

// result tells of the response to a call. interim says that another one comes.
func (st *stream) result(c *session.Call, response map[string]any, interim bool) {
	id := callID(c.Event, slices.Index(c.Event.FunctionCalls(), c.FunctionCall), c.ID)
	if !st.shown[id] { // an earlier message has the call
		st.call(id, c.Name, c.Args)
	}
	wrong, failed := response["error"]
	switch {
	case c.Decision != nil && !c.Approved():
		st.send(frame{"type": "tool-output-denied", "toolCallId": id})
	case failed && !interim:
		text, ok := wrong.(string)
		if !ok {
			data, _ := json.Marshal(wrong, jsontext.AllowInvalidUTF8(true)) // it came as JSON
			text = string(data)
		}
		st.send(frame{"type": "tool-output-error", "toolCallId": id, "errorText": text})
	default:
		f := frame{"type": "tool-output-available", "toolCallId": id, "output": argsOf(response)}
		if interim {
			f["preliminary"] = true
		}
		st.send(f)
	}
	st.answered = true
}

// callID returns a call's ID; other kits' logs have calls without one.
func callID(e *session.Event, i int, id string) string {
	if id == "" {
		return e.ID + "/call-" + strconv.Itoa(i)
	}
	return id
}
