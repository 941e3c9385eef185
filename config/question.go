package config

import (
	"context"
	"strings"
	"time"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/tool"
)

// askConfig is a question to a person.
type askConfig struct {
	Message  string         `yaml:"message" json:"message" jsonschema:"the question; {output} in it is replaced by the node's input, {output.key} by a value in it, {key} by the value of a state key, and {key?} by that of a key that may be missing"`
	Deadline time.Duration  `yaml:"deadline" json:"deadline,omitempty" jsonschema:"how long the question waits for its answer, such as 72h: the node has failed when the workflow goes on after that; no limit if empty"`
	Schema   map[string]any `yaml:"schema" json:"schema,omitempty" jsonschema:"the JSON schema of the answer; a text if empty. Another answer is refused, and the question is asked again"`
}

// questionName is what a node of a file calls its question.
const questionName = "answer"

// check checks what a question says.
func (a *askConfig) check(bad complaint, path string) {
	if strings.TrimSpace(a.Message) == "" {
		bad(path, "the question has no message")
	}
	if a.Deadline < 0 {
		bad(path+".deadline", "deadline must not be below 0")
	}
	if a.Schema != nil {
		if _, err := tool.Schema(a.Schema); err != nil {
			bad(path+".schema", "%w", err)
		}
	}
}

// node makes a node that asks.
func (a *askConfig) node(name string) *workflow.Node {
	schema := a.Schema
	if len(schema) == 0 {
		schema = map[string]any{"type": "string"}
	}
	made := workflow.Func(name, func(ctx context.Context, r *workflow.Run, message string) (any, error) {
		return workflow.AskSchema(ctx, r, questionName, message, schema)
	})
	made.Deadline = a.Deadline
	made.Input = func(output any, state map[string]any) (any, error) {
		return values{output: output, state: state}.text(a.Message)
	}
	return made
}
