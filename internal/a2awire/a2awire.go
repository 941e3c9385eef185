// Package a2awire has the messages of the Agent2Agent protocol, A2A 1.0 (https://a2a-protocol.org), in its
// JSON-RPC form: those that the server of this module answers with, and that its agent for remote agents
// reads.
//
// A new message or field of the protocol: a type or field here, in the spelling of the protocol's JSON. What
// it means for a session belongs to server/internal/a2a, and to agent/a2a for remote agents.
package a2awire

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"
)

// Version is the version of the protocol, as the header VersionHeader names it. Without the header a
// client means version 0.3.
const (
	Version       = "1.0"
	VersionHeader = "A2A-Version"
)

// The methods that are used.
const (
	SendMessage          = "SendMessage"
	SendStreamingMessage = "SendStreamingMessage"
	GetTask              = "GetTask"
	ListTasks            = "ListTasks"
	CancelTask           = "CancelTask"
	SubscribeToTask      = "SubscribeToTask"
)

// Codes of errors: those of JSON-RPC, and those of A2A.
const (
	CodeParse           = -32700
	CodeInvalidRequest  = -32600
	CodeMethodNotFound  = -32601
	CodeInvalidParams   = -32602
	CodeInternal        = -32603
	CodeTaskNotFound    = -32001
	CodeNotCancelable   = -32002
	CodeNoPush          = -32003
	CodeUnsupported     = -32004
	CodeNoExtendedCard  = -32007
	CodeVersionNotKnown = -32009
)

// A State is that of a task.
type State string

// The states. Of the last four nothing follows; InputRequired and AuthRequired wait for the client.
const (
	Submitted     State = "TASK_STATE_SUBMITTED"
	Working       State = "TASK_STATE_WORKING"
	InputRequired State = "TASK_STATE_INPUT_REQUIRED"
	AuthRequired  State = "TASK_STATE_AUTH_REQUIRED"
	Completed     State = "TASK_STATE_COMPLETED"
	Failed        State = "TASK_STATE_FAILED"
	Canceled      State = "TASK_STATE_CANCELED"
	Rejected      State = "TASK_STATE_REJECTED"
)

// Terminal reports whether a task in this state has ended.
func (s State) Terminal() bool {
	return s == Completed || s == Failed || s == Canceled || s == Rejected
}

// Pauses reports whether a task in this state waits for its client.
func (s State) Pauses() bool { return s == InputRequired || s == AuthRequired }

// Roles of messages.
const (
	RoleUser  = "ROLE_USER"
	RoleAgent = "ROLE_AGENT"
)

// A Request is one of JSON-RPC.
type Request struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id,omitzero"`
	Method  string         `json:"method"`
	Params  any            `json:"params,omitzero"`
}

// An Error is one of JSON-RPC.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitzero"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// A Message is one unit of the conversation.
type Message struct {
	MessageID string `json:"messageId"`
	ContextID string `json:"contextId,omitzero"`
	TaskID    string `json:"taskId,omitzero"`
	Role      string `json:"role"`
	Parts     []Part `json:"parts"`
}

// A Part is a piece of a message or an artifact: one of Text, Raw, URL and Data.
type Part struct {
	Text      *string        `json:"text,omitzero"`
	Raw       []byte         `json:"raw,omitzero"`
	URL       string         `json:"url,omitzero"`
	Data      jsontext.Value `json:"data,omitzero"`
	MediaType string         `json:"mediaType,omitzero"`
	Filename  string         `json:"filename,omitzero"`
}

// SendParams are those of SendMessage and SendStreamingMessage.
type SendParams struct {
	Message       Message `json:"message"`
	Configuration struct {
		ReturnImmediately bool `json:"returnImmediately,omitzero"`
		HistoryLength     *int `json:"historyLength,omitzero"`
	} `json:"configuration,omitzero"`
}

// TaskParams are those of GetTask, CancelTask and SubscribeToTask.
type TaskParams struct {
	ID            string `json:"id"`
	HistoryLength *int   `json:"historyLength,omitzero"`
}

// ListParams are those of ListTasks.
type ListParams struct {
	ContextID            string    `json:"contextId"`
	Status               State     `json:"status"`
	PageSize             int       `json:"pageSize"`
	PageToken            string    `json:"pageToken"`
	HistoryLength        *int      `json:"historyLength"`
	StatusTimestampAfter time.Time `json:"statusTimestampAfter"`
	IncludeArtifacts     bool      `json:"includeArtifacts"`
}

// A TaskList is the result of ListTasks.
type TaskList struct {
	Tasks         []*Task `json:"tasks"`
	NextPageToken string  `json:"nextPageToken"`
	PageSize      int     `json:"pageSize"`
	TotalSize     int     `json:"totalSize"`
}

// A Task is what a message has set off.
type Task struct {
	ID        string     `json:"id"`
	ContextID string     `json:"contextId"`
	Status    Status     `json:"status"`
	Artifacts []Artifact `json:"artifacts,omitzero"`
	History   []Message  `json:"history,omitzero"`
}

// A Status is that of a task at a time.
type Status struct {
	State     State    `json:"state"`
	Message   *Message `json:"message,omitzero"`
	Timestamp string   `json:"timestamp,omitzero"`
}

// An Artifact is what a task has made.
type Artifact struct {
	ArtifactID string `json:"artifactId"`
	Name       string `json:"name,omitzero"`
	Parts      []Part `json:"parts"`
}

// A Result is one answer of SendMessage, or one of a stream: one of its fields is set.
type Result struct {
	Task           *Task           `json:"task,omitzero"`
	Message        *Message        `json:"message,omitzero"`
	StatusUpdate   *StatusUpdate   `json:"statusUpdate,omitzero"`
	ArtifactUpdate *ArtifactUpdate `json:"artifactUpdate,omitzero"`
}

// A StatusUpdate says that a task's status has changed.
type StatusUpdate struct {
	TaskID    string `json:"taskId"`
	ContextID string `json:"contextId"`
	Status    Status `json:"status"`
}

// An ArtifactUpdate brings an artifact, or more of one: Append says that the parts come after those that
// there are, and LastChunk that no more come.
type ArtifactUpdate struct {
	TaskID    string   `json:"taskId"`
	ContextID string   `json:"contextId"`
	Artifact  Artifact `json:"artifact"`
	Append    bool     `json:"append,omitzero"`
	LastChunk bool     `json:"lastChunk,omitzero"`
}

// A Card says what an agent is and where it is reached.
type Card struct {
	Name                 string              `json:"name"`
	Description          string              `json:"description"`
	Version              string              `json:"version"`
	SupportedInterfaces  []Interface         `json:"supportedInterfaces"`
	Capabilities         map[string]bool     `json:"capabilities"`
	DefaultInputModes    []string            `json:"defaultInputModes"`
	DefaultOutputModes   []string            `json:"defaultOutputModes"`
	Skills               []Skill             `json:"skills"`
	SecuritySchemes      map[string]any      `json:"securitySchemes,omitzero"`
	SecurityRequirements []map[string]Scopes `json:"securityRequirements,omitzero"`
}

// Scopes are what one way to say who one is needs, by its name.
type Scopes map[string]struct {
	List []string `json:"list"`
}

// An Interface is one place where an agent is reached, and how.
type Interface struct {
	URL             string `json:"url"`
	ProtocolBinding string `json:"protocolBinding"`
	ProtocolVersion string `json:"protocolVersion"`
}

// A Skill is something that an agent can do.
type Skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
}

// Text returns a part with a text.
func Text(text string) Part { return Part{Text: &text} }

// TextOf returns the texts of parts, joined.
func TextOf(parts []Part) string {
	var text strings.Builder
	for _, p := range parts {
		if p.Text != nil {
			text.WriteString(*p.Text)
		}
	}
	return text.String()
}

// FromContent returns what a content says: texts and files, not thoughts, calls and responses.
func FromContent(c *genai.Content) []Part {
	if c == nil {
		return nil
	}
	var parts []Part
	for _, p := range c.Parts {
		switch {
		case p == nil || p.Thought:
		case p.Text != "":
			parts = append(parts, Text(p.Text))
		case p.InlineData != nil:
			parts = append(parts, Part{Raw: p.InlineData.Data, MediaType: p.InlineData.MIMEType, Filename: p.InlineData.DisplayName})
		case p.FileData != nil:
			parts = append(parts, Part{URL: p.FileData.FileURI, MediaType: p.FileData.MIMEType, Filename: p.FileData.DisplayName})
		}
	}
	return parts
}

// ToContent returns parts as those of a content. Data becomes its JSON text.
func ToContent(parts []Part) []*genai.Part {
	var list []*genai.Part
	for _, p := range parts {
		switch {
		case p.Text != nil && *p.Text != "":
			list = append(list, &genai.Part{Text: *p.Text})
		case p.Raw != nil:
			list = append(list, &genai.Part{InlineData: &genai.Blob{Data: p.Raw, MIMEType: p.MediaType, DisplayName: p.Filename}})
		case p.URL != "":
			list = append(list, &genai.Part{FileData: &genai.FileData{FileURI: p.URL, MIMEType: p.MediaType, DisplayName: p.Filename}})
		case len(p.Data) > 0:
			list = append(list, &genai.Part{Text: string(p.Data)})
		}
	}
	return list
}

// Time returns a time as the protocol writes it.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
