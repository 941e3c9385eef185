package hooks_test

import (
	"context"
	"regexp"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// Adds a line to the system instruction of every agent. What was there stays as it is: a changed
// copy takes its place.
func Example_systemInstruction() {
	house := &plugin.Plugin{
		Name: "house-rules",
		BeforeModel: func(_ context.Context, inv *session.Invocation, req *model.Request) (plugin.Outcome, error) {
			system := &genai.Content{Role: genai.RoleUser}
			if was := req.Config.SystemInstruction; was != nil {
				system.Parts = slices.Clone(was.Parts)
			}
			system.Parts = append(system.Parts,
				genai.NewPartFromText(" The customer's account is "+inv.Key.User+"."))
			req.Config.SystemInstruction = system
			return plugin.Outcome{}, nil
		},
	}
	tellsItsInstruction := func(req *model.Request) string { return (&session.Event{Content: req.Config.SystemInstruction}).Text() }
	agent := newAgent(
		llm.Config{Name: "bot", Model: says(tellsItsInstruction), Instruction: "Be brief."})
	run(agent, []*plugin.Plugin{house}, "What were you told?")
	// Output:
	// user: What were you told?
	// bot: Be brief. The customer's account is ada.
}

// Keeps e-mail addresses from the model. The log keeps them: only the request is changed.
func Example_contents() {
	address := regexp.MustCompile(`\S+@\S+`)
	private := &plugin.Plugin{
		Name: "private",
		BeforeModel: func(_ context.Context, _ *session.Invocation, req *model.Request) (plugin.Outcome, error) {
			for i, c := range req.Contents {
				masked := &genai.Content{Role: c.Role}
				for _, p := range c.Parts {
					part := *p
					part.Text = address.ReplaceAllString(p.Text, "<address>")
					masked.Parts = append(masked.Parts, &part)
				}
				req.Contents[i] = masked
			}
			return plugin.Outcome{}, nil
		},
	}
	repeats := func(req *model.Request) string { return "You said: " + req.Contents[0].Parts[0].Text }
	run(bot(repeats), []*plugin.Plugin{private}, "Write to bob@example.com please.")
	// Output:
	// user: Write to bob@example.com please.
	// bot: You said: Write to <address> please.
}

// Offers the model no tool that costs money until the user has signed in. The model can name it all
// the same, so this saves tokens; Example_denyTool is the guard.
func Example_offerFewerTools() {
	signIn := &plugin.Plugin{
		Name: "sign-in",
		BeforeModel: func(_ context.Context, inv *session.Invocation, req *model.Request) (plugin.Outcome, error) {
			if inv.State["signed_in"] == true {
				return plugin.Outcome{}, nil
			}
			var offered []*genai.Tool
			for _, t := range req.Config.Tools {
				fewer := *t
				fewer.FunctionDeclarations = slices.DeleteFunc(slices.Clone(t.FunctionDeclarations),
					func(d *genai.FunctionDeclaration) bool { return d.Name == "order" })
				offered = append(offered, &fewer)
			}
			req.Config.Tools = offered
			return plugin.Outcome{}, nil
		},
	}
	listsItsTools := func(req *model.Request) (names string) {
		for _, d := range req.Config.Tools[0].FunctionDeclarations {
			names += d.Name + " "
		}
		return names
	}
	agent := newAgent(llm.Config{
		Name:  "bot",
		Model: says(listsItsTools, listsItsTools),
		Tools: []*tool.Tool{function("order", nothing), function("search", nothing)},
	})
	signedIn := session.Message("And now?")
	signedIn.Actions.StateDelta = map[string]any{"signed_in": true}
	run(agent, []*plugin.Plugin{signIn}, "What can you do?", signedIn)
	// Output:
	// user: What can you do?
	// bot: search
	// user: And now? [signed_in is true]
	// bot: order search
}

// nothing is what a tool does that has nothing to say.
func nothing(map[string]any) (map[string]any, error) { return nil, nil }
