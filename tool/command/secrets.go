package command

import (
	"slices"
	"strings"

	"github.com/plughook/plughook/internal/child"
	"github.com/plughook/plughook/internal/redact"
)

// shortest is the length in bytes of the shortest value that is hidden. A shorter one is not a key,
// and may be a common word.
const shortest = 6

// secrets removes the values of variables from what a command wrote.
type secrets struct{ *redact.Secrets }

// newSecrets returns the secrets of variables, each given as NAME=VALUE.
func newSecrets(variables []string) *secrets {
	var all []redact.Secret
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		if slices.Contains(child.Always, name) {
			continue
		}
		for _, part := range append(strings.Split(value, "\n"), value) {
			part = strings.TrimSpace(part)
			if len(part) >= shortest {
				all = append(all, redact.Secret{Value: part, Name: "[" + name + "]"})
			}
		}
	}
	return &secrets{redact.New(all)}
}
