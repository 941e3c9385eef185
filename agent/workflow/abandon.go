package workflow

import (
	"fmt"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// abandonCommand is the name of the command by which somebody ends a run.
const abandonCommand = "workflow.abandon"

// Abandon returns an input that ends a run of a workflow that has not ended, whatever it waits for:
// path is the first element of the paths of its nodes (session.WorkflowRun.Path). The workflow answers
// the run's open calls with an error, and ends it with the code Abandoned. It is for a run that cannot
// go on, such as one of a graph that was changed, or of a workflow that is not there any more. The runner's
// root agent must be a workflow.
func Abandon(path string) *session.Event {
	command := session.Command{Name: abandonCommand, Args: map[string]any{"run": path}}
	e := command.Event()
	e.Content = genai.NewContentFromText("Abandon the run "+path+".", genai.RoleUser)
	return e
}

// abandons returns the run that an input ends, if it is one that Abandon has made.
func abandons(input *session.Event, began int64) (path string, ok bool) {
	if input == nil || input.Seq <= began {
		return "", false
	}
	c, ok := input.Command()
	path, isText := c.Args["run"].(string)
	return path, ok && c.Name == abandonCommand && isText
}

// abandon ends a run.
func (g *graph) abandon(w *invocation, host *agent.Host, put func(*session.Event, error) bool, path string) {
	s := &task{invocation: w, graph: g, host: host, yield: put, path: path}
	began := w.firstOf(path)
	if began == nil || above(path) != "" || w.ended(path) != nil {
		e := &session.Event{Author: g.Name(), Branch: host.Branch, ErrorCode: NodeGone,
			ErrorMessage: fmt.Sprintf("the session has no open run %s of a workflow", path)}
		s.put(e)
		return
	}
	if !s.closeCalls(path, nil, "the workflow's run was abandoned") {
		return
	}
	e := s.event()
	e.NodeInfo.Ended = true
	e.ErrorCode = Abandoned
	e.ErrorMessage = "the run was abandoned"
	s.put(e)
}
