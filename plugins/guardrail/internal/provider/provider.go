// Package provider names the tools that a model's provider runs, and not the program.
package provider

import "google.golang.org/genai"

// Names that answers of a provider have no name of their own for.
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
