package compaction

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

// What Config.Keep names stays in the prompt as it is, as long as there is room for it. Of what had to give way, the summary
// has the first line of each group of events, so that the model knows what it can read with the tool recall.

// kept returns an event with only what Config.Keep names in it: of several calls in one event, those of the named tools.
func (k *compactor) kept(e *session.Event) *session.Event {
	if k.namesWhole(e) || e.Content == nil || len(e.FunctionCalls())+len(e.FunctionResponses()) == 0 {
		return e
	}
	some := e.Clone()
	some.Content.Parts = slices.DeleteFunc(some.Content.Parts, func(p *genai.Part) bool {
		return p != nil && (p.FunctionCall != nil && !slices.Contains(k.Keep.Tools, p.FunctionCall.Name) ||
			p.FunctionResponse != nil && !slices.Contains(k.Keep.Tools, p.FunctionResponse.Name))
	})
	return some
}

// firstLines returns one line about a group: its first and last position, and the beginning of what Config.Keep names in it.
func (k *compactor) firstLines(g *group) string {
	first := g.events[0].Seq
	last := first
	var said []string
	for _, e := range g.events {
		first = min(first, e.Seq)
		last = max(last, e.Seq)
		if text := oneLine(extract.Render(k.kept(e))); text != "" {
			said = append(said, text)
		}
	}
	text := strings.Join(said, " → ")
	end := prefix(text, lineText)
	if end < len(text) {
		text = text[:end] + "…"
	}
	return fmt.Sprintf("%d–%d %s", first, last, text)
}

// lineText is how many characters of a group its line has.
const lineText = 160

// pinsHeader begins the part of a summary that has these lines.
const pinsHeader = "Kept in part; " + RecallName + " reads the whole, from the first position to the last:"

// splitPins cuts a section of a summary into these lines and the rest.
func splitPins(text string) (lines []string, rest string) {
	body, ok := strings.CutPrefix(text, pinsHeader+"\n")
	if !ok {
		return nil, text
	}
	block, rest, _ := strings.Cut(body, "\n\n")
	return strings.Split(block, "\n"), rest
}

// drawPins returns the part of a summary with the latest of these lines, as many as fit into a budget of tokens.
func drawPins(lines []string, budget int, count func(string) int) string {
	for len(lines) > 0 {
		text := pinsHeader + "\n" + strings.Join(lines, "\n")
		if count(text) <= budget {
			return text
		}
		lines = lines[1:]
	}
	return ""
}
