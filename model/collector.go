package model

import (
	"reflect"
	"strings"

	"google.golang.org/genai"
)

// A Collector joins partial responses into a whole one. It joins neighbouring parts that have
// nothing but text. Every other part, such as one with a thought's signature, stays as it came. The
// zero Collector is empty.
type Collector struct {
	whole Response
	text  *strings.Builder // the text of the last part; nil if nothing has been added to it
}

// Add takes one partial response.
func (c *Collector) Add(r *Response) {
	w := &c.whole
	if r.Content != nil {
		if w.Content == nil {
			w.Content = &genai.Content{Role: r.Content.Role}
		}
		for _, p := range r.Content.Parts {
			c.part(p)
		}
	}
	if r.ErrorCode != "" {
		w.ErrorCode = r.ErrorCode
		w.ErrorMessage = r.ErrorMessage
	}
	if r.FinishReason != "" {
		w.FinishReason = r.FinishReason
	}
	if r.UsageMetadata != nil {
		w.UsageMetadata = r.UsageMetadata
	}
	if r.GroundingMetadata != nil {
		w.GroundingMetadata = r.GroundingMetadata
	}
	if r.CitationMetadata != nil {
		w.CitationMetadata = r.CitationMetadata
	}
	if r.ModelVersion != "" {
		w.ModelVersion = r.ModelVersion
	}
}

func (c *Collector) part(p *genai.Part) {
	if p == nil {
		return
	}
	parts := c.whole.Content.Parts
	if n := len(parts); n > 0 && plainText(p) && plainText(parts[n-1]) &&
		p.Thought == parts[n-1].Thought {
		if c.text == nil {
			c.text = &strings.Builder{}
			c.text.WriteString(parts[n-1].Text)
		}
		c.text.WriteString(p.Text)
		return
	}
	c.finish()
	c.whole.Content.Parts = append(parts, p)
}

// finish makes the last part anew if text was added to it.
func (c *Collector) finish() {
	if c.text == nil {
		return
	}
	parts := c.whole.Content.Parts
	last := parts[len(parts)-1]
	parts[len(parts)-1] = &genai.Part{Text: c.text.String(), Thought: last.Thought}
	c.text = nil
}

// plainText reports whether the part has text, or a thought's text, and nothing else.
func plainText(p *genai.Part) bool {
	rest := *p
	rest.Text = ""
	rest.Thought = false
	return p.Text != "" && reflect.ValueOf(rest).IsZero()
}

// Whole returns the whole response so far. It shares parts with what was added.
func (c *Collector) Whole() *Response {
	c.finish()
	w := c.whole
	if w.Content != nil {
		w.Content = &genai.Content{Role: w.Content.Role,
			Parts: append([]*genai.Part(nil), w.Content.Parts...)}
	}
	return &w
}
