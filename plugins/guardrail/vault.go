package guardrail

import (
	"context"
	"fmt"

	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/internal/vault"
	"github.com/plughook/plughook/tool"
)

// A Vault turns back what the action vault has hidden. The tokens hold the values, encrypted:
// nothing is kept anywhere but the key, and whoever has it can read every token.
type Vault struct{ keys vault.Keys }

// NewVault returns the vault of a key: the Key of the guardrail's Config, at least 16 bytes.
func NewVault(key []byte) (*Vault, error) {
	if len(key) < vault.MinSecret {
		return nil, fmt.Errorf("guardrail: a vault's key of %d bytes; it needs %d or more", len(key),
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
		opened, _ := jsonvalue.Each(sealed, "", func(l jsonvalue.Leaf) (string, bool) {
			value := v.keys.OpenValue(l.Text)
			return value, value != l.Text && !l.Key
		})
		call.Args, _ = opened.(map[string]any)
		defer func() { call.Args = sealed }()
		return t.Run(ctx, call)
	}
	return &opening
}
