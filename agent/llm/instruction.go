package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/internal/told"
	"github.com/plughook/plughook/session"
)

// placeholder matches {key}, {app:key} and {artifact.name}, also with a ? before the closing brace.
var placeholder = lazyregexp.New(`\{((?:artifact\.[^{}?]+)|(?:(?:app:|user:|temp:)?[A-Za-z_][A-Za-z0-9_]*))(\?)?\}`)

// instruction returns the agent's instruction with state and artifacts filled in.
func (a *llmAgent) instruction(ctx context.Context, inv *session.Invocation) (string, error) {
	if a.InstructionFunc != nil {
		text, err := a.InstructionFunc(ctx, inv)
		if err != nil {
			err = fmt.Errorf("llm: agent %s: instruction: %w", a.Name(), err)
		}
		return text, err
	}
	var errs []error
	filled := placeholder.ReplaceAllStringFunc(a.Instruction, func(match string) string {
		m := placeholder.FindStringSubmatch(match)
		key := m[1]
		optional := m[2] != ""
		var value string
		var err error
		owner := "State"
		name, isArtifact := strings.CutPrefix(key, "artifact.")
		if isArtifact {
			owner = "The artifact service"
			value, err = a.artifactText(ctx, inv, name)
		} else {
			value, err = stateText(inv, key)
		}
		if errors.Is(err, errMissing) {
			if !optional {
				errs = append(errs, fmt.Errorf("llm: agent %s: instruction: %s has no %q. Set it, or write {%s?}",
					a.Name(), owner, name, key))
			}
			return ""
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("llm: agent %s: instruction: %s: %w", a.Name(), match, err))
		}
		return value
	})
	return filled, errors.Join(errs...)
}

// errMissing says that the state has no such key, or the store no such artifact.
var errMissing = errors.New("missing")

func stateText(inv *session.Invocation, key string) (string, error) {
	switch v := inv.State[key].(type) {
	case nil:
		return "", errMissing
	case string:
		return v, nil
	default:
		return told.JSON(v), nil
	}
}

func (a *llmAgent) artifactText(ctx context.Context, inv *session.Invocation,
	name string) (string, error) {
	if a.Artifacts == nil {
		return "", errors.New("the agent has no artifact service; set Config.Artifacts")
	}
	part, err := a.Artifacts.Load(ctx, inv.Key, name, artifact.Latest)
	switch {
	case errors.Is(err, artifact.ErrNotFound):
		return "", errMissing
	case err != nil:
		return "", err
	case part.InlineData != nil && part.Text == "":
		return string(part.InlineData.Data), nil
	}
	return part.Text, nil
}
