package eval

import (
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A Case is a conversation, and what is expected of it.
type Case struct {
	// ID names the case in its file. It is in the id of the case's sessions.
	ID string `yaml:"id" json:"id,omitempty"`
	// State is what the session begins with.
	State map[string]any `yaml:"state" json:"state,omitempty"`
	// Timeout bounds how long its turns may take in all; 0 is the Evaluator's.
	Timeout time.Duration `yaml:"timeout" json:"timeout,omitempty"`
	// Turns are what the user does, in order. Each is a run.
	Turns []*Turn `yaml:"turns" json:"turns,omitempty"`

	// File is where the case is from, Set the id of its eval set, if it has one, and Criteria are what its file is judged by.
	File     string   `yaml:"-" json:"-"`
	Set      string   `yaml:"-" json:"-"`
	Criteria Criteria `yaml:"-" json:"-"`
	// Unfit says why the case cannot be run, "" if it can.
	Unfit string `yaml:"-" json:"-"`
}

// A Turn is one input of the user: a text, answers to calls that wait, or both.
type Turn struct {
	User string `yaml:"user" json:"user,omitempty"`
	// Approve and Decline name calls that wait for a yes or no, by their tool, their id or, of a workflow's question,
	// by its node.
	Approve []string `yaml:"approve" json:"approve,omitempty"`
	Decline []string `yaml:"decline" json:"decline,omitempty"`
	// Respond has the responses to calls that wait for one, named in the same way. A response that is no object
	// is sent as {"result": …}.
	Respond map[string]any `yaml:"respond" json:"respond,omitempty"`
	// Results are what tools answer, where they are recorded.
	Results []RecordedResult `yaml:"results" json:"results,omitempty"`
	// Answers are what models answer, where they are recorded: each agent gets, in order, those with its name and those
	// without one.
	Answers []RecordedAnswer `yaml:"answers" json:"answers,omitempty"`
	Expect  Expect           `yaml:"expect" json:"expect,omitzero"`

	// Content is the input as an eval set of the kit has it; nil is User.
	Content *genai.Content `yaml:"-" json:"-"`
	// reference is what a criterion compares with: the answer and the calls of an eval set.
	reference *reference
}

// A RecordedResult is what a tool has answered to a call.
type RecordedResult struct {
	Name   string         `yaml:"name" json:"name"`
	Args   map[string]any `yaml:"args" json:"args,omitempty"`
	Result map[string]any `yaml:"result" json:"result,omitempty"`
}

// A RecordedAnswer is what a model has answered: a text, calls of tools, or both.
type RecordedAnswer struct {
	Agent string         `yaml:"agent" json:"agent,omitempty"`
	Text  string         `yaml:"text" json:"text,omitempty"`
	Calls []RecordedCall `yaml:"calls" json:"calls,omitempty"`
}

// A RecordedCall is a call in an answer.
type RecordedCall struct {
	Name string         `yaml:"name" json:"name"`
	Args map[string]any `yaml:"args" json:"args,omitempty"`
}

// answerIn returns what a content of a model says, false if it says nothing.
func answerIn(c *genai.Content) (a RecordedAnswer, says bool) {
	a.Text = textOf(c)
	if c != nil {
		for _, p := range c.Parts {
			if p.FunctionCall != nil && p.FunctionCall.Name != session.AskTool { // no model asks a workflow's questions
				a.Calls = append(a.Calls, RecordedCall{Name: p.FunctionCall.Name, Args: p.FunctionCall.Args})
			}
		}
	}
	return a, a.Text != "" || a.Calls != nil
}

// Expect is what is expected of a turn. What is not set is not looked at.
type Expect struct {
	// Calls are the tool calls that the turn makes, in Order: exact (the default: these and no others), in_order
	// (others may be between them) or any_order. NoCalls, or an empty list, says that it makes none.
	Calls   []ExpectedCall `yaml:"calls" json:"calls,omitzero"`
	Order   string         `yaml:"order" json:"order,omitempty"`
	NoCalls bool           `yaml:"no_calls" json:"no_calls,omitempty"`
	// Text is about the last answer of the turn. Reference is an answer that a person has written: the criteria
	// response_match_score and final_response_match_v2 compare with it.
	Text      *ExpectedText `yaml:"text" json:"text,omitempty"`
	Reference string        `yaml:"reference" json:"reference,omitempty"`
	// Denied says whether an event of the turn has the error code DENIED.
	Denied *bool `yaml:"denied" json:"denied,omitempty"`
	// Plugins are what plugins do to the turn's events, and Nodes the nodes of workflows that run, in any order.
	Plugins []PluginAction `yaml:"plugins" json:"plugins,omitempty"`
	Nodes   []string       `yaml:"nodes" json:"nodes,omitempty"`
	// Waits name the calls that wait for a person at the end of the turn, as Approve does.
	Waits []string `yaml:"waits" json:"waits,omitempty"`
	// State has values of the session's state after the turn.
	State map[string]any `yaml:"state" json:"state,omitempty"`
	// Cost, Tokens and Latency are bounds: in the currency of the prices, in tokens, and of time.
	Cost    *float64      `yaml:"cost" json:"cost,omitempty"`
	Tokens  *int64        `yaml:"tokens" json:"tokens,omitempty"`
	Latency time.Duration `yaml:"latency" json:"latency,omitempty"`
}

// An ExpectedCall is a call of a tool. Match says how its arguments compare: exact (the default), subset (the call may
// have others), or pattern (subset, and a text is a regular expression for all of the argument, written as text).
// Without args, any will do.
type ExpectedCall struct {
	Name  string         `yaml:"name" json:"name"`
	Args  map[string]any `yaml:"args" json:"args,omitempty"`
	Match string         `yaml:"match" json:"match,omitempty"`
}

// ExpectedText says what an answer is like. Schema is a JSON schema; then the answer has to be JSON.
type ExpectedText struct {
	Equals   *string        `yaml:"equals" json:"equals,omitempty"`
	Contains []string       `yaml:"contains" json:"contains,omitempty"`
	Without  []string       `yaml:"without" json:"without,omitempty"`
	Pattern  string         `yaml:"pattern" json:"pattern,omitempty"`
	Schema   map[string]any `yaml:"schema" json:"schema,omitempty"`
}

// A PluginAction is what a plugin does: Did is replaced, withheld, emitted or stopped. Reason is a regular expression
// for the reason that it gives, such as the id of a rule.
type PluginAction struct {
	Plugin string `yaml:"plugin" json:"plugin"`
	Did    string `yaml:"did" json:"did,omitempty"`
	Reason string `yaml:"reason" json:"reason,omitempty"`
}

// A reference is what an eval set of the kit says of an invocation.
type reference struct {
	calls []ExpectedCall
	text  string
	// hasText says that there is an answer to compare with.
	hasText bool
}
