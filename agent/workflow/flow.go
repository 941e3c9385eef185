package workflow

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// Run implements agent.Agent. It goes on with the runs that the invocation is about, or begins one.
func (g *graph) Run(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		inv := host.Now()
		w := &invocation{key: inv.Key, began: host.Began}
		w.update(inv)
		over := false
		put := func(e *session.Event, err error) bool {
			if over {
				return false
			}
			over = !yield(e, err)
			if !over && e != nil && !e.Partial {
				w.update(host.Now())
			}
			return !over
		}
		if path, ok := abandons(inv.Input, host.Began); ok {
			g.abandon(w, host, put, path)
			return
		}
		outer, _ := ctx.Value(pathKey{}).(string)
		paths, gone := g.pathsOf(w, host, outer)
		if gone != "" {
			name, _ := element(gone)
			put(&session.Event{Author: g.Name(), Branch: host.Branch, ErrorCode: NodeGone,
				ErrorMessage: fmt.Sprintf("the log has the run %s, which has not ended, and there is no workflow %s: it was renamed or "+
					"removed while this run was under way; give it this name again, or abandon the run", gone, name)}, nil)
			return
		}
		for _, path := range paths {
			if over || ctx.Err() != nil {
				return
			}
			message := g.message(host, w.firstOf(path))
			w.content = nil
			var input any
			if message != nil {
				w.content = message.Content
				input = message.Content
			}
			s := &task{invocation: w, graph: g, host: host, yield: put, path: path, input: input}
			res := g.attempt(ctx, s)
			if res.outcome == hasFailed && ctx.Err() == nil {
				s.tell(res, true)
			}
		}
	}
}

// pathsOf returns the paths of the runs that the invocation is about: those whose calls the user has
// answered; or else, if the user has said something new, a new run; or else those that have not ended,
// and one for a message that nobody has begun a run for. Only runs in the host's branch count, below
// the run outer of a node that the workflow's agent is in.
//
// If the invocation is about an open run of a workflow that is not there any more, gone is its path, and
// nothing is to run: this workflow may be that one under another name.
func (g *graph) pathsOf(w *invocation, host *agent.Host, outer string) (paths []string, gone string) {
	inv := host.Now()

	// Which runs are there?
	var open, answered, strangers []string
	endedNow := false
	latest := int64(0) // the position at which the latest run began
	for _, path := range w.runsIn(outer) {
		if g.isStranger(w, host, path) {
			strangers = append(strangers, path)
		}
		if name, _ := element(path); name != g.Name() || !inBranch(w, host.Branch, path) {
			continue
		}
		latest = max(latest, w.firstOf(path).Seq)
		switch run := w.ended(path); {
		case run != nil:
			endedNow = endedNow || run.End.Seq > host.Began
		case w.answered(path, host.Began):
			answered = append(answered, path)
			fallthrough
		default:
			open = append(open, path)
		}
	}

	// What is the invocation about?
	input := inv.Input
	fresh := input != nil && input.Seq > host.Began
	message := g.message(host, nil)
	switch {
	case len(answered) > 0:
		return answered, ""
	case endedNow, fresh && says(input):
		return []string{g.fresh(w, host, outer, inv.ID)}, ""
	case fresh:
		open = nil // the input answers no call of a run and is no message: the runs that wait go on waiting
	case input != nil:
		open = slices.DeleteFunc(open, func(path string) bool {
			_, run := element(path)
			return run != escaped(inv.ID) && !strings.HasPrefix(run, escaped(inv.ID)+"-")
		})
	}
	for _, path := range strangers {
		began := w.firstOf(path).Seq
		if w.ended(path) == nil && (message != nil && message.Seq > latest && message.Seq < began || w.answered(path, host.Began)) {
			return nil, path
		}
		latest = max(latest, began)
	}
	if message != nil && message.Seq > latest { // nobody has begun a run for it
		open = append(open, g.fresh(w, host, outer, cmp.Or(message.InvocationID, inv.ID)))
	}
	return open, ""
}

// isStranger reports whether a run was begun where this workflow runs, by a workflow that is not there any more.
func (g *graph) isStranger(w *invocation, host *agent.Host, path string) bool {
	name, run := element(path)
	if host.Root == nil || agent.Find(host.Root, g.Name()) == nil || agent.Find(host.Root, name) != nil ||
		strings.Trim(run, "0123456789") == "" { // it is of another kit
		return false
	}
	branch := host.Branch
	if above, ok := strings.CutSuffix("."+branch, "."+g.Name()); ok { // Parallel gives each agent a branch with its name
		branch = strings.TrimPrefix(above+"."+name, ".")
	}
	return inBranch(w, branch, path)
}

// open reports whether a run of the workflow that this invocation is about has not ended: one that it has
// made events of, or any if it has no input.
func (g *graph) open(host *agent.Host) bool {
	inv := host.Now()
	for _, run := range session.NewWorkflowRuns(inv.Live).Workflows() {
		name, _ := element(run.Path)
		if name != g.Name() || !run.Open() || !agent.Sees(host.Branch, run.Events[0].Branch) {
			continue
		}
		if inv.Input == nil || run.Events[len(run.Events)-1].Seq > host.Began {
			return true
		}
	}
	return false
}

// fresh returns the path of a new run. It has the name of the invocation that begins it, or of the call
// that the workflow answers as an agent that is called like a tool.
func (g *graph) fresh(w *invocation, host *agent.Host, outer, base string) string {
	if at := strings.LastIndexByte(host.Branch, '@'); at >= 0 && outer == "" {
		base = host.Branch[at+1:]
	}
	path := g.Name() + "@" + escaped(base)
	if outer != "" {
		path = outer + "/" + path
	}
	free := path
	for n := 2; w.firstOf(free) != nil; n++ {
		free = fmt.Sprintf("%s-%d", path, n)
	}
	return free
}

// escaped returns an id as a part of a path.
func escaped(id string) string {
	return strings.NewReplacer("%", "%25", "/", "%2F", "@", "%40", "#", "%23").Replace(id)
}

// inBranch reports whether a run was begun in a branch.
func inBranch(w *invocation, branch, path string) bool {
	rest, ok := strings.CutPrefix(w.firstOf(path).Branch, branch)
	if !ok {
		return false
	}
	_, below, isolated := strings.Cut(rest, "@")
	return !isolated || strings.HasPrefix(below, strings.ReplaceAll(path, ".", "%2E"))
}

// says reports whether an event says more than answers to function calls.
func says(e *session.Event) bool {
	return e.Content != nil && slices.ContainsFunc(e.Content.Parts, func(p *genai.Part) bool {
		return p != nil && p.FunctionResponse == nil
	})
}

// commands reports whether an event is a command.
func commands(e *session.Event) bool {
	_, ok := e.Command()
	return ok
}

// message returns the message that a run began with: the last one before its first event that the
// host's branch has, or else sees. before is nil for a run that has no event yet.
func (g *graph) message(host *agent.Host, before *session.Event) *session.Event {
	live := host.Now().Live
	isolated := strings.Contains(host.Branch, "@")
	for _, e := range slices.Backward(live) {
		switch {
		case before != nil && e.Seq >= before.Seq, !says(e), commands(e):
		case isolated && e.Branch == host.Branch && e.Content.Role == genai.RoleUser && (e.NodeInfo == nil || e.Author != g.Name()):
			return e
		case !isolated && e.Author == session.User && agent.Sees(host.Branch, e.Branch):
			return e
		}
	}
	return nil
}
