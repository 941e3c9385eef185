// Package llm has the agent that asks a language model and calls tools.
//
// The agent acts on the log. It builds a model request from the live view, and yields its events
// through the plugins. What is in the log after that decides what it does next: it executes the
// function calls that have no response and are not held, asks the model again until the last event
// is an answer of the model, and hands over to another agent if a response says so. So a plugin
// denies a call by emitting its response, and makes the model go on by emitting content of role
// user.
//
// The role of a content decides how the model is shown it: content of role model is the agent's own
// turn, content of role user is context. Turns of other agents are context too, with their names.
// An agent is shown the events of branches that it sees (agent.Sees). The responses to the calls of
// one turn are one content, in the order of the calls; a call that waits is shown as pending. A
// compaction comes first, as context.
//
// Failures are events with an ErrorCode: a failed model call, an answer that was cut short or
// blocked, a limit that was reached. They end the agent's work unless a plugin replaces them. If a
// tool fails, does not exist, panics, or gets arguments that do not fit its schema, the model gets
// the response {"error": …}.
//
// What decides how the loop goes on is in loop.loop and loop.progress. A function that the agent adds itself,
// beside its tools, goes into loop.setFunctions; what a model is shown of a new kind of event, into
// builder.add; what a request has besides, into loop.request.
package llm

import (
	"context"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// A Config says what an agent is. Name and Model are required.
type Config struct {
	// Name is the author of the agent's events. Description is what other agents are told about it.
	Name, Description string
	// Model is the model that the agent asks.
	Model model.Model
	// Instruction is the system instruction. "{key}" in it is replaced by the value of a state key,
	// also of "app:" and "user:" keys, and "{artifact.name}" by the text of an artifact. If there
	// is none, the run fails; with a ? before the closing brace, the text is empty. Other text in
	// braces is not changed.
	Instruction string
	// InstructionFunc returns the instruction, if it is set. Nothing in that is replaced.
	InstructionFunc func(ctx context.Context, inv *session.Invocation) (string, error)
	// GenerateContentConfig has parameters for the model, such as its temperature, and its built-in
	// tools.
	GenerateContentConfig *genai.GenerateContentConfig
	// Tools can be called by the model.
	Tools []*tool.Tool
	// AgentTools are agents that the model can call like tools. Each call is a conversation of its
	// own, in a branch of its own, with the same plugins. The agent's last answer is the response.
	AgentTools []agent.Agent
	// SubAgents are agents that this one can hand over to, with the function Transfer. An agent
	// that is made by New answers from then on, also in later invocations, until it hands over. An
	// agent of another kind answers once, and then its parent is next.
	SubAgents []agent.Agent
	// NoParent and NoPeers say that the agent cannot hand over to its parent, the agent that it is
	// a sub-agent of, and to the parent's other sub-agents.
	NoParent, NoPeers bool
	// Input is the JSON schema of the agent's arguments when it is called like a tool; nil is one
	// text named "request". Output is the JSON schema of its answer, which must be JSON then. A
	// schema is any value that marshals to one, or a json.RawMessage. An answer that does not fit
	// has the ErrorCode InvalidOutput.
	Input, Output any
	// OutputKey is a state key that is set to the answer: its text, or its value if there is an
	// Output schema.
	OutputKey string
	// NoHistory says that the model is shown only what was said since the input of the invocation.
	NoHistory bool
	// MaxModelCalls is how often the model may be asked in one run; 0 is 100. The models of agents
	// that it hands over to count too. An agent in AgentTools has its own limit for each call.
	// Timeout is how long the agent may work in one run until it ends or hands over; 0 is no limit.
	MaxModelCalls int
	Timeout       time.Duration
	// Artifacts stores files for tools and instructions; it may be nil.
	Artifacts artifact.Service
}

// Error codes of events that the agent yields, besides those of package model.
const (
	InvalidOutput  = "INVALID_OUTPUT"   // the answer does not fit Config.Output
	ModelCallLimit = "MODEL_CALL_LIMIT" // Config.MaxModelCalls was reached
	TimeLimit      = "TIME_LIMIT"       // Config.Timeout was reached
	UnknownAgent   = "UNKNOWN_AGENT"    // Actions.TransferToAgent names no agent that can be handed over to
)

// Transfer is the name of the function that hands over to another agent. Its argument is
// "agent_name". The agent is handed over to when the response, an event with
// Actions.TransferToAgent, is in the log.
const Transfer = "transfer_to_agent"
