// Package model defines what goes to a language model.
package model

import (
	"github.com/huandu/go-clone"
	"google.golang.org/genai"
)

// A Request is one call of a model.
type Request struct {
	// Agent is the agent that asks, Branch its branch: what a plugin emits in place of the answer is of
	// that branch.
	Agent, Branch string
	// Model names the model; "" leaves it to the Model that is called.
	Model string
	// Contents is the conversation, oldest first.
	Contents []*genai.Content
	// Config has the system instruction, the tools and the parameters.
	Config *genai.GenerateContentConfig
}

// Clone returns a copy that shares nothing with r but functions.
func (r *Request) Clone() *Request { return clone.Clone(r).(*Request) }
