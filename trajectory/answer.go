package trajectory

import (
	"iter"
	"strings"

	"github.com/plughook/plughook/session"
)

// FinalOutput returns the text of the last answer that has one, "" if there is none. An answer is an agent's
// event that is final as the Agent Development Kit has it: it is whole, has no function call or response, and
// does not end with the result of code; or it has LongRunningToolIDs or SkipSummarization. What users and
// plugins say is none. All texts of the event are joined, thoughts left out.
//
// gepa-adk takes the first text of the event only, which loses the rest where a model splits its answer, and
// takes a user's last message for an answer.
func FinalOutput(events []*session.Event) string {
	output := ""
	for text := range answers(events) {
		output = text
	}
	return output
}

// JoinedOutput returns the texts of all answers (see FinalOutput), joined with nothing between them.
func JoinedOutput(events []*session.Event) string {
	var output strings.Builder
	for text := range answers(events) {
		output.WriteString(text)
	}
	return output.String()
}

// answers yields the texts of the answers that have one.
func answers(events []*session.Event) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range events {
			if text := answer(e); text != "" && !yield(text) {
				return
			}
		}
	}
}

// answer returns what an event answers, "" if nothing: a text, or the output of a workflow, as JSON if that is no
// text. The outputs of a workflow's nodes are steps, and no answers.
func answer(e *session.Event) string {
	if e.Output != nil && e.NodeInfo != nil && !strings.Contains(e.NodeInfo.Path, "/") {
		if text, ok := e.Output.(string); ok {
			return text
		}
		data, err := encode(e.Output)
		if err != nil {
			return ""
		}
		return string(data)
	}
	if !isFinal(e) {
		return ""
	}
	return e.Text()
}

// Reasoning returns the thoughts of all answers (see FinalOutput), a line each, "" if there are none. Thoughts
// beside a function call are not among them.
func Reasoning(events []*session.Event) string {
	var thoughts []string
	for _, e := range events {
		if text := thoughtsOf(e); isFinal(e) && text != "" {
			thoughts = append(thoughts, text)
		}
	}
	return strings.Join(thoughts, "\n")
}

// thoughtsOf returns an event's thoughts, a line each.
func thoughtsOf(e *session.Event) string {
	var thoughts []string
	for _, p := range e.Parts() {
		if p.Thought && p.Text != "" {
			thoughts = append(thoughts, p.Text)
		}
	}
	return strings.Join(thoughts, "\n")
}

// OutputFromState returns the value of a state key: a text as it is, any other value as JSON. It returns false
// if the key is empty, not there, or nil.
//
// gepa-adk writes a value that is no text as Python prints it.
func OutputFromState(state map[string]any, key string) (string, bool) {
	v := state[key]
	if key == "" || v == nil {
		return "", false
	}
	if text, ok := v.(string); ok {
		return text, true
	}
	data, err := encode(v)
	if err != nil {
		return "", false
	}
	return string(data), true
}

// ByAgent yields each agent that made one of the events, in the order of their first event, with its events in
// their order. The events of users and plugins, and those without an author, are left out.
//
// gepa-adk takes a plugin for an agent.
func ByAgent(events []*session.Event) iter.Seq2[string, []*session.Event] {
	return func(yield func(string, []*session.Event) bool) {
		var agents []string
		of := map[string][]*session.Event{}
		for _, e := range events {
			if !isAgents(e) {
				continue
			}
			if of[e.Author] == nil {
				agents = append(agents, e.Author)
			}
			of[e.Author] = append(of[e.Author], e)
		}
		for _, agent := range agents {
			if !yield(agent, of[agent]) {
				return
			}
		}
	}
}

// isAgents reports whether an agent made the event.
func isAgents(e *session.Event) bool {
	return e.Author != "" && e.FromAgent()
}

// isFinal reports whether the event is an agent's answer; see FinalOutput.
func isFinal(e *session.Event) bool {
	switch {
	case !isAgents(e):
		return false
	case e.Actions.SkipSummarization || len(e.LongRunningToolIDs) > 0:
		return true
	case e.Partial:
		return false
	}
	code := false // the last part is a result of code
	for _, p := range e.Parts() {
		if p.FunctionCall != nil || p.FunctionResponse != nil {
			return false
		}
		code = p.CodeExecutionResult != nil
	}
	return !code
}

// failed reports whether the event says that a run, or a model, failed. The denial of one call does not: it is
// the call's response.
func failed(e *session.Event) bool {
	return e.ErrorCode != "" &&
		(e.ErrorCode != session.Denied || len(e.FunctionResponses()) == 0)
}

// failureOf returns the last failure after which no agent spoke, nil if there is none.
func failureOf(events []*session.Event) *string {
	var last *string
	for _, e := range events {
		switch {
		case failed(e):
			text := e.ErrorCode
			if e.ErrorMessage != "" {
				text += ": " + e.ErrorMessage
			}
			last = &text
		case isAgents(e) && (e.Text() != "" || len(e.FunctionCalls()) > 0):
			last = nil
		}
	}
	return last
}
