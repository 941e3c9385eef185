package guardrail

import (
	"regexp"
	"slices"
	"strings"

	"google.golang.org/genai"
)

// run is text for one that parts have together, such as what they say: it is shown as one, whatever stands between them.
// Of answers a part's piece of it, nil if it has none. What is edited stands in the part in which it begins. It reports
// whether a piece has changed.
func (w *walker) run(parts []*genai.Part, it *item, of func(*genai.Part) *string) (edited bool) {
	var text strings.Builder
	var ends, gaps []int
	var pieces []*string
	last := 0
	for i, p := range parts {
		if p == nil {
			continue
		}
		if piece := of(p); piece != nil && *piece != "" {
			if pieces != nil && i > last+1 {
				gaps = append(gaps, text.Len())
			}
			last = i
			text.WriteString(*piece)
			ends = append(ends, text.Len())
			pieces = append(pieces, piece)
		}
	}
	if pieces == nil {
		return false
	}
	w.around(it, func() {
		if by, changed := w.edit(leaf{jsonLeaf{text: text.String()}, it, ends, gaps}); changed && w.write {
			for i, piece := range pieces {
				*piece = by[i]
			}
			edited = true
		}
	})
	return edited
}

// heard goes through the transcriptions of what was said, and through their words, which may be others. If something in
// them is edited, the words go.
func (w *walker) heard(parts []*genai.Part, stage Stage) {
	edited := w.run(parts, &item{stage: stage}, func(p *genai.Part) *string {
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
	edited = w.run(parts, &item{stage: stage, said: true}, func(p *genai.Part) *string {
		if p.AudioTranscription == nil {
			return nil
		}
		return &p.AudioTranscription.Text
	}) || edited
	for _, p := range parts {
		if edited && p != nil && p.AudioTranscription != nil {
			p.AudioTranscription.Words = nil
		}
	}
}

// seconds matches when a word was said.
var seconds = regexp.MustCompile(`^([0-9]+(\.[0-9]{1,9})?s)?$`)

// code goes through code, and what it has printed.
func (w *walker) code(parts []*genai.Part, stage Stage) {
	w.run(parts, &item{stage: stage}, func(p *genai.Part) *string {
		if p.ExecutableCode == nil {
			return nil
		}
		return &p.ExecutableCode.Code
	})
	w.run(parts, &item{stage: ToolResult, tool: codeTool}, func(p *genai.Part) *string {
		if p.CodeExecutionResult == nil {
			return nil
		}
		return &p.CodeExecutionResult.Output
	})
}
