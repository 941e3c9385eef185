package llm

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// request builds the model request for an invocation.
func (lp *loop) request(inv *session.Invocation) (*model.Request, error) {
	a := lp.agent
	config := genai.GenerateContentConfig{}
	if a.GenerateContentConfig != nil {
		// plugins may change it
		config = *(&model.Request{Config: a.GenerateContentConfig}).Clone().Config
	}
	text, err := a.system(lp.ctx, inv, lp.targets)
	if err != nil {
		return nil, err
	}
	if text != "" {
		system := &genai.Content{Role: genai.RoleUser}
		if config.SystemInstruction != nil {
			system.Parts = slices.Clone(config.SystemInstruction.Parts)
		}
		system.Parts = append(system.Parts, &genai.Part{Text: text})
		config.SystemInstruction = system
	}
	declared := lp.declarations()
	if len(declared) > 0 {
		config.Tools = append(slices.Clone(config.Tools), &genai.Tool{FunctionDeclarations: declared})
	}
	if a.output != nil && lp.functions[setResponse] == nil {
		config.ResponseMIMEType = "application/json"
		config.ResponseJsonSchema = a.Output
	}
	return &model.Request{
		Agent:    a.Name(),
		Branch:   lp.host.Branch,
		Contents: lp.contents(inv),
		Config:   &config,
		Stream:   inv.Config.Streaming != session.NoStreaming,
	}, nil
}

// system returns the system instruction, with the agents that it can hand over to.
func (a *llmAgent) system(ctx context.Context, inv *session.Invocation, targets []agent.Agent) (string, error) {
	instruction, err := a.instruction(ctx, inv)
	if err != nil {
		return "", err
	}
	parts := []string{instruction}
	if len(targets) > 0 {
		parts = append(parts, a.transferInstruction(targets))
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n")), nil
}

// Prompt returns what the agent's model is given beside the conversation: the system instruction, filled in from the
// invocation's State, and the declarations of tools and of the function that hands over.
func (a *llmAgent) Prompt(ctx context.Context, inv *session.Invocation) (system string,
	tools []*genai.FunctionDeclaration, err error) {
	targets := a.targets(nil)
	tools = a.Offered()
	if len(targets) > 0 {
		tools = append(tools, transferFunction(targets).Declaration)
	}
	system, err = a.system(ctx, inv, targets)
	return system, tools, err
}

// Offered returns the declarations of tools, and of agents that are called like tools, as the agent's
// model is given them, in the order of the configuration. The functions that the agent adds itself are
// not among them.
func (a *llmAgent) Offered() []*genai.FunctionDeclaration {
	var list []*genai.FunctionDeclaration
	for _, f := range a.functions {
		d := *f.Declaration
		if f.LongRunning {
			d.Description += "\n\nIts answer comes later. Do not call it again while it is pending."
		}
		list = append(list, &d)
	}
	return list
}

// declarations returns what the model can call: what is offered to it, and then the agent's own
// functions.
func (lp *loop) declarations() []*genai.FunctionDeclaration {
	list := lp.agent.Offered()
	for _, own := range []string{Transfer, setResponse} {
		if f := lp.functions[own]; f != nil {
			list = append(list, f.Declaration)
		}
	}
	return list
}
