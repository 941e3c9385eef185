package session

import (
	"strings"

	"google.golang.org/genai"
)

// AskTool is the name of the function call by which a node of a workflow asks a person. The call is long-running, its
// argument "message" is the question, and the response to it is the answer.
const AskTool = "adk_request_input"

// A Question is what a node run has asked a person.
type Question struct {
	// Name is what the node calls the question: what follows the run's path and "#" in the id of the call, or the
	// whole id where it has another form.
	Name string
	// Call is the function call, and Event has it.
	Call  *genai.FunctionCall
	Event *Event
	// Response is the event with the answer, nil while the question is open, and Result the response in it.
	Response *Event
	Result   *genai.FunctionResponse
	// Answer is what the response says, without the object around it: of {"result": v} it is v, and so of
	// {"response": v} and {"payload": v}, unless the question's schema has a property of that name. A text that
	// is a JSON object or array is that value, unless the schema asks for a text.
	Answer any
}

// answerOf returns what a response to a question says.
func answerOf(call *genai.FunctionCall, result *genai.FunctionResponse) any {
	schema, _ := call.Args["response_schema"].(map[string]any)
	if schema == nil {
		schema, _ = call.Args["responseSchema"].(map[string]any)
	}
	properties, _ := schema["properties"].(map[string]any)
	var answer any = result.Response
	for _, name := range []string{"result", "response", "payload"} {
		value, has := result.Response[name]
		_, asked := properties[name]
		if has && len(result.Response) == 1 && (!asked || name == "result") {
			answer = value
			break
		}
	}
	if text, ok := answer.(string); ok && schema["type"] != "string" {
		return textValue(text)
	}
	return answer
}

// textValue returns the JSON object or array that a text is, or else the text.
func textValue(text string) any {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return text
	}
	value, err := DecodeValue([]byte(trimmed))
	if err != nil {
		return text
	}
	return value
}
