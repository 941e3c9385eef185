package guardrail

import (
	"fmt"
	"slices"
	"strings"
)

// maxGrounds is how many bytes of tools' answers a judge of grounding is sent.
const maxGrounds = 32 << 10

// grounds returns what tools have answered in the run, a line for each answer, the latest first, and
// whether some of it is left out for its size. It is what the log has, so rules about what tools answer
// have left it so.
func (ev *evaluation) grounds() (text string, cut bool) {
	var lines []string
	size := 0
	for _, e := range slices.Backward(ev.inv.Live) {
		if e.InvocationID != ev.inv.ID {
			continue
		}
		for _, r := range slices.Backward(e.FunctionResponses()) {
			line := fmt.Sprintf("%s(%s) answered %s", r.Name, inJSON(ev.argsOf(r), ""), inJSON(r.Response, ""))
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
	}
	return strings.Join(lines, "\n"), false
}
