package llm

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// setResponse is the name of the function with which a model gives an answer that has a schema if it has
// other functions too: most models cannot be held to a schema and call functions at once.
const setResponse = "set_model_response"

// setFunctions sets what the model can call in this turn.
func (t *turn) setFunctions(root *llmAgent) {
	t.targets = t.agent.targets(root)
	t.functions = map[string]*function{}
	for name, f := range t.agent.tools {
		t.functions[name] = f
	}
	if len(t.targets) > 0 {
		t.functions[Transfer] = transferFunction(t.targets)
	}
	if t.agent.giveOutput != nil && len(t.functions) > 0 {
		t.functions[setResponse] = &function{check: t.agent.giveOutput, Tool: &tool.Tool{
			Declaration: &genai.FunctionDeclaration{Name: setResponse, Description: "Gives your final answer. Call it once, when you know the answer, in place of writing it.", ParametersJsonSchema: t.agent.Output},
			Serial:      true,
			Run: func(_ context.Context, call *tool.Call) (map[string]any, error) {
				t.given, call.Actions.SkipSummarization = call.Args, true
				return map[string]any{"result": "ok"}, nil
			},
		}}
	}
}

// answerGiven yields what the model has passed to setResponse as its answer. It reports whether the turn
// goes on.
func (t *turn) answerGiven() bool {
	data, err := json.Marshal(t.given)
	if err != nil {
		return t.fail(InvalidOutput, err)
	}
	t.given = nil
	e := t.event()
	e.Content = genai.NewContentFromText(string(data), genai.RoleModel)
	return t.put(e)
}

// checkOutput notes on an answer that it does not fit the agent's output schema.
func (t *turn) checkOutput(e *session.Event) {
	if t.agent.output == nil || e.ErrorCode != "" || len(e.FunctionCalls()) > 0 {
		return
	}
	var value any
	err := json.Unmarshal([]byte(e.Text()), &value)
	if err == nil {
		err = t.agent.output.Validate(value)
	}
	if err != nil {
		e.ErrorCode, e.ErrorMessage = InvalidOutput, fmt.Sprintf("agent %s: the answer does not fit its schema: %v", t.agent.Name(), err)
	}
}

// save puts the answer, as it is in the log, into the state.
func (t *turn) save(answer *session.Event) {
	if t.agent.OutputKey == "" {
		return
	}
	var value any = answer.Text()
	if t.agent.output != nil {
		var parsed any
		if err := json.Unmarshal([]byte(answer.Text()), &parsed); err == nil {
			value = parsed
		}
	}
	e := t.event()
	e.Actions.StateDelta = map[string]any{t.agent.OutputKey: value}
	t.yield(e, nil)
}
