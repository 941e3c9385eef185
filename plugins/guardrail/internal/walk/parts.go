package walk

import (
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/internal/provider"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// joined goes through an item that is one text in several parts of the event, such as what an agent
// says, whatever stands between the parts. of returns a part's piece of the text, nil if it has
// none. An edit stands in the part in which it begins. joined reports whether a piece has changed.
func (w *Walker) joined(parts []*genai.Part, it *Item, of func(*genai.Part) *string) (edited bool) {
	// Put the pieces together, and note where something else stands between two of them.
	var text strings.Builder
	var ends, gaps []int
	var pieces []*string
	last := 0
	for i, p := range parts {
		if p == nil {
			continue
		}
		piece := of(p)
		if piece == nil || *piece == "" {
			continue
		}
		if pieces != nil && i > last+1 {
			gaps = append(gaps, text.Len())
		}
		last = i
		text.WriteString(*piece)
		ends = append(ends, text.Len())
		pieces = append(pieces, piece)
	}
	if pieces == nil {
		return false
	}

	// Put the edited parts back into the pieces.
	w.around(it, func() {
		l := Leaf{Leaf: jsonvalue.Leaf{Text: text.String()}, Item: it, Ends: ends, Gaps: gaps}
		edits, changed := w.Edit(l)
		if !changed || !w.Write {
			return
		}
		for i, piece := range pieces {
			*piece = edits[i]
		}
		edited = true
	})
	return edited
}

// transcriptions goes through the transcriptions of what was said, and through the words that they
// list, which may be other words. If a transcription is edited, its list goes.
func (w *Walker) transcriptions(parts []*genai.Part, stage policy.Stage) {
	edited := w.joined(parts, &Item{Stage: stage}, func(p *genai.Part) *string {
		if p.AudioTranscription == nil {
			return nil
		}
		var words, times []string
		for _, word := range p.AudioTranscription.Words {
			if word != nil {
				words = append(words, word.Word)
				times = append(times, word.StartOffset, word.EndOffset)
			}
		}
		words = append(words, slices.DeleteFunc(times, seconds.MatchString)...)
		joined := strings.Join(append(words, ""), " ")
		return &joined
	})
	said := w.joined(parts, &Item{Stage: stage, Said: true}, func(p *genai.Part) *string {
		if p.AudioTranscription == nil {
			return nil
		}
		return &p.AudioTranscription.Text
	})
	for _, p := range parts {
		if (edited || said) && p != nil && p.AudioTranscription != nil {
			p.AudioTranscription.Words = nil
		}
	}
}

// seconds matches the time of a word in a transcription, such as 1.5s.
var seconds = lazyregexp.New(`^([0-9]+(\.[0-9]{1,9})?s)?$`)

// code goes through code that a model has written, and through what it has printed.
func (w *Walker) code(parts []*genai.Part, stage policy.Stage) {
	w.joined(parts, &Item{Stage: stage}, func(p *genai.Part) *string {
		if p.ExecutableCode == nil {
			return nil
		}
		return &p.ExecutableCode.Code
	})
	w.joined(parts, &Item{Stage: policy.ToolResult, Tool: provider.Code}, func(p *genai.Part) *string {
		if p.CodeExecutionResult == nil {
			return nil
		}
		return &p.CodeExecutionResult.Output
	})
}
