package main

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// needs lists what must be in the environment when the configuration that was built runs: the keys of the models that
// something asks, of the guardrails, and the headers of the servers that agents use. What is not set says so.
func (b *builder) needs() (list []string) {
	add := func(variables ...string) {
		what := strings.Join(variables, " or ")
		if !slices.ContainsFunc(variables, func(name string) bool { return os.Getenv(name) != "" }) {
			what += " (not set)"
		}
		if variables != nil && !slices.Contains(list, what) {
			list = append(list, what)
		}
	}
	models := slices.Sorted(maps.Keys(b.models))
	for _, p := range b.Plugins {
		switch {
		case p.Compaction != nil && p.Compaction.Model != "":
			models = append(models, p.Compaction.Model)
		case p.Guardrail != nil && p.Guardrail.File != "":
			if pol, err := policy.Load(b.path(p.Guardrail.File)); err == nil {
				models = append(models, pol.Models()...)
			}
		}
	}
	for _, ref := range models {
		if m, err := b.config.model(ref); err == nil {
			add(m.keys()...)
		}
	}
	for _, p := range b.Plugins {
		if p.Guardrail != nil && p.Guardrail.KeyEnv != "" {
			add(p.Guardrail.KeyEnv)
		}
	}
	for _, m := range b.MCP {
		if b.used[m.Name] {
			for _, header := range slices.Sorted(maps.Keys(m.HeaderEnv)) {
				add(m.HeaderEnv[header])
			}
		}
	}
	return list
}

// keys returns the environment variables of which one must have the model's key, none if it may do without.
func (m *modelConfig) keys() []string {
	switch {
	case m.Gemini != nil && m.Gemini.APIKeyEnv != "":
		return []string{m.Gemini.APIKeyEnv}
	case m.Gemini != nil && m.Gemini.Project == "":
		return []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}
	case m.OpenAI != nil && m.OpenAI.APIKeyEnv != "":
		return []string{m.OpenAI.APIKeyEnv}
	case m.OpenAI != nil && m.OpenAI.BaseURL == "" && os.Getenv("OPENAI_BASE_URL") == "":
		return []string{"OPENAI_API_KEY"}
	}
	return nil // Google Cloud's own credentials, a server that may take any call, a script
}
