package workflow

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// A Run is one attempt of a node's run, as its function sees it. It belongs to the function that it is
// passed to, and to its goroutine: other goroutines use it only within Together.
type Run struct {
	// Path names the run; it is the same in each attempt, whatever process makes it, so it can be the
	// key by which another system knows what was done before.
	Path string
	// Attempt is the number of the attempt, from 1. What failed before a crash counts.
	Attempt int
	// TriggeredBy is the name of the node whose end began this run: Start's for one at the beginning, for
	// a join that of the last one, and "" for a run that Do or Each has begun.
	TriggeredBy string
	// Predecessors are the names of all nodes with an edge to this one. They must not be changed.
	Predecessors []string
	// Session is the session's key.
	Session session.Key
	// UserContent is the message that the workflow began with. It must not be changed. It is nil if a
	// compaction has covered it.
	UserContent *genai.Content
	// Actions are effects that go into the log with the run's end, in the same append: state, files, a
	// route. A failed attempt has none, nor one that waits.
	Actions session.Actions

	task     *task
	mu       sync.Mutex
	messages int               // how many messages of the run this attempt has put into the log, or found there
	counts   map[string]int    // by the name of a node, how often Do was called for it without a name
	children map[string]*child // by their paths
	delegate string            // the path of the child whose output is that of this run
}

// newRun returns what the function of a node gets.
func (t *task) newRun(attempt int) *Run {
	return &Run{
		Path:         t.path,
		Attempt:      attempt,
		TriggeredBy:  t.triggeredBy,
		Predecessors: slices.Clip(t.predecessors),
		Session:      t.invocation.key,
		UserContent:  t.invocation.content,
		task:         t,
	}
}

// Invocation returns the invocation as it is now. What this attempt sets is not in its state; see Get.
func (r *Run) Invocation() *session.Invocation { return r.task.host.Now() }

// Get returns the value of a state key: what this attempt has set or else what the session has, nil if
// neither has one.
func (r *Run) Get(key string) any {
	if v, ok := r.Actions.StateDelta[key]; ok {
		return v
	}
	return r.task.host.Now().State[key]
}

// Set sets a state key to a JSON value, with the run's end; nil deletes it, or adds nothing where the key has a Reducer.
func (r *Run) Set(key string, value any) { r.Actions.Set(key, value) }

// Route chooses the edges with this route, or with one of a list.
func (r *Run) Route(route any) { r.Actions.Route = route }

// Save keeps a file of the session, and notes its version in the log with the run's end.
func (r *Run) Save(ctx context.Context, name string, data *genai.Part) (version int64, err error) {
	artifacts := r.task.graph.Artifacts
	if artifacts == nil {
		return 0, errors.New("workflow: there is no artifact service; set Graph.Artifacts")
	}
	version, err = artifacts.Save(ctx, r.Session, name, data)
	if err != nil {
		return 0, err
	}
	r.Actions.ArtifactDelta = maps.Clone(r.Actions.ArtifactDelta)
	if r.Actions.ArtifactDelta == nil {
		r.Actions.ArtifactDelta = map[string]int64{}
	}
	r.Actions.ArtifactDelta[name] = version
	return version, nil
}

// Say tells the user something. It is an event of its own, and no output. What an attempt of the same run
// has said before it failed or waited is not said again: the first call is compared with the first event
// that said something, and so on. The error is agent.ErrEnded if the invocation has ended.
func (r *Run) Say(text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	messages := r.task.invocation.messagesOf(r.Path)
	if r.messages < len(messages) && messages[r.messages].Text() == text {
		r.messages++
		return nil
	}
	e := r.task.event()
	e.Content = genai.NewContentFromText(text, genai.RoleModel)
	if !r.task.put(e) {
		return agent.ErrEnded
	}
	r.messages = len(r.task.invocation.messagesOf(r.Path))
	return nil
}

// Together calls functions at once, each on a goroutine of its own, and returns when all have returned,
// with their errors joined. They may use Ask, Do and Say.
func (r *Run) Together(ctx context.Context, functions ...func(ctx context.Context) error) error {
	errs := make([]error, len(functions)+1)
	own := r.task
	defer func() { r.task = own }()
	var parts []agent.Part
	for i, f := range functions {
		parts = append(parts, func(ctx context.Context, host *agent.Host, yield func(*session.Event, error) bool) {
			// Any part's host and yield serve all of them; those of the caller are for its goroutine.
			r.mu.Lock()
			if r.task == own {
				shared := *own
				shared.host = host
				shared.yield = yield
				r.task = &shared
			}
			r.mu.Unlock()
			_, errs[i] = safely(func() (any, error) { return nil, f(ctx) })
		})
	}
	if len(parts) == 1 {
		_, err := safely(func() (any, error) { return nil, functions[0](ctx) })
		return err
	}
	if !agent.Together(ctx, own.host, own.yield, parts...) {
		errs[len(functions)] = agent.ErrEnded
	}
	return errors.Join(errs...)
}
