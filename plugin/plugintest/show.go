package plugintest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// show writes an event with everything that is in it, but for what differs from run to run: its
// ID, its invocation's ID and its time.
func show(b *strings.Builder, e *session.Event) {
	author := e.Author
	if e.Branch != "" {
		author += " (" + e.Branch + ")"
	}
	lines := contentLines(e.Content)
	if len(lines) > 0 && !strings.Contains(lines[0], "\n") {
		fmt.Fprintf(b, "%d %s: %s\n", e.Seq, author, lines[0])
		lines = lines[1:]
	} else {
		fmt.Fprintf(b, "%d %s:\n", e.Seq, author)
	}
	for _, line := range append(lines, rest(e)...) {
		fmt.Fprintf(b, "    %s\n", strings.ReplaceAll(line, "\n", "\n    "))
	}
}

// contentLines returns a text of one or more lines for each part of a content.
func contentLines(c *genai.Content) (lines []string) {
	if c == nil {
		return nil
	}
	for _, p := range c.Parts {
		switch {
		case p == nil:
			lines = append(lines, "(null)")
		case p.Text != "" && alone(p, genai.Part{Text: p.Text}):
			lines = append(lines, p.Text)
		case p.FunctionCall != nil && alone(p, genai.Part{FunctionCall: p.FunctionCall}):
			lines = append(lines, eventtext.Call(p.FunctionCall)+hash(p.FunctionCall.ID))
		case p.FunctionResponse != nil && alone(p, genai.Part{FunctionResponse: p.FunctionResponse}):
			lines = append(lines, eventtext.Response(p.FunctionResponse)+hash(p.FunctionResponse.ID))
		default:
			lines = append(lines, "part "+eventtext.JSON(p))
		}
	}
	return lines
}

// alone reports whether a part says nothing but what another one does.
func alone(p *genai.Part, other genai.Part) bool { return eventtext.JSON(p) == eventtext.JSON(&other) }

func hash(id string) string {
	if id == "" {
		return ""
	}
	return " #" + id
}

// rest returns the event's other fields, a line each.
func rest(e *session.Event) []string {
	data, err := e.MarshalJSON()
	var fields map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		return []string{"no JSON: " + err.Error()}
	}
	for _, key := range []string{"id", "seq", "invocationId", "timestamp", "author", "branch", "content"} {
		delete(fields, key)
	}
	_, emitted := e.Plugin()
	if len(plugin.NotesOf(e).Changed) == 0 && !emitted { // a model's, as they come
		delete(fields, "usageMetadata")
		delete(fields, "modelVersion")
		if e.FinishReason == genai.FinishReasonStop {
			delete(fields, "finishReason")
		}
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		var v any
		d := json.NewDecoder(bytes.NewReader(fields[key]))
		d.UseNumber()
		if d.Decode(&v) == nil {
			lines = append(lines, key+": "+eventtext.JSON(v))
		}
	}
	return lines
}

// steady puts names that do not differ from run to run in place of ids and times.
func steady(s string, events []*session.Event) string {
	var pairs []string
	for _, e := range events {
		if e.ID != "" {
			pairs = append(pairs, e.ID, fmt.Sprintf("<id of %d>", e.Seq))
		}
		if !e.Timestamp.IsZero() {
			pairs = append(pairs, e.Timestamp.Format(time.RFC3339Nano), fmt.Sprintf("<time of %d>", e.Seq))
		}
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// text writes a conversation.
func (t *trial) text() string {
	var b strings.Builder
	for _, e := range t.log {
		show(&b, e)
	}
	for i, err := range t.errs {
		if err != nil {
			fmt.Fprintf(&b, "run %d failed: %v\n", i+1, err)
		}
	}
	return steady(b.String(), t.log)
}

// firstDifference shows where two texts begin to differ.
func firstDifference(aName, a, bName, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	i := 0
	for i < len(as) && i < len(bs) && as[i] == bs[i] {
		i++
	}
	part := func(lines []string) string {
		return "    " + strings.Join(lines[min(i, len(lines)):min(i+5, len(lines))], "\n    ")
	}
	return fmt.Sprintf("line %d, %s:\n%s\nline %d, %s:\n%s", i+1, aName, part(as), i+1, bName, part(bs))
}
