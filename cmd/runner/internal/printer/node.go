package printer

import (
	"fmt"
	"strings"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/session"
)

// nodeLine says what an event tells of a run of a workflow's node, in one line; "" if it
// is of none, or only says something.
func nodeLine(e *session.Event) string {
	n := e.NodeInfo
	if n == nil || n.Path == "" || e.Author == session.User {
		return ""
	}
	_, path, inside := strings.Cut(n.Path, "/")
	if !inside {
		name, _, _ := strings.Cut(n.Path, "@")
		path = "workflow " + name
	}
	asks := false
	for _, call := range e.FunctionCalls() {
		asks = asks || call.Name == session.AskTool
	}
	switch {
	case e.ErrorCode != "":
		return fmt.Sprintf("%s has failed: %s", path, eventtext.Error(e))
	case asks:
		return path + " asks a question"
	case !n.Ended && len(e.FunctionCalls()) > 0:
		return fmt.Sprintf("%s calls %s", path, e.FunctionCalls()[0].Name)
	case !n.Ended:
		return "" // what it says is shown
	}
	line := path + " has ended"
	if e.Output != nil {
		line += " with " + eventtext.JSON(e.Output)
	}
	if e.Actions.Route != nil {
		line += ", route " + eventtext.JSON(e.Actions.Route)
	}
	return line
}
