package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// An Evaluator runs cases. Its Trace belongs into the options of the Runner, and its Tool around each of its tools.
type Evaluator struct {
	// Runner runs the agent, and Sessions has its sessions.
	Runner interface {
		Run(ctx context.Context, key session.Key, input *session.Event, cfg session.RunConfig) iter.Seq2[*session.Event, error]
	}
	Sessions session.Service
	// App and User are those of the sessions. If User is "", each run of a case has a user of its own, so that no case
	// finds the state or has spent the budget of another one's.
	App, User string
	// Recorded says that tools are not executed: a call gets what the case has recorded for it. A call for which
	// nothing is recorded fails, and so does its case.
	Recorded bool
	// Price returns what a model costs, false if that is not known. It may be nil.
	Price func(model string) (prices.Price, bool)
	// Judge is asked about criteria that a model judges; it may be nil if no case has one.
	Judge *Judge
	// Workers is how many cases run at a time, Repeat how often each runs; 0 is 1.
	Workers, Repeat int
	// Timeout bounds how long the turns of a case may take in all, if the case says nothing else; 0 is no bound.
	Timeout time.Duration
	// Keep says that the sessions of cases that pass stay, too.
	Keep bool
	// Progress is told when a case has ended; it may be nil.
	Progress func()

	mu   sync.Mutex
	runs map[string]*caseRun // of now, by the id of their session
}

// caseRun is one run of a case.
type caseRun struct {
	*Case
	key session.Key

	mu       sync.Mutex
	recorded []RecordedResult // that no call has used yet
	missing  []string         // calls for which nothing is recorded
	hooks    []runner.HookCall
}

// turnRun is what came of a turn.
type turnRun struct {
	*Turn
	number  int // from 1
	events  []*session.Event
	calls   []session.Call
	answer  string
	hooks   []runner.HookCall
	missing []string
	waits   []session.Call // for a person, at the end
	state   map[string]any
	took    time.Duration
	usage   usage

	mu    sync.Mutex
	given map[int]bool // of Answers
}

// Trace notes what plugins do. It is a Runner's trace.
func (e *Evaluator) Trace(c runner.HookCall) {
	if len(c.Did()) == 0 {
		return
	}
	if r := e.runOf(c.Key); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hooks = append(r.hooks, c)
	}
}

// runOf returns what runs in a session, nil if it is no case's.
func (e *Evaluator) runOf(key session.Key) *caseRun {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[key.ID]
}

// Run runs all cases, and returns what came of them, in their order. An error says that no other case could be run; then
// the result has those that were. A case that goes wrong is no error.
func (e *Evaluator) Run(ctx context.Context, cases []*Case) (*Result, error) {
	result := &Result{Began: time.Now().UTC()}
	repeat := max(1, e.Repeat)
	result.Cases = make([]CaseResult, len(cases)*repeat)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, e.Workers))
	for i, c := range cases {
		for n := range repeat {
			group.Go(func() error {
				if err := context.Cause(ctx); err != nil {
					return err
				}
				one, err := e.runCase(ctx, c, n+1)
				if err != nil {
					one.Passed = false
					one.Error = "it was cut off: " + err.Error()
				}
				result.Cases[i*repeat+n] = one
				if e.Progress != nil {
					e.Progress()
				}
				return err
			})
		}
	}
	err := group.Wait()
	result.Cases = slices.DeleteFunc(result.Cases, func(c CaseResult) bool { return c.Repeat == 0 }) // it was not begun
	result.Seconds = time.Since(result.Began).Seconds()
	return result, err
}

var notInID = lazyregexp.New(`[^A-Za-z0-9_.-]+`)

// sessionID returns the id of a session for a case.
func sessionID(c *Case, repeat int) string {
	name := notInID.ReplaceAllString(c.ID, "-")
	return fmt.Sprintf("eval-%s-%d-%s", name[:min(len(name), 60)], repeat, session.NewID())
}

// runCase runs a case once.
func (e *Evaluator) runCase(ctx context.Context, c *Case, repeat int) (CaseResult, error) {
	out := CaseResult{File: c.File, Set: c.Set, Case: c.ID, Repeat: repeat, Scores: []Score{}, Events: []string{}}
	if c.Unfit != "" {
		out.Error = c.Unfit
		return out, nil
	}
	id := sessionID(c, repeat)
	r := &caseRun{Case: c, key: session.Key{App: e.App, User: cmp.Or(e.User, id), ID: id}}
	for _, t := range c.Turns {
		r.recorded = append(r.recorded, t.Results...)
	}
	e.mu.Lock()
	if e.runs == nil {
		e.runs = map[string]*caseRun{}
	}
	e.runs[r.key.ID] = r
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.runs, r.key.ID)
	}()

	// The user says all there is to say.
	began := time.Now()
	_, err := e.Sessions.Create(ctx, r.key, c.State)
	if errors.Is(err, session.ErrInvalid) {
		out.Error = "state: " + err.Error()
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.Session = r.key.ID
	out.User = r.key.User
	var turns []*turnRun
	bounded := ctx
	most := cmp.Or(c.Timeout, e.Timeout)
	if most > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeoutCause(ctx, most, errTimeout)
		defer cancel()
	}
	for i, t := range c.Turns {
		done, err := e.runTurn(bounded, r, i+1, t)
		if cause := context.Cause(ctx); cause != nil {
			return out, cause
		}
		turns = append(turns, done)
		if context.Cause(bounded) != nil {
			out.Error = fmt.Sprintf("turn %d: the case took longer than its timeout, %v", i+1, most)
			break
		}
		if err != nil {
			out.Error = fmt.Sprintf("turn %d: %v", i+1, err)
			break
		}
	}
	out.Seconds = time.Since(began).Seconds()

	// Is it what was expected?
	for _, t := range turns {
		out.take(t)
		out.Scores = append(out.Scores, e.check(t)...)
	}
	if out.Error == "" {
		averages, err := e.averages(ctx, c, turns)
		switch {
		case context.Cause(ctx) != nil:
			return out, context.Cause(ctx)
		case err != nil:
			out.Error = err.Error()
		}
		out.Scores = append(out.Scores, averages...)
	}
	failed := func(s Score) bool { return !s.Passed }
	out.Passed = out.Error == "" && !slices.ContainsFunc(out.Scores, failed)
	if out.Passed && !e.Keep {
		if err := e.Sessions.Delete(ctx, r.key); err != nil {
			return out, err
		}
		out.Session = ""
	}
	return out, nil
}

// runTurn runs a turn. Its error says that the run has failed, and that no other turn can follow.
func (e *Evaluator) runTurn(ctx context.Context, r *caseRun, number int, t *Turn) (*turnRun, error) {
	done := &turnRun{Turn: t, number: number}
	waiting, err := e.waiting(ctx, r.key)
	if err != nil {
		return done, err
	}
	input, err := t.input(waiting)
	if err != nil {
		return done, err
	}

	// The agent answers.
	began := time.Now()
	var failed error
	for event, err := range e.Runner.Run(context.WithValue(ctx, turnKey{}, done), r.key, input, session.RunConfig{}) {
		if err != nil {
			failed = err
			break
		}
		done.events = append(done.events, event)
	}
	done.took = time.Since(began)

	// What has it come to?
	done.calls = session.Calls(done.events)
	done.answer = answerOf(done.events)
	done.usage = e.usageOf(done.events)
	r.mu.Lock()
	done.hooks, r.hooks = r.hooks, nil
	done.missing, r.missing = r.missing, nil
	r.mu.Unlock()
	if failed != nil {
		return done, failed
	}
	if done.waits, err = e.waiting(ctx, r.key); err != nil {
		return done, err
	}
	s, err := e.Sessions.Get(ctx, r.key)
	if err != nil {
		return done, err
	}
	done.state = s.State
	return done, nil
}

// waiting returns the calls that wait for a person.
func (e *Evaluator) waiting(ctx context.Context, key session.Key) ([]session.Call, error) {
	var live []*session.Event
	for event, err := range e.Sessions.Read(ctx, key, session.Selection{Live: true}) {
		if err != nil {
			return nil, err
		}
		live = append(live, event)
	}
	return slices.DeleteFunc(session.Calls(live), func(c session.Call) bool { return !c.Waits() }), nil
}

// input returns what the user says in a turn.
func (t *Turn) input(waiting []session.Call) (*session.Event, error) {
	e := &session.Event{Author: session.User}
	switch {
	case t.Content != nil:
		content := *t.Content
		content.Role = genai.RoleUser
		e.Content = &content
	case t.User != "":
		e = session.Message(t.User)
	}
	find := func(name string, held bool) (*session.Call, error) {
		var others []string
		for i := range waiting {
			c := &waiting[i]
			if isHeld := c.Held != nil && c.Decision == nil; isHeld != held {
				continue
			}
			if slices.Contains(callNames(c), name) {
				return c, nil
			}
			others = append(others, callNames(c)[0])
		}
		if len(others) == 0 {
			return nil, fmt.Errorf("no call waits that %q could name", name)
		}
		return nil, fmt.Errorf("no call %q waits; waiting are %q", name, others)
	}
	for i, name := range slices.Concat(t.Approve, t.Decline) {
		c, err := find(name, true)
		if err != nil {
			return nil, err
		}
		e.Actions.Confirm(c.ID, session.Confirmation{Confirmed: i < len(t.Approve)})
	}
	for _, name := range sortedKeys(t.Respond) {
		c, err := find(name, false)
		if err != nil {
			return nil, err
		}
		response, ok := t.Respond[name].(map[string]any)
		if !ok {
			response = map[string]any{"result": t.Respond[name]}
		}
		answer := session.Respond(c.FunctionCall, response)
		if e.Content == nil {
			e.Content = &genai.Content{Role: genai.RoleUser}
		}
		e.Content.Parts = append(e.Content.Parts, answer.Content.Parts...)
	}
	return e, nil
}

// callNames are what a case may call a call that waits: its tool, or of a workflow's question the node that asks; its id;
// and the tool of questions.
func callNames(c *session.Call) []string {
	names := []string{c.Name, c.ID}
	if c.Name == session.AskTool && c.Event.NodeInfo != nil {
		path := c.Event.NodeInfo.Path
		node, _, _ := strings.Cut(path[strings.LastIndex(path, "/")+1:], "@")
		names = slices.Insert(names, 0, node)
	}
	return names
}

// take notes a turn in the result.
func (r *CaseResult) take(t *turnRun) {
	const width = 200 // of an event in a result
	r.Tokens += t.usage.tokens
	r.Cost += t.usage.cost
	for _, model := range t.usage.unpriced {
		if !slices.Contains(r.Unpriced, model) {
			r.Unpriced = append(r.Unpriced, model)
		}
	}
	for _, e := range t.events {
		for _, line := range eventtext.Lines(e) {
			r.Events = append(r.Events, eventtext.OneLine(e.Author+": "+line, width))
		}
	}
}

// usage is what models have taken.
type usage struct {
	tokens   int64
	cost     float64
	unpriced []string
}

func (e *Evaluator) usageOf(events []*session.Event) (u usage) {
	for _, event := range events {
		m := event.UsageMetadata
		if m == nil {
			continue
		}
		u.tokens += int64(m.TotalTokenCount)
		price, known := prices.Price{}, false
		if e.Price != nil {
			price, known = e.Price(event.ModelVersion)
		}
		if known {
			u.cost += price.Cost(m)
		} else if name := event.ModelVersion; !slices.Contains(u.unpriced, name) {
			u.unpriced = append(u.unpriced, name)
		}
	}
	return u
}

// errTimeout is the cause of a case's end that has taken too long.
var errTimeout = errors.New("the case's timeout")

// errNoJudge is the error of a criterion without a judge.
var errNoJudge = errors.New("a criterion of the cases is judged by a model, and no judge is given")
