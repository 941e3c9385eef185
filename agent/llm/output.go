package llm

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// setResponse is the name of the function that a model calls to give an answer with a schema, if
// the model has other functions too: most models cannot have an output schema and functions at the
// same time.
const setResponse = "set_model_response"

// setFunctions sets what the model can call.
func (lp *loop) setFunctions(root *llmAgent) {
	lp.targets = lp.agent.targets(root)
	lp.functions = map[string]*function{}
	for name, f := range lp.agent.tools {
		lp.functions[name] = f
	}
	if len(lp.targets) > 0 {
		lp.functions[Transfer] = transferFunction(lp.targets)
	}
	if lp.agent.giveOutput != nil && len(lp.functions) > 0 {
		lp.functions[setResponse] = &function{check: lp.agent.giveOutput, Tool: &tool.Tool{
			Declaration: &genai.FunctionDeclaration{
				Name:                 setResponse,
				Description:          "Gives your final answer. Call it once, when you know the answer, in place of writing it.",
				ParametersJsonSchema: lp.agent.Output,
			},
			Serial: true,
			Run: func(_ context.Context, call *tool.Call) (map[string]any, error) {
				lp.given = call.Args
				call.Actions.SkipSummarization = true
				return map[string]any{"result": "ok"}, nil
			},
		}}
	}
}

// yieldGiven yields what the model has passed to setResponse as its answer. It reports whether the
// loop goes on.
func (lp *loop) yieldGiven() bool {
	data, err := json.Marshal(lp.given)
	if err != nil {
		return lp.fail(InvalidOutput, err)
	}
	lp.given = nil
	e := lp.event()
	e.Content = genai.NewContentFromText(string(data), genai.RoleModel)
	return lp.put(e)
}

// checkOutput sets the ErrorCode of an answer that does not fit the agent's output schema.
func (lp *loop) checkOutput(e *session.Event) {
	if lp.agent.output == nil || e.ErrorCode != "" || len(e.FunctionCalls()) > 0 {
		return
	}
	var value any
	err := json.Unmarshal([]byte(e.Text()), &value)
	if err == nil {
		err = lp.agent.output(lp.ctx, value)
	}
	if err != nil {
		e.ErrorCode = InvalidOutput
		e.ErrorMessage = fmt.Sprintf("agent %s: the answer does not fit its schema: %v", lp.agent.Name(), err)
	}
}

// save puts the answer, as it is in the log, into the state.
func (lp *loop) save(answer *session.Event) {
	if lp.agent.OutputKey == "" {
		return
	}
	var value any = answer.Text()
	if lp.agent.output != nil {
		var parsed any
		if err := json.Unmarshal([]byte(answer.Text()), &parsed); err == nil {
			value = parsed
		}
	}
	e := lp.event()
	e.Actions.StateDelta = map[string]any{lp.agent.OutputKey: value}
	lp.yield(e, nil)
}
