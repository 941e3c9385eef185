package plan

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/session"
)

// What Config.Keep names stays in the prompt as it is, as long as there is room for it. Of what had to give
// way, the summary has the first line of each group of events, so that the model knows what it can read with
// the tool recall.

// kept returns an event with only what Config.Keep names in it: of several calls in one event, those of the
// named tools.
func (s *Settings) kept(e *session.Event) *session.Event {
	if s.namesWhole(e) || e.Content == nil || len(e.FunctionCalls())+len(e.FunctionResponses()) == 0 {
		return e
	}
	some := e.Clone()
	some.Content.Parts = slices.DeleteFunc(some.Content.Parts, func(p *genai.Part) bool {
		return p != nil && (p.FunctionCall != nil && !slices.Contains(s.Keep.Tools, p.FunctionCall.Name) ||
			p.FunctionResponse != nil && !slices.Contains(s.Keep.Tools, p.FunctionResponse.Name))
	})
	return some
}

// firstLines returns one line about a group: its first and last position, and the beginning of what
// Config.Keep names in it.
func (s *Settings) firstLines(g *group) string {
	first := g.Events[0].Seq
	last := first
	var texts []string
	for _, e := range g.Events {
		first = min(first, e.Seq)
		last = max(last, e.Seq)
		if text := extract.OneLine(extract.Render(s.kept(e))); text != "" {
			texts = append(texts, text)
		}
	}
	text := strings.Join(texts, " → ")
	end := extract.Prefix(text, lineText)
	if end < len(text) {
		text = text[:end] + "…"
	}
	return fmt.Sprintf("%d–%d %s", first, last, text)
}

// lineText is how many characters of a group its line has.
const lineText = 160

// firstLinesHeader begins the part of a summary that has these lines.
const firstLinesHeader = "Kept in part; " + meter.RecallName + " reads the whole, from the first position to the last:"

// SplitFirstLines cuts a section of a summary into these lines and the rest.
func SplitFirstLines(text string) (lines []string, rest string) {
	body, ok := strings.CutPrefix(text, firstLinesHeader+"\n")
	if !ok {
		return nil, text
	}
	block, rest, _ := strings.Cut(body, "\n\n")
	return strings.Split(block, "\n"), rest
}

// Prose returns a Summarizer's text, in which nothing looks like these lines or like a ledger.
func Prose(text string) string {
	if strings.HasPrefix(text, firstLinesHeader+"\n") {
		text = "Summary: " + text
	}
	return extract.Prose(text)
}

// DrawFirstLines returns the part of a summary with the latest of these lines, as many as fit into a budget
// of tokens.
func DrawFirstLines(lines []string, budget int, count func(string) int) string {
	for len(lines) > 0 {
		text := firstLinesHeader + "\n" + strings.Join(lines, "\n")
		if count(text) <= budget {
			return text
		}
		lines = lines[1:]
	}
	return ""
}
