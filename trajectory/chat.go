package trajectory

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/genaischema"
	"github.com/plughook/plughook/session"
)

// An Omitted counts what a format has no place for.
type Omitted struct {
	Unanswered int      // calls without a response: a chat answers them with the words that the model is shown
	Responses  int      // responses to calls that are not in the view
	Tools      []string // the names that Responses have, each once
	Messages   int      // messages after the last of an assistant, with which a chat ends
	Chats      int      // chats in which no assistant says anything
	Parts      int      // parts that are neither text, call nor response, such as files
	Events     int      // a plugin's notes, and what was said before the first message or in an agent's call of another
}

// Add adds another count.
func (o *Omitted) Add(p Omitted) {
	o.Unanswered += p.Unanswered
	o.Responses += p.Responses
	for _, name := range p.Tools {
		o.addTool(name)
	}
	o.Messages += p.Messages
	o.Chats += p.Chats
	o.Parts += p.Parts
	o.Events += p.Events
}

func (o *Omitted) addTool(name string) {
	if i, found := slices.BinarySearch(o.Tools, name); !found {
		o.Tools = slices.Insert(o.Tools, i, name)
	}
}

// String names what is not 0, "" if all is.
func (o Omitted) String() string {
	var counts []string
	for _, c := range []struct {
		n    int
		what string
	}{
		{o.Unanswered, "calls without a response (they are answered as a model is shown them)"},
		{o.Responses, "responses without their call (" + strings.Join(o.Tools, ", ") + ")"},
		{o.Messages, "messages after the last of an assistant"},
		{o.Chats, "conversations in which no assistant says anything"},
		{o.Parts, "parts that are no text (files, code)"},
		{o.Events, "events that are no part of the conversation"},
	} {
		if c.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(counts, ", ")
}

// pending is the response that a model is shown to a call that has none yet.
const pending = `{"status":"pending: there is no answer yet"}`

type chatMessage struct {
	Role       string     `json:"role"`
	ToolCallID string     `json:"tool_call_id,omitzero"`
	Name       string     `json:"name,omitzero"`
	Content    *string    `json:"content,omitzero"`
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
}

// A Chat is what a chat has beside the conversation.
type Chat struct {
	// System is the system instruction, "" for none. A log does not have it.
	System string
	// Tools are declarations of functions, as a log does not have them either.
	Tools []*genai.FunctionDeclaration
	// Reward is how good the conversation is; nil if nobody said.
	Reward *float64
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string `json:"name"`
		Description string `json:"description,omitzero"`
		Parameters  any    `json:"parameters,omitzero"`
	} `json:"function"`
}

// WriteChat writes a conversation as one line, {"messages": [...], "tools": [...], "reward": 1}, as OpenAI's fine-tuning and
// most trainers read it; tools and reward are left out if there are none. The last message is an assistant's: what came
// after it is left out, and so is a conversation without any. Each call before that has its response right after, one
// that has none yet the words that the model is shown. An id that repeats gets a number. Thoughts are left out, and so are
// responses without their call, what a plugin says, and the conversation in which an agent answers another one's call,
// unless it is the only agent of the Extract.
func WriteChat(w io.Writer, x *Extract, chat Chat) (Omitted, error) {
	d := newDocument(w)
	written := 0
	var held []chatMessage // they are written with the next message of an assistant
	add := func(m chatMessage) {
		held = append(held, m)
		if m.Role != "assistant" {
			return
		}
		if written == 0 {
			d.tokens(jsontext.BeginObject, text("messages"), jsontext.BeginArray)
		}
		for _, m := range held {
			d.value(m)
		}
		written += len(held)
		held = nil
	}
	if chat.System != "" {
		add(chatMessage{Role: "system", Content: &chat.System})
	}
	if x.summary != nil {
		summary := x.summaryText()
		add(chatMessage{Role: "user", Content: &summary})
	}
	omitted := x.messages(add)
	if written == 0 {
		return Omitted{Chats: 1}, d.end()
	}
	omitted.Messages = len(held)
	d.tokens(jsontext.EndArray)
	if len(chat.Tools) > 0 {
		d.member("tools", chatTools(chat.Tools))
	}
	if chat.Reward != nil {
		d.member("reward", *chat.Reward)
	}
	d.tokens(jsontext.EndObject)
	return omitted, d.end()
}

func chatTools(declared []*genai.FunctionDeclaration) []chatTool {
	list := make([]chatTool, len(declared))
	for i, f := range declared {
		list[i].Type = "function"
		list[i].Function.Name = f.Name
		list[i].Function.Description = f.Description
		list[i].Function.Parameters = f.ParametersJsonSchema
		if f.ParametersJsonSchema == nil && f.Parameters != nil {
			list[i].Function.Parameters = genaischema.ToJSON(f.Parameters)
		}
	}
	return list
}

// messages adds the messages of the conversation, and counts what is none.
func (x *Extract) messages(add func(chatMessage)) Omitted {
	var omitted Omitted
	index := x.index()
	callIDs := map[string]bool{} // as in the log
	for _, c := range x.calls {
		callIDs[c.ID] = true
	}
	ids := newIDs("-")
	for _, en := range x.entries {
		index.countOmitted(en.Event, &omitted)
		message := en.Text()
		switch {
		case x.agent == "" && callee(en.Branch, callIDs):
			omitted.Events++
			continue
		case en.Author == session.User:
			if message != "" {
				add(chatMessage{Role: "user", Content: &message})
			}
			continue
		case !isAgents(en.Event):
			if message != "" {
				omitted.Events++
			}
			continue
		}

		// An agent's text and calls are one message, and each call's response is one after it.
		m := chatMessage{Role: "assistant", Name: en.Author}
		if message != "" {
			m.Content = &message
		}
		var responses []chatMessage
		for _, c := range index.callsOf(en.Event) {
			id := ids.of(c.ID)
			m.ToolCalls = append(m.ToolCalls, chatCall{ID: id, Type: "function", Function: chatFunction{
				Name:      cmp.Or(c.Name, "unknown"),
				Arguments: string(x.arguments(c)),
			}})
			response := pending
			if latest, _ := x.response(c); latest != nil {
				response = string(latest)
			} else {
				omitted.Unanswered++
			}
			responses = append(responses, chatMessage{Role: "tool", ToolCallID: id, Content: &response})
		}
		if m.Content == nil && len(m.ToolCalls) == 0 {
			continue
		}
		add(m)
		for _, response := range responses {
			add(response)
		}
	}
	return omitted
}

// uniqueIDs gives each call an id that no other has.
type uniqueIDs struct {
	separator string // between an id and its number
	taken     map[string]bool
	next      map[string]int // by the id in the log, the number that is tried next
}

func newIDs(separator string) uniqueIDs {
	return uniqueIDs{separator: separator, taken: map[string]bool{}, next: map[string]int{}}
}

// of returns the id itself, or, if it is taken or empty, with a number.
func (u *uniqueIDs) of(id string) string {
	unique := id
	if id == "" {
		id = "call"
	}
	for unique == "" || u.taken[unique] {
		u.next[id] = max(u.next[id]+1, 2)
		unique = fmt.Sprintf("%s%s%d", id, u.separator, u.next[id])
	}
	u.taken[unique] = true
	return unique
}

// A callIndex finds the calls of an Extract. A response is written with its call, and not again where it stands in
// the log.
type callIndex struct {
	calls  map[*genai.FunctionCall]session.Call
	joined map[*genai.FunctionResponse]bool // the responses that have their call
}

func (x *Extract) index() callIndex {
	index := callIndex{
		calls:  map[*genai.FunctionCall]session.Call{},
		joined: map[*genai.FunctionResponse]bool{},
	}
	for _, c := range x.calls {
		index.calls[c.FunctionCall] = c
		index.joined[c.Result] = true
		for _, i := range c.Interim {
			index.joined[i.Result] = true
		}
	}
	return index
}

// callsOf returns the calls that an event makes.
func (index callIndex) callsOf(e *session.Event) []session.Call {
	var calls []session.Call
	for _, call := range e.FunctionCalls() {
		if c, ok := index.calls[call]; ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// countOmitted counts the parts of an event that are neither text, call nor response, and its responses without a
// call.
func (index callIndex) countOmitted(e *session.Event, omitted *Omitted) {
	for _, p := range e.Parts() {
		if p.InlineData != nil || p.FileData != nil || p.ExecutableCode != nil || p.CodeExecutionResult != nil {
			omitted.Parts++
		}
	}
	for _, r := range e.FunctionResponses() {
		if !index.joined[r] {
			omitted.Responses++
			omitted.addTool(cmp.Or(r.Name, "unknown"))
		}
	}
}

// callee reports whether a branch is the conversation in which an agent answers a call ("agent@call"), or below
// it.
func callee(branch string, ids map[string]bool) bool {
	for element := range strings.SplitSeq(branch, ".") {
		_, id, ok := strings.Cut(element, "@")
		if ok && id != "" && ids[id] {
			return true
		}
	}
	return false
}
