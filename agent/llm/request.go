package llm

import (
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// request builds a model request from the invocation as it is.
func (t *turn) request(inv *session.Invocation) (*model.Request, error) {
	a := t.agent
	config := genai.GenerateContentConfig{}
	if a.GenerateContentConfig != nil {
		config = *(&model.Request{Config: a.GenerateContentConfig}).Clone().Config // plugins may change it
	}
	instruction, err := a.instruction(t.ctx, inv)
	if err != nil {
		return nil, err
	}
	parts := []string{instruction}
	if len(t.targets) > 0 {
		parts = append(parts, a.transferInstruction(t.targets))
	}
	if text := strings.TrimSpace(strings.Join(parts, "\n\n")); text != "" {
		system := &genai.Content{Role: genai.RoleUser}
		if config.SystemInstruction != nil {
			system.Parts = slices.Clone(config.SystemInstruction.Parts)
		}
		system.Parts = append(system.Parts, &genai.Part{Text: text})
		config.SystemInstruction = system
	}
	if declared := t.declarations(); len(declared) > 0 {
		config.Tools = append(slices.Clone(config.Tools), &genai.Tool{FunctionDeclarations: declared})
	}
	if a.output != nil && t.functions[setResponse] == nil {
		config.ResponseMIMEType, config.ResponseJsonSchema = "application/json", a.Output
	}
	return &model.Request{Agent: a.Name(), Branch: t.host.Branch, Contents: t.contents(inv), Config: &config,
		Stream: inv.Config.Streaming != session.NoStreaming}, nil
}

// declarations returns what the model can call: the tools and callees in the order of the configuration,
// then the agent's own functions.
func (t *turn) declarations() []*genai.FunctionDeclaration {
	var list []*genai.FunctionDeclaration
	for _, f := range t.agent.functions {
		d := *f.Declaration
		if f.LongRunning {
			d.Description += "\n\nIts answer comes later. Do not call it again while it is pending."
		}
		list = append(list, &d)
	}
	for _, own := range []string{Transfer, setResponse} {
		if f := t.functions[own]; f != nil {
			list = append(list, f.Declaration)
		}
	}
	return list
}
