package guardrail

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/internal/vault"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// A Vault turns back what the action vault has hidden. The tokens hold the values, encrypted:
// nothing is kept anywhere but the key, and whoever has it can read every token.
type Vault struct{ keys vault.Keys }

// NewVault returns the vault of a key: the Key of the guardrail's Config, at least 16 bytes.
func NewVault(key []byte) (*Vault, error) {
	if len(key) < vault.MinSecret {
		return nil, fmt.Errorf("guardrail: the length of the vault's key is %d; it must be %d bytes or more", len(key),
			vault.MinSecret)
	}
	return &Vault{vault.NewKeys(key)}, nil
}

// Open returns the text with the vault's tokens turned back into what they stand for. What is no
// token of this vault stays as it is.
func (v *Vault) Open(text string) string { return v.keys.Open(text) }

// Tool returns the tool with the tokens in its arguments turned back when it runs: the values go to
// the tool, and not into the log. What the tool answers is judged like any answer.
func (v *Vault) Tool(t *tool.Tool) *tool.Tool {
	opening := *t
	opening.Run = func(ctx context.Context, call *tool.Call) (map[string]any, error) {
		sealed := call.Args
		call.Args = v.keys.OpenObject(sealed)
		defer func() { call.Args = sealed }()
		return t.Run(ctx, call)
	}
	return &opening
}

// maxHiddenShown is how many hidden values a question to a human names.
const maxHiddenShown = 20

// Question returns what a human is asked about a call that a policy's verdict says ask about: what the rule
// says, and what the vault's tokens in the call stand for, by type and last four. given is what the tool is
// called with, as it is after the verdict.
func (v *Vault) Question(verdict *policy.Verdict, tool string, given any) string {
	asked := session.Confirmation{Hint: hintOf(verdict, tool)}
	return withHidden(v.keys, given, asked).Hint
}

// hintOf is what a human is told about a call that a rule asks about.
func hintOf(v *policy.Verdict, tool string) string {
	of := ""
	if tool != "" {
		of = " of " + tool
	}
	return withOrigin(v, cmp.Or(v.Message, fmt.Sprintf("The policy's rule %s asks about this call%s.", v.Rule, of)))
}

// hiddenValues says to a human what the vault's tokens in a call, or in what a human is asked about it,
// stand for: "" if there are none. The tokens stay where they are.
func hiddenValues(keys vault.Keys, args any, asked session.Confirmation) string {
	var list []string
	look := func(l jsonvalue.Leaf) (string, bool) {
		for _, shown := range keys.ForPerson(l.Text) {
			if l.Name != "" {
				shown = l.Name + ": " + shown
			}
			if !slices.Contains(list, shown) {
				list = append(list, shown)
			}
		}
		return l.Text, false
	}
	jsonvalue.Each(args, "", look)
	jsonvalue.Each([]any{asked.Hint, asked.Payload}, "", look)
	switch {
	case len(list) == 0:
		return ""
	case len(list) > maxHiddenShown:
		more := len(list) - maxHiddenShown
		list = append(list[:maxHiddenShown], fmt.Sprintf("and %d more", more))
	}
	return "Hidden values: " + strings.Join(list, ", ") + "."
}

// withHidden returns a question to a human about a call with what its hidden values stand for.
func withHidden(keys vault.Keys, args any, asked session.Confirmation) session.Confirmation {
	hidden := hiddenValues(keys, args, asked)
	if hidden != "" && !strings.Contains(asked.Hint, hidden) { // another guardrail may have said it
		between := " "
		if strings.Contains(asked.Hint, "\n") { // the last line may be a server's words
			between = "\n"
		}
		asked.Hint = strings.TrimPrefix(asked.Hint+between+hidden, " ")
	}
	return asked
}

// withHidden is withHidden with the guardrail's key, if it has one. A policy in shadow has values that were hidden
// before, and who is asked about them sees as much as with any other.
func (g *guard) withHidden(args map[string]any, asked session.Confirmation) session.Confirmation {
	if g.Key == nil {
		return asked
	}
	return withHidden(vault.NewKeys(g.Key), args, asked)
}

// confirmations returns what humans are asked by an event that a tool or an agent, and not this plugin, has
// made, with what hidden values stand for: those that become other questions by that.
func (g *guard) confirmations(inv *session.Invocation, e *session.Event) map[string]session.Confirmation {
	if e.Author == session.User || g.Key == nil {
		return nil
	}
	other := map[string]session.Confirmation{}
	for id, asked := range e.Actions.RequestedToolConfirmations {
		shown := g.withHidden(argsOfCall(inv, e, id), asked)
		if shown.Hint != asked.Hint {
			other[id] = shown
		}
	}
	return other
}

// argsOfCall returns the arguments of the last call of an id; nil if there is none.
func argsOfCall(inv *session.Invocation, e *session.Event, id string) map[string]any {
	for _, e := range slices.Backward(append(slices.Clip(inv.Live), e)) {
		for _, c := range e.FunctionCalls() {
			if c.ID == id {
				return c.Args
			}
		}
	}
	return nil
}
