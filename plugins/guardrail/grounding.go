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

// grounds returns what tools have answered in the run, and whether some of it is left out for its size.
// It is what the log has, so rules about what tools answer have left it so.
func (ev *evaluation) grounds() (text string, cut bool) {
	return groundsOf(func(yield func(string) bool) {
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
