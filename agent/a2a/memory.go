package a2a

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	wire "github.com/plughook/plughook/internal/a2awire"
	"github.com/plughook/plughook/internal/told"
	"github.com/plughook/plughook/session"
)

// A memory is what the session's state keeps of the conversation with the remote agent.
type memory struct {
	// Context is the remote agent's name of the conversation.
	Context string `json:"context"`
	// Session is the session that it belongs to: a fork has another one.
	Session string `json:"session"`
	// Position is that of the last event that the remote agent knows.
	Position int64 `json:"position"`
	// Task waits for the answers to Calls, which have the remote agent's ids by ours; a remote id is empty if
	// the remote agent has named none.
	Task  string            `json:"task,omitzero"`
	Calls map[string]string `json:"calls,omitzero"`
}

// stateKey returns the key of the state that keeps the memory of a conversation in a branch.
func (a *remote) stateKey(branch string) string {
	if branch == "" {
		return "a2a." + a.name
	}
	return "a2a." + a.name + "@" + branch
}

// remember returns the memory, or a new one if the remote agent knows another conversation than this one.
func (a *remote) remember(inv *session.Invocation, branch string) memory {
	fresh := memory{Session: inv.Key.String()}
	data, err := json.Marshal(inv.State[a.stateKey(branch)])
	if err != nil {
		return fresh
	}
	var m memory
	if json.Unmarshal(data, &m) != nil || m.Context == "" || m.Session != fresh.Session {
		return fresh
	}
	// Since it knew the last event there was a compaction or a rewind. After a rewind it may know what does
	// not count any more.
	compacted := len(inv.Live) > 0 && inv.Live[0].Marker() && inv.Live[0].Seq == inv.Frontier
	if inv.Frontier > m.Position && !compacted {
		return fresh
	}
	return m
}

// delta returns what keeps a memory. What an agent was asked as a tool is not asked again: nothing is kept of
// that once it has ended.
func (x *exchange) delta() map[string]any {
	key := x.stateKey(x.host.Branch)
	if strings.Contains(x.host.Branch, "@") && x.mem.Task == "" {
		return map[string]any{key: nil}
	}
	value := map[string]any{
		"context":  x.mem.Context,
		"session":  x.mem.Session,
		"position": x.mem.Position,
	}
	if x.mem.Task != "" {
		calls := map[string]any{}
		for ours, theirs := range x.mem.Calls {
			calls[ours] = theirs
		}
		value["task"] = x.mem.Task
		value["calls"] = calls
	}
	return map[string]any{key: value}
}

// prepare makes the message to send: the answers that the remote agent waits for, and what was said since it
// spoke. It reports whether there is one. It ends calls that the user has answered with a yes, a no or a
// text.
func (x *exchange) prepare() bool {
	x.message = wire.Message{
		MessageID: fmt.Sprintf("%s/%s/%d", x.inv.ID, x.name, x.inv.Position),
		ContextID: x.mem.Context,
		Role:      wire.RoleUser,
	}
	said := x.news()
	if len(x.mem.Calls) > 0 {
		answers, wait := x.answers(said)
		if wait {
			return false
		}
		x.message.TaskID = x.mem.Task
		x.message.Parts = answers
		if len(answers) == 0 { // its calls were rewound or are behind a summary: nobody can answer them
			x.message.TaskID = ""
		}
		x.mem.Task = ""
		x.mem.Calls = nil
	}
	for _, p := range said {
		if !x.spoken || p.Text == nil {
			x.message.Parts = append(x.message.Parts, p)
		}
	}
	x.mem.Position = x.inv.Position
	return len(x.message.Parts) > 0 && !x.left
}

// news returns what the remote agent has not been told.
func (x *exchange) news() []wire.Part {
	var parts []wire.Part
	for _, e := range x.inv.Live {
		own := e.Author == x.name && e.Branch == x.host.Branch
		switch {
		case !agent.Sees(x.host.Branch, e.Branch):
		case e.Marker() && x.mem.Context == "" && e.Actions.Compaction != nil:
			for _, p := range wire.FromContent(e.Actions.Compaction.Content) {
				if p.Text != nil {
					p = wire.Text("For context, a summary of the conversation so far: " + *p.Text)
				}
				parts = append(parts, p)
			}
		case e.Marker(), e.Seq <= x.mem.Position && x.mem.Context != "", own && x.mem.Context != "":
		case e.Content != nil && e.Content.Role == genai.RoleModel:
			author := e.Author
			if own {
				author = "you"
			}
			for _, p := range wire.FromContent(e.Content) {
				if p.Text != nil {
					p = wire.Text(told.Context + " " + told.Text(author, *p.Text))
				}
				parts = append(parts, p)
			}
		default:
			parts = append(parts, wire.FromContent(e.Content)...)
		}
	}
	return parts
}

// answers returns the answers to the calls of the remote agent; wait says that some have none yet.
func (x *exchange) answers(said []wire.Part) (parts []wire.Part, wait bool) {
	calls := slices.DeleteFunc(session.Calls(x.inv.Live), func(c session.Call) bool {
		_, asked := x.mem.Calls[c.ID]
		return !asked || c.Event.Author != x.name
	})
	var open []session.Call
	for _, c := range calls {
		if c.Response == nil && c.Decision == nil {
			open = append(open, c)
		}
	}

	// A text in place of the only response is the response.
	text := wire.TextOf(said)
	if len(open) == 1 && open[0].Held == nil && text != "" {
		x.spoken = true
		if !x.put(session.Respond(open[0].FunctionCall, map[string]any{"result": text})) {
			return nil, true
		}
		open = nil
	} else if len(open) > 0 && text != "" {
		x.put(session.Reply("I wait for the answers to: " + names(open) + "."))
		return nil, true
	}
	if len(open) > 0 {
		return nil, true
	}
	for _, c := range calls {
		theirs := x.mem.Calls[c.ID]
		response := map[string]any{"result": text}
		switch {
		case c.Held != nil:
			yes := c.Approved()
			if c.Response == nil && !x.put(session.Respond(c.FunctionCall, map[string]any{"confirmed": yes})) {
				return nil, true
			}
			parts = append(parts, data(map[string]any{"id": theirs, "confirmed": yes}))
			continue
		case c.Result != nil:
			response = c.Result.Response
		}
		if theirs != "" {
			parts = append(parts, data(map[string]any{"id": theirs, "response": response}))
			continue
		}
		text, ok := response["result"].(string)
		if !ok {
			text, ok = response["response"].(string)
		}
		if ok && len(response) == 1 {
			parts = append(parts, wire.Text(text))
		} else {
			parts = append(parts, data(response))
		}
	}
	return parts, false
}

func names(calls []session.Call) string {
	var list []string
	for _, c := range calls {
		list = append(list, c.Name)
	}
	return strings.Join(list, ", ")
}

func data(v map[string]any) wire.Part {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		b = []byte("{}")
	}
	return wire.Part{Data: b, MediaType: "application/json"}
}
