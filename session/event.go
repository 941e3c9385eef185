package session

import (
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"google.golang.org/genai"
)

// User is the author of what the caller of a run puts into it.
const User = "user"

// PluginPrefix begins the author of every event that a plugin emitted, and of no other; the plugin's
// name follows.
const PluginPrefix = "plugin/"

// Denied is the error code of an event that says a policy refused something.
const Denied = "DENIED"

// Cancelled is the error code of the event that the runner appends where somebody has cancelled a run (see
// Service.Cancel). Its author is the user.
const Cancelled = "CANCELLED"

// NotesKey is the key in an event's CustomMetadata under which the runner notes what plugins did to it (see
// plugin.Notes). It takes away what inputs, agents and plugins write there, unless it restores a record. Stores
// and imported files are believed.
const NotesKey = "plughook"

// An Event is one entry of a session's log. Its JSON form is that of the Agent Development Kit
// (camelCase), with the additions named below; keys that are not known here are kept in Extra, and a
// field that nobody changed is written as it was read, to the byte, unknown keys and long numbers
// inside it included.
//
// An event that was appended, offered or yielded is shared: treat it, and all that it points to, as
// read only. To change one, change a Clone.
type Event struct {
	// ID identifies the event in its session. Append sets a UUIDv7 where it is empty.
	ID string `json:"id,omitzero" event:"identity"`
	// Seq is the event's position in its session: dense, from 1, set by the store. Ours, not the kit's.
	Seq int64 `json:"seq,omitzero" event:"identity"`
	// InvocationID names the invocation that the event belongs to.
	InvocationID string `json:"invocationId,omitzero" event:"identity"`
	// Author is "user", an agent's name, or "plugin/" and a plugin's name.
	Author string `json:"author,omitzero" event:"identity"`
	// Branch is the path of agents, "a.b.c", whose conversation the event belongs to; "" is everyone's.
	Branch string `json:"branch,omitzero" event:"identity"`
	// Timestamp is when the event was made. It orders nothing: Seq does. It is read as RFC 3339 or as
	// seconds since 1970 and written as RFC 3339. Append sets it where it is zero.
	Timestamp time.Time `json:"timestamp,omitzero" event:"identity"`

	Content *genai.Content `json:"content,omitzero" event:"record"`
	// Partial marks a delta of an event that is being made: what came since the partial before it. The
	// whole event follows, with the same ID. Partial events are never stored.
	Partial bool `json:"partial,omitzero" event:"flag"`
	// TurnComplete and Interrupted are of live sessions: the model has finished, or was cut short. Interrupted
	// alone also marks the beginning of an answer that never became whole: what was shown of it, or, with an
	// ErrorCode, what the model had said when it failed.
	TurnComplete bool `json:"turnComplete,omitzero" event:"flag"`
	Interrupted  bool `json:"interrupted,omitzero" event:"flag"`
	// ErrorCode says that something failed, and how, for programs; ErrorMessage for people.
	ErrorCode    string `json:"errorCode,omitzero" event:"word"`
	ErrorMessage string `json:"errorMessage,omitzero" event:"text"`
	// FinishReason says why the model has ended its answer, UsageMetadata how many tokens it took.
	FinishReason  genai.FinishReason `json:"finishReason,omitzero" event:"word"`
	UsageMetadata *Usage             `json:"usageMetadata,omitzero" event:"report,application"`
	// GroundingMetadata and CitationMetadata name the sources of the model's answer.
	GroundingMetadata *genai.GroundingMetadata `json:"groundingMetadata,omitzero" event:"report"`
	CitationMetadata  *genai.CitationMetadata  `json:"citationMetadata,omitzero" event:"report"`
	// ModelVersion names the model as its service does.
	ModelVersion string `json:"modelVersion,omitzero" event:"word,application"`
	// CustomMetadata is free for callers, agents and plugins, but for NotesKey.
	CustomMetadata map[string]any `json:"customMetadata,omitzero" event:"json"`
	// LongRunningToolIDs are the ids of function calls whose answer comes later than this invocation.
	LongRunningToolIDs []string `json:"longRunningToolIds,omitzero" event:"flag"`
	Actions            Actions  `json:"actions,omitzero"`

	// Output is what a node of a workflow hands to the nodes after it: any JSON value; nil is none. NodeInfo says
	// which node. It is not shown to people; Content is.
	Output any `json:"output,omitzero" event:"json"`
	// NodeInfo names the node run of a workflow that the event belongs to; nil if it belongs to none (see Nodes).
	NodeInfo *NodeInfo `json:"nodeInfo,omitzero" event:"record,application"`

	// Extra holds the event's keys that have no field here.
	Extra map[string]jsontext.Value `json:",embed"`

	origin jsontext.Value // what the event was read from, nil if it was made here
}

// Usage is how many tokens a model's answer took.
type Usage = genai.GenerateContentResponseUsageMetadata

// NodeInfo says which node run of a workflow an event belongs to, and what the event is to it.
type NodeInfo struct {
	// Path names the run: the path of its workflow's run, "/", its own name, "@" and the number or the name of the
	// run, as in "desk@inv-1/review@2". A workflow's own run has one element. A name has no "/" in it. What stands
	// behind the first "@" tells the workflow's runs apart in the whole session and is no number; other kits have a
	// number there, which they count anew in each invocation, or no "@" at all.
	Path string `json:"path"`
	// OutputFor lists the paths of the runs whose output the event's output is, the innermost first: the run's own,
	// and those of workflows that it is the last node of. Other kits write it; where it is empty, an output is
	// that of Path.
	OutputFor []string `json:"outputFor,omitzero"`
	// MessageAsOutput says that the text of the event's content is the run's output.
	MessageAsOutput bool `json:"messageAsOutput,omitzero"`
	// Ended says that the run has ended: this event is its last and has its output, its route and its state.
	// A run without such an event is run again when its workflow goes on. Ours, not the kit's.
	Ended bool `json:"ended,omitzero"`
	// OutputOf is the path of the run whose output is that of this one, which has none of its own. Only an event that
	// ends a run has it. The end of the run that it names lists this one in OutputFor. Ours, not the kit's.
	OutputOf string `json:"outputOf,omitzero"`
	// Final says of a failed attempt that it was the last one: nothing tries the run again by itself. Ours, not the kit's.
	Final bool `json:"final,omitzero"`
	// Inputs has the digests of the inputs of runs that a function has begun (workflow.Do), so that no other input
	// gets their outputs: that of Path's own run, and behind each "/" that of the run around it. It is empty for
	// runs that have another beginning, and for those of which an earlier event has it. Ours, not the kit's.
	Inputs string `json:"inputs,omitzero"`

	// Extra holds the keys that have no field here.
	Extra map[string]jsontext.Value `json:",embed"`
}

// Plugin returns the name of the plugin that emitted the event. ok is false if the author is the user or an agent.
func (e *Event) Plugin() (name string, ok bool) {
	if !strings.HasPrefix(e.Author, PluginPrefix) {
		return "", false
	}
	return e.Author[len(PluginPrefix):], true
}

// FromAgent reports whether an agent is the event's author: neither the user nor a plugin.
func (e *Event) FromAgent() bool {
	return e.Author != User && !strings.HasPrefix(e.Author, PluginPrefix)
}

// WasRead reports whether the event was read from JSON, so that it may have keys inside of its fields that are not known
// here.
func (e *Event) WasRead() bool { return e.origin != nil }

// WithoutUnknown returns a copy that is written from its fields alone: the keys that are not known
// here, in Extra and inside of the fields, are gone. It is for who must have seen all that is kept.
func (e *Event) WithoutUnknown() *Event {
	c := e.Clone()
	c.origin, c.Extra, c.Actions.Extra = nil, nil, nil
	if c.Actions.Compaction != nil {
		c.Actions.Compaction.Extra = nil
	}
	if c.NodeInfo != nil {
		c.NodeInfo.Extra = nil
	}
	for id, conf := range c.Actions.RequestedToolConfirmations {
		conf.Extra = nil
		c.Actions.RequestedToolConfirmations[id] = conf
	}
	return c
}

// Text returns the concatenated text of the event's content, thoughts left out. That of a compaction is empty,
// since what stands in for earlier events is Actions.Compaction.Content: who draws a live view begins with that.
func (e *Event) Text() string {
	var text strings.Builder
	for _, p := range e.Parts() {
		if !p.Thought {
			text.WriteString(p.Text)
		}
	}
	return text.String()
}

// FunctionCalls returns the function calls that the event makes: those of its content. A user makes none: what a caller
// writes as a call is content like any other. Whoever looks at parts instead asks Makes.
func (e *Event) FunctionCalls() []*genai.FunctionCall {
	var calls []*genai.FunctionCall
	if e.Author == User {
		return nil
	}
	for _, p := range e.Parts() {
		if p.FunctionCall != nil {
			calls = append(calls, p.FunctionCall)
		}
	}
	return calls
}

// Makes reports whether a part of the event's content is a call that the event makes (see FunctionCalls).
func (e *Event) Makes(p *genai.Part) bool { return p.FunctionCall != nil && e.Author != User }

// FunctionResponses returns the function responses of the event's content. A user's counts only if it answers a call that
// is open: Calls and CallTracker say which. The runner takes no others from a caller.
func (e *Event) FunctionResponses() []*genai.FunctionResponse {
	var responses []*genai.FunctionResponse
	for _, p := range e.Parts() {
		if p.FunctionResponse != nil {
			responses = append(responses, p.FunctionResponse)
		}
	}
	return responses
}

// Parts returns the parts of the event's content. There is no nil among them, whatever the content has.
func (e *Event) Parts() []*genai.Part {
	if e.Content == nil {
		return nil
	}
	parts := e.Content.Parts
	if slices.Contains(parts, nil) {
		parts = slices.DeleteFunc(slices.Clone(parts), func(p *genai.Part) bool { return p == nil })
	}
	return parts
}

// Message returns an event with a user's text, to be put into a run.
func Message(text string) *Event {
	return &Event{Author: User, Content: genai.NewContentFromText(text, genai.RoleUser)}
}

// Reply returns an event with a model's text, to be yielded by an agent or emitted by a plugin.
func Reply(text string) *Event {
	return &Event{Content: genai.NewContentFromText(text, genai.RoleModel)}
}

// NewID returns a fresh UUIDv7, which sorts by the time it was made.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }
