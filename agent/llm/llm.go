// Package llm has the agent that asks a language model and calls tools.
//
// It acts on the log. Its model request is built from the live view; what it yields goes through the
// plugins; and what is then in the log decides what it does next: it executes the function calls that
// nobody has answered or holds, asks the model again while the last word is not a model's, and hands over
// to another agent if a response says so. So a plugin denies a call by answering it, and makes the model
// go on by emitting content of role user.
//
// The content's role decides what the model is shown of an event: model is the agent's own turn, user is
// told context. Another agent's turns are told, with its name. Events of a branch are shown to agents whose
// branch leads to it, or comes from it (agent.Sees). The responses to an answer's calls are one content, in
// the order of the calls; a call that waits is shown as pending. A compaction comes first, as context.
//
// Failures are events: a failed model call, an answer that was cut short or blocked, a limit that was
// reached. They have an ErrorCode, and end the agent's turn unless a plugin replaces them. A tool that
// fails, does not exist, panics, or gets arguments that do not fit its schema is answered to the model:
// {"error": …}.
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

// A Config says what an agent is. Name and Model are needed.
type Config struct {
	// Name is the author of the agent's events, Description what other agents read about it.
	Name, Description string
	// Model answers.
	Model model.Model
	// Instruction is the system instruction. "{key}" in it stands for a state key ("app:" and "user:" keys
	// too), "{artifact.name}" for an artifact's text; "{key?}" may be missing, "{key}" may not: the run
	// fails. Braces around anything else stay as they are.
	Instruction string
	// InstructionFunc, if set, makes the instruction in place of Instruction; nothing in it is replaced.
	InstructionFunc func(ctx context.Context, inv *session.Invocation) (string, error)
	// GenerateContentConfig has parameters for the model, such as its temperature, and its built-in tools.
	GenerateContentConfig *genai.GenerateContentConfig
	// Tools can be called by the model.
	Tools []*tool.Tool
	// AgentTools are agents that can be called like tools: each call is a conversation of its own, in a
	// branch of its own, under the same plugins, and its last words are the response.
	AgentTools []agent.Agent
	// SubAgents are agents that can be handed over to, by "transfer_to_agent". Who was handed over to
	// speaks until it hands over, also in the turns that follow, if it is made by New; another kind of agent
	// speaks once, and the agent that it is a sub-agent of is next.
	SubAgents []agent.Agent
	// NoParent and NoPeers keep the agent from handing over to the agent that it is a sub-agent of, and to
	// that agent's other sub-agents.
	NoParent, NoPeers bool
	// Input is the JSON schema of the agent's arguments where it is called like a tool; nil stands for one
	// text named "request". Output is that of its answer, which then is JSON: anything that marshals to a
	// schema, or a json.RawMessage. An answer that does not fit has the ErrorCode InvalidOutput.
	Input, Output any
	// OutputKey is a state key that gets the answer: its text, or the value if there is an Output schema.
	OutputKey string
	// NoHistory keeps earlier turns from the model: it is shown what was said since the invocation's input.
	NoHistory bool
	// MaxModelCalls is how often the model may be asked in one run, 100 if it is 0; the models of the agents
	// that it hands over to count too, while an AgentTool has its own limit in each call. Timeout is how long one turn of the agent may take, without limit if
	// it is 0.
	MaxModelCalls int
	Timeout       time.Duration
	// Artifacts keeps files for tools and instructions; it may be nil.
	Artifacts artifact.Service
}

// Error codes of events that the agent yields, beside those of package model.
const (
	InvalidOutput  = "INVALID_OUTPUT"   // the answer does not fit Config.Output
	ModelCallLimit = "MODEL_CALL_LIMIT" // Config.MaxModelCalls was reached
	TimeLimit      = "TIME_LIMIT"       // Config.Timeout was reached
	UnknownAgent   = "UNKNOWN_AGENT"    // Actions.TransferToAgent names none that can be handed over to
)

// Transfer is the name of the function that hands over to another agent: its argument is "agent_name".
// What counts is the response, an event with Actions.TransferToAgent.
const Transfer = "transfer_to_agent"
