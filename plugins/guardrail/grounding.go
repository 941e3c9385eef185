package guardrail

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// maxGrounds is how many bytes of tools' answers a judge of grounding is sent.
const maxGrounds = 32 << 10

// grounds returns what tools have answered in the run. It reads the log once for an event, however many
// judges are asked about however many texts of it. The log has what rules about answers have left.
func (ev *evaluation) grounds() grounds {
	if ev.answered != nil {
		return *ev.answered
	}
	ev.answered = &grounds{}
	isHere := func(e *session.Event) bool {
		return e.InvocationID == ev.inv.ID && len(e.FunctionResponses()) > 0
	}
	if !slices.ContainsFunc(ev.inv.Live, isHere) {
		return *ev.answered
	}
	ev.answered.text, ev.answered.cut = groundsOf(func(yield func(string) bool) {
		for _, c := range slices.Backward(session.Calls(ev.inv.Live)) {
			if c.Response == nil || c.Response.InvocationID != ev.inv.ID {
				continue
			}
			line := fmt.Sprintf("%s(%s) answered %s", c.Name, inJSON(c.Args, ""), inJSON(c.Result.Response, ""))
			if !yield(line) {
				return
			}
		}
	})
	return *ev.answered
}

// groundsOf joins answers, which come with the latest first, as far as a judge is sent them.
func groundsOf(answers iter.Seq[string]) (text string, cut bool) {
	var lines []string
	size := 0
	for line := range answers {
		size += len(line) + 1
		if size <= maxGrounds {
			lines = append(lines, line)
			continue
		}
		if lines == nil { // the latest answer alone is too long: its beginning
			lines = append(lines, line[:maxGrounds])
		}
		return strings.Join(lines, "\n"), true
	}
	return strings.Join(lines, "\n"), false
}
