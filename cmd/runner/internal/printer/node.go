package printer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/session"
)

// NodeName names a run of a workflow's node for people: by the nodes around it and its own, without the
// workflow. A second run of a node is "name@2". An item of an each, whose runs have the name of the each,
// is "name#2".
func NodeName(path string) string {
	elements := strings.Split(path, "/")
	if len(elements) == 1 {
		name, _, _ := strings.Cut(path, "@")
		return name
	}
	var shown strings.Builder
	above := ""
	for _, element := range elements[1:] {
		name, run, _ := strings.Cut(element, "@")
		switch {
		case name == above:
			shown.WriteString("#" + run)
		case shown.Len() > 0:
			shown.WriteString("/")
			fallthrough
		default:
			shown.WriteString(name)
			if run != "1" {
				shown.WriteString("@" + run)
			}
		}
		above = name
	}
	return shown.String()
}

// story describes what a run of a workflow's node does in an event, a line for each thing: its function calls,
// their responses, its failure, its end. It leaves out the input of the node, texts of an agent that the end of
// the node has again as its output, and nodes that only choose between edges.
func (p *Printer) story(e *session.Event) (lines []string) {
	n := e.NodeInfo
	if n == nil || n.Path == "" || e.Author == session.User {
		return nil
	}
	name := NodeName(n.Path)
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, part := range e.Parts() {
		switch {
		case part.FunctionCall != nil && part.FunctionCall.Name == session.AskTool:
			if !p.Chat { // the chat puts the question
				add("%s asks: %v", name, part.FunctionCall.Args["message"])
			}
		case part.FunctionCall != nil:
			add("%s %s", name, eventtext.Call(part.FunctionCall))
		case part.FunctionResponse != nil && (e.ErrorCode == "" && !n.Ended):
			add("%s: %s", name, eventtext.Response(part.FunctionResponse))
		}
	}
	_, emitted := e.Plugin()
	switch {
	case e.ErrorCode != "" && !e.FromWorkflow() && !emitted:
		// An agent in the node has failed. The node fails next, with an event of its own that says so.
	case e.ErrorCode != "":
		lines = append(lines, p.failure(name, e))
	case n.Ended && (decides(n.Path) || p.outputShown == e.ID):
	case n.Ended:
		line := name + " is done"
		if e.Output != nil {
			line = name + ": " + outputText(e.Output)
		}
		if e.Actions.Route != nil {
			line += "  (route " + eventtext.JSON(e.Actions.Route) + ")"
		}
		add("%s", line)
	}
	return lines
}

// decides reports whether a run is of a node that decides between the edges of another one.
func decides(path string) bool {
	name, _, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], "@")
	return strings.HasSuffix(name, eventtext.DeciderMark)
}

// failure describes the failure of a node's attempt or of a workflow. A workflow usually fails because a node in it
// has failed, with the same message: then the message is not repeated.
func (p *Printer) failure(name string, e *session.Event) string {
	line := name + " has failed"
	if slices.Contains(p.failed, e.NodeInfo.Path) {
		line += " again"
	}
	p.failed = append(p.failed, e.NodeInfo.Path)
	repeats := p.lastFailure != "" && strings.HasSuffix(e.ErrorMessage, p.lastFailure)
	if !repeats || e.NodeInfo.Path == p.lastFailed {
		line += ": " + eventtext.Error(e)
	}
	p.lastFailure = e.ErrorMessage
	p.lastFailed = e.NodeInfo.Path
	return line
}

// outputText returns an output as people read it: a text as it is, any other value as JSON.
func outputText(output any) string {
	if text, ok := output.(string); ok {
		return text
	}
	return eventtext.JSON(output)
}
