package kit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// A span is a step of a run, as the kit's pages draw it. Its IDs are hexadecimal texts, since JavaScript has
// no whole numbers of 64 bits. It is made of the log alone: a span ends when its event was made, and begins
// when the event before it was.
type span struct {
	Name   string  `json:"name"`
	ID     string  `json:"span_id"`
	Trace  string  `json:"trace_id"`
	Parent *string `json:"parent_span_id"`
	Start  int64   `json:"start_time"` // nanoseconds since 1970
	End    int64   `json:"end_time"`
	// Attributes are never null, and numbers of tokens are numbers: newer pages refuse all spans otherwise.
	Attributes map[string]any `json:"attributes"`
}

// Names of attributes.
const (
	attrInvocation = "gcp.vertex.agent.invocation_id"
	attrSession    = "gcp.vertex.agent.session_id"
	attrEvent      = "gcp.vertex.agent.event_id"
	attrRequest    = "gcp.vertex.agent.llm_request"
	attrResponse   = "gcp.vertex.agent.llm_response"
)

// Bounds of what is answered: a page that gets more is of no use.
const (
	tracedInvocations = 200 // the last of a session
	tracedContents    = 20  // before a model call, of its invocation
)

// spansOf returns the spans of a session: for each invocation one for itself, one for each agent in it, and
// below these one for each model call and each tool's. An invocation without a model call is left out: older
// pages stop at one.
func spansOf(key session.Key, log []*session.Event) []span {
	// Which events belong to which invocation?
	var ids []string
	invocations := map[string][]*session.Event{}
	for _, e := range log {
		if invocations[e.InvocationID] == nil {
			ids = append(ids, e.InvocationID)
		}
		invocations[e.InvocationID] = append(invocations[e.InvocationID], e)
	}

	spans := []span{}
	message := "(no message)" // the user's last one
	for i, id := range ids {
		t := &tracing{key: key, invocation: id, events: invocations[id]}
		for _, e := range t.events {
			if text := e.Text(); e.Author == session.User && text != "" {
				message = text
			}
		}
		if i >= len(ids)-tracedInvocations && slices.ContainsFunc(t.events, isModelCall) {
			spans = append(spans, t.spans(message)...)
		}
	}
	return spans
}

// isModelCall reports whether an event is what a model has answered to an agent.
func isModelCall(e *session.Event) bool {
	if !e.FromAgent() || e.Content == nil {
		return false
	}
	return e.Content.Role == genai.RoleModel && len(e.Content.Parts) > len(e.FunctionResponses())
}

// tracing makes the spans of one invocation.
type tracing struct {
	key        session.Key
	invocation string
	events     []*session.Event
	list       []span
}

// id returns an ID of so many bytes for a thing of the invocation. The same log has the same IDs.
func (t *tracing) id(bytes int, thing string) string {
	sum := sha256.Sum256([]byte(t.key.String() + "\x00" + t.invocation + "\x00" + thing))
	return hex.EncodeToString(sum[:bytes])
}

// begin adds a span for a thing of the invocation. An empty parent is none.
func (t *tracing) begin(name, thing, parent string, from, to *session.Event, attributes map[string]any) {
	s := span{
		Name:       name,
		ID:         t.id(8, thing),
		Trace:      t.id(16, ""),
		Start:      from.Timestamp.UnixNano(),
		End:        max(from.Timestamp.UnixNano(), to.Timestamp.UnixNano()),
		Attributes: attributes,
	}
	if parent != "" {
		id := t.id(8, parent)
		s.Parent = &id
	}
	t.list = append(t.list, s)
}

// spans returns the invocation's spans; message is the user's message that it is about.
func (t *tracing) spans(message string) []span {
	first := t.events[0]
	last := t.events[len(t.events)-1]
	t.begin("invocation", "run", "", first, last, map[string]any{})
	agents := map[string]bool{}
	for i, e := range t.events {
		before := t.events[max(i-1, 0)]
		owner := agent.Owner(e)
		if owner == "" || e.Author == session.User {
			continue
		}
		under := "agent " + owner + " in " + e.Branch
		if !agents[under] {
			agents[under] = true
			t.begin("invoke_agent "+owner, under, "run", before, t.lastOf(owner, e.Branch), map[string]any{
				"gen_ai.operation.name":  "invoke_agent",
				"gen_ai.conversation.id": t.key.ID,
				"gen_ai.agent.name":      owner,
			})
		}
		if isModelCall(e) {
			t.begin("call_llm", "call "+e.ID, under, before, e, t.modelCall(i, message))
		}
		for _, response := range e.FunctionResponses() {
			t.tool(e, response, under)
		}
	}
	return t.list
}

// lastOf returns the last event of an agent in a branch.
func (t *tracing) lastOf(owner, branch string) *session.Event {
	for _, e := range slices.Backward(t.events) {
		if e.Branch == branch && agent.Owner(e) == owner {
			return e
		}
	}
	return t.events[0]
}

// tool adds the span of a tool's call, from the call to its response.
func (t *tracing) tool(e *session.Event, response *genai.FunctionResponse, under string) {
	call := &genai.FunctionCall{}
	asked := e
	for _, other := range t.events {
		for _, c := range other.FunctionCalls() {
			if c.ID == response.ID && other.Seq < e.Seq {
				call = c
				asked = other
				under = "call " + other.ID
			}
		}
	}
	if !isModelCall(asked) {
		under = "run" // a plugin, or an earlier invocation, has made the call
	}
	t.begin("execute_tool "+response.Name, "tool "+e.ID+response.ID, under, asked, e, map[string]any{
		"gen_ai.operation.name":           "execute_tool",
		"gen_ai.tool.name":                response.Name,
		"gen_ai.tool.call.id":             response.ID,
		attrEvent:                         e.ID,
		attrRequest:                       "{}",
		attrResponse:                      "{}",
		"gcp.vertex.agent.tool_call_args": text(orEmpty(call.Args)),
		"gcp.vertex.agent.tool_response":  text(orEmpty(response.Response)),
	})
}

// modelCall returns the attributes of the model call that event i has the answer of. Its request begins with
// a text of the user: older pages name the trace by it.
func (t *tracing) modelCall(i int, message string) map[string]any {
	e := t.events[i]
	contents := []*wireContent{}
	for _, earlier := range t.events[max(0, i-tracedContents):i] {
		if c := traced(earlier); c != nil && earlier.Author != session.User &&
			agent.Sees(e.Branch, earlier.Branch) {
			contents = append(contents, c)
		}
	}
	user, err := contentOf(genai.NewContentFromText(message, genai.RoleUser))
	if err == nil {
		contents = slices.Insert(contents, 0, user)
	}
	request := map[string]any{"contents": contents}
	response := map[string]any{"content": traced(e)}
	attributes := map[string]any{
		attrInvocation: t.invocation,
		attrSession:    t.key.ID,
		attrEvent:      e.ID,
	}
	if e.ModelVersion != "" {
		request["model"] = e.ModelVersion
		attributes["gen_ai.request.model"] = e.ModelVersion
	}
	if e.FinishReason != "" {
		attributes["gen_ai.response.finish_reasons"] = []string{strings.ToLower(string(e.FinishReason))}
	}
	if u := e.UsageMetadata; u != nil {
		response["usageMetadata"] = u
		attributes["gen_ai.usage.input_tokens"] = int64(u.PromptTokenCount)
		attributes["gen_ai.usage.output_tokens"] = int64(u.CandidatesTokenCount) + int64(u.ThoughtsTokenCount)
	}
	attributes[attrRequest] = text(request)
	attributes[attrResponse] = text(response)
	return attributes
}

// traced returns an event's content as a trace has it: without the bytes of files, and with responses in a
// role of their own, so that the only text of the user is the first.
func traced(e *session.Event) *wireContent {
	if e.Content == nil {
		return nil
	}
	c := &genai.Content{Role: e.Content.Role}
	for _, p := range e.Content.Parts {
		if p != nil && p.InlineData != nil {
			p = &genai.Part{
				Text: fmt.Sprintf("(%d bytes of %s)", len(p.InlineData.Data), p.InlineData.MIMEType),
			}
		}
		c.Parts = append(c.Parts, p)
	}
	if c.Role != genai.RoleModel {
		c.Role = "function"
	}
	wire, err := contentOf(c)
	if err != nil {
		return nil
	}
	return wire
}

// text returns a value as JSON in a text.
func text(v any) string {
	data, err := encoded(v)
	if err != nil {
		return "{}"
	}
	return string(data)
}
