// Package provider names the tools that a model's provider runs, and not the program.
//
// A further tool of a provider is one more name in the list.
package provider

import "google.golang.org/genai"

// The names under which rules see the tools that a provider runs: its answers do not name them.
const (
	Code   = "code_execution" // runs code that the model has written
	Search = "grounding"      // finds what the model's answer is grounded in
)

// Tools returns the names of all tools that a provider may answer with.
func Tools() []string {
	return []string{
		Search,
		Code,
		string(genai.ToolTypeGoogleSearchWeb),
		string(genai.ToolTypeGoogleSearchImage),
		string(genai.ToolTypeURLContext),
		string(genai.ToolTypeGoogleMaps),
		string(genai.ToolTypeFileSearch),
	}
}
