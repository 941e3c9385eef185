package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/postgres"
	"github.com/plughook/plughook/session/sqlite"
)

// A plan makes graphs whose runs lead to one result, whatever disturbs them: each node gets one
// trigger for each of the block that it is in, and what it does depends on its input and the log
// alone.
type plan struct {
	draw  func(n int, what string) int
	names int
	edges []workflow.Edge
	slow  func()       // makes the order of completion random
	wrong func(string) // reports a broken rule
}

func (p *plan) name(kind string) string {
	p.names++
	return fmt.Sprintf("%s%d", kind, p.names)
}

// leaf is a node that calculates. It may ask, fail a few times, be too slow at first, or be one of
// those that must not run twice.
func (p *plan) leaf() *workflow.Node {
	asks := max(0, p.draw(6, "asks")-3)
	fails := max(0, p.draw(8, "fails")-5)
	kind := p.draw(6, "kind of leaf")
	name := p.name("leaf")
	n := workflow.Func(name, func(ctx context.Context, r *workflow.Run, in int) (int, error) {
		p.check(r)
		out := in*31 + 7
		var open error
		for q := range asks {
			answer, err := workflow.Ask[int](ctx, r, fmt.Sprint("q", q), "A number?")
			open = errors.Join(open, err)
			out += answer
		}
		if open != nil {
			return 0, open
		}
		p.slow()
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if kind == 1 && r.Attempt == 1 {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		if r.Attempt <= fails {
			return 0, fmt.Errorf("attempt %d fails", r.Attempt)
		}
		r.Set("last_"+r.Path, in)
		return out % 1000, nil
	})
	n.Retry.Attempts = p.draw(3, "attempts")
	n.Once = asks == 0 && kind == 0
	if kind == 1 {
		n.Timeout = time.Millisecond
	}
	if p.draw(3, "output key") == 0 {
		n.OutputKey = "out_" + name
	}
	return n
}

// check holds that no run that has ended is made again.
func (p *plan) check(r *workflow.Run) {
	for _, e := range r.Invocation().Live {
		if e.NodeInfo != nil && e.NodeInfo.Ended && e.NodeInfo.Path == r.Path {
			p.wrong(r.Path + " has ended, and runs again")
		}
	}
}

// sum is a node that adds up all numbers in its input.
func (p *plan) sum(kind string) *workflow.Node {
	return workflow.Func(
		p.name(kind),
		func(_ context.Context, r *workflow.Run, in any) (int, error) {
			p.check(r)
			return total(in) % 1000, nil
		},
	)
}

func total(v any) (sum int) {
	switch v := v.(type) {
	case float64:
		return int(v)
	case []any:
		for i, item := range v {
			sum += (i + 1) * total(item)
		}
	case map[string]any:
		for _, item := range v {
			sum += total(item)
		}
	}
	return sum
}

func (p *plan) link(from, to *workflow.Node, route any) {
	p.edges = append(p.edges, workflow.Edge{From: from, To: to, Route: route})
}

// block adds a block behind a node, and returns its last node.
func (p *plan) block(from *workflow.Node, route any, depth int) *workflow.Node {
	kind := p.draw(12, "block")
	if depth == 0 {
		kind = 0
	}
	switch kind {
	case 1, 2: // nodes at once, and a join
		split := p.sum("split")
		p.link(from, split, route)
		join := workflow.Join(p.name("join"))
		for range 2 + p.draw(2, "branches") {
			p.link(p.block(split, nil, depth-1), join, nil)
		}
		end := p.sum("merge")
		p.link(join, end, nil)
		return end
	case 3: // one of two ways
		name := p.name("choose")
		choose := workflow.Func(
			name,
			func(_ context.Context, r *workflow.Run, in int) (int, error) {
				p.check(r)
				r.Route([]any{"odd", true, in % 2}[in%3])
				return in, nil
			},
		)
		p.link(from, choose, route)
		end := p.sum("meet")
		p.link(p.block(choose, []any{"odd", 1}, depth-1), end, nil)
		p.link(p.block(choose, workflow.Default, depth-1), end, nil)
		return end
	case 4: // a loop
		head := p.sum("head")
		p.link(from, head, route)
		body := p.block(head, nil, depth-1)
		name := p.name("tail")
		rounds := 1 + p.draw(3, "rounds")
		tail := workflow.Func(name, func(_ context.Context, r *workflow.Run, in int) (int, error) {
			p.check(r)
			n, _ := r.Get("n_" + name).(float64)
			r.Set("n_"+name, n+1)
			r.Route("again")
			if int(n)+1 >= rounds {
				r.Set("n_"+name, nil)
				r.Route("on")
			}
			return in + 1, nil
		})
		p.link(body, tail, nil)
		p.link(tail, head, "again")
		end := p.sum("end")
		p.link(tail, end, "on")
		return end
	case 5: // workers
		items := p.draw(4, "items")
		list := workflow.Func(
			p.name("list"),
			func(_ context.Context, r *workflow.Run, in int) ([]int, error) {
				p.check(r)
				var list []int
				for i := range items {
					list = append(list, in+i)
				}
				return list, nil
			},
		)
		p.link(from, list, route)
		worker := p.leaf()
		worker.OutputKey = "" // the last one would win
		each := workflow.Each(worker, p.draw(3, "workers at once"))
		p.link(list, each, nil)
		end := p.sum("all")
		p.link(each, end, nil)
		return end
	case 6: // a graph in the graph
		inner := &plan{draw: p.draw, names: p.names, slow: p.slow, wrong: p.wrong}
		name := inner.name("graph")
		first := inner.first()
		inner.link(workflow.Start, first, nil)
		inner.block(first, nil, depth-1)
		g, err := workflow.New(workflow.Graph{Name: name, Edges: inner.edges})
		if err != nil {
			p.wrong(err.Error())
		}
		p.names = inner.names
		n := workflow.Agent(g)
		n.Retry.Attempts = p.draw(3, "attempts of graph")
		p.link(from, n, route)
		end := p.sum("out")
		p.link(n, end, nil)
		return end
	case 7: // a node that runs others
		one, two := p.leaf(), p.leaf()
		n := workflow.Func(
			p.name("calls"),
			func(ctx context.Context, r *workflow.Run, in int) (int, error) {
				p.check(r)
				var a, b int
				err := r.Together(ctx, func(ctx context.Context) (err error) {
					a, err = workflow.Do[int](ctx, r, one, "x", in)
					return err
				}, func(ctx context.Context) (err error) {
					b, err = workflow.Do[int](ctx, r, two, "y", in+1)
					return err
				})
				if err != nil {
					return 0, err
				}
				again, err := workflow.Do[int](ctx, r, one, "", a+b)
				return again, err
			},
		)
		p.link(from, n, route)
		return n
	case 8: // a node whose output is that of another
		child := p.leaf()
		n := workflow.Func(
			p.name("delegates"),
			func(ctx context.Context, r *workflow.Run, in int) (int, error) {
				p.check(r)
				return workflow.Delegate[int](ctx, r, child, "", in)
			},
		)
		n.OutputKey = "out_" + n.Name
		p.link(from, n, route)
		end := p.sum("own")
		p.link(n, end, nil)
		return end
	case 9: // a node that goes on after the failure of another, and asks
		bad := workflow.Func(
			p.name("bad"),
			func(_ context.Context, r *workflow.Run, _ int) (int, error) {
				p.check(r)
				return 0, errors.New("never")
			},
		)
		worth := p.draw(2, "another attempt") == 0
		bad.Retry = workflow.Retry{
			Attempts: 1 + p.draw(3, "attempts of bad"),
			If:       func(error) bool { return worth },
		}
		n := workflow.Func(
			p.name("mends"),
			func(ctx context.Context, r *workflow.Run, in int) (int, error) {
				p.check(r)
				_, err := workflow.Do[int](ctx, r, bad, "", in)
				var failed *workflow.Error
				if !errors.As(err, &failed) {
					return 0, err
				}
				answer, err := workflow.Ask[int](ctx, r, "and now", "A number?")
				return in + answer, err
			},
		)
		p.link(from, n, route)
		return n
	case 10: // an agent
		a := agent.New(
			p.name("agent"),
			"",
			func(_ context.Context, h *agent.Host) iter.Seq2[*session.Event, error] {
				return func(yield func(*session.Event, error) bool) {
					p.slow()
					yield(session.Reply(h.Now().Input.Text()+"1"), nil)
				}
			},
		)
		n := workflow.Agent(a)
		p.link(from, n, route)
		end := workflow.Func(
			p.name("reads"),
			func(_ context.Context, r *workflow.Run, in string) (int, error) {
				p.check(r)
				number, err := strconv.Atoi(in)
				return number % 1000, err
			},
		)
		p.link(n, end, nil)
		return end
	}
	n := p.leaf()
	p.link(from, n, route)
	if depth > 0 && p.draw(2, "more") == 0 {
		return p.block(n, nil, depth-1)
	}
	return n
}

// first is the first node of a graph: it makes a number of what the graph begins with.
func (p *plan) first() *workflow.Node {
	return workflow.Func(
		p.name("first"),
		func(_ context.Context, r *workflow.Run, in any) (int, error) {
			p.check(r)
			if text, ok := in.(string); ok {
				return len(text), nil
			}
			return total(in), nil
		},
	)
}

func (p *plan) graph(limit int) agent.Agent {
	first := p.first()
	p.link(workflow.Start, first, nil)
	p.block(first, nil, 3)
	g, err := workflow.New(workflow.Graph{Name: "wf", Edges: p.edges, Limit: limit})
	if err != nil {
		p.wrong(err.Error())
	}
	return g
}

// fragile is a store whose appends fail: before, or after they were done.
type fragile struct {
	session.Service
	fails func() int // 0: it does not, 1: before, 2: after
}

var errCrash = errors.New("crash")

func (f *fragile) Append(
	ctx context.Context,
	at session.AppendTarget,
	events ...*session.Event,
) (int64, error) {
	how := f.fails()
	if how == 1 {
		return 0, errCrash
	}
	last, err := f.Service.Append(ctx, at, events...)
	if err == nil && how == 2 {
		return 0, errCrash
	}
	return last, err
}

// A machine runs a graph to its end, and disturbs it on the way.
type machine struct {
	t       require.TestingT
	root    agent.Agent
	svc     session.Service
	disturb func(n int) bool // true with a chance of 1 in n, as long as disturbances are left
	rand    *rand.Rand
	key     session.Key
}

func (m *machine) live() []*session.Event {
	inv, err := session.Snapshot(context.Background(), m.svc, m.key)
	require.NoError(m.t, err)
	return inv.Live
}

// once makes one invocation. It reports whether it came to its end.
func (m *machine) once(input *session.Event) bool {
	svc := &fragile{Service: m.svc, fails: func() int {
		if m.disturb(12) {
			return 1 + m.rand.IntN(2)
		}
		return 0
	}}
	r, err := runner.New(runner.Options{Agent: m.root, Sessions: svc})
	require.NoError(m.t, err)
	defer func() { require.NoError(m.t, r.Close(context.Background())) }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for _, err := range r.Run(ctx, m.key, input, session.RunConfig{Create: true}) {
		if err != nil {
			require.ErrorIs(m.t, err, errCrash)
			return false
		}
		if m.disturb(20) {
			return false // the caller is gone
		}
	}
	return true
}

// result runs the graph to its end, and returns the outputs by path and the state.
func (m *machine) result() (outputs map[string]string, state string) {
	input := session.Message("hello")
	input.ID = "mon"
	whole := false
	for range 400 {
		live := m.live()
		runs := session.NewWorkflowRuns(live)
		w := runs.Workflow("wf@mon")
		if w != nil && w.Ended {
			break
		}

		// What comes next?
		var next *session.Event
		if len(live) < 3 {
			next = input
		} else if !whole || w == nil {
			if m.rand.IntN(2) == 0 {
				next = input // the caller asks again
			}
		} else {
			next = m.answer(w)
		}
		whole = m.once(next)

		// Somebody compacts what was said before the run.
		if s, err := m.svc.Get(context.Background(), m.key); err == nil && s.Position > 3 &&
			m.disturb(10) {
			c := &session.Compaction{
				Through:  2,
				Frontier: s.Frontier,
				Content:  genai.NewContentFromText("before", genai.RoleUser),
			}
			e := &session.Event{
				Author:  "plugin/compaction",
				Actions: session.Actions{Compaction: c},
			}
			_, err := m.svc.Append(context.Background(),
				session.AppendTarget{Key: m.key, After: s.Position}, e)
			if err != nil {
				require.ErrorIs(m.t, err, session.ErrInvalid, "there is one already")
			}
		}

		// Somebody rewinds to some position after the input.
		if s, err := m.svc.Get(context.Background(), m.key); err == nil && s.Position > 3 &&
			m.disturb(6) {
			to := 3 + m.rand.Int64N(s.Position-2)
			back := &session.Event{
				Author:  "plugin/rewind",
				Actions: session.Actions{Rewind: &session.Rewind{To: to}},
			}
			_, err := m.svc.Append(context.Background(),
				session.AppendTarget{Key: m.key, After: s.Position}, back)
			require.NoError(m.t, err)
			whole = false
		}
	}
	live := m.live()
	w := session.NewWorkflowRuns(live).Workflow("wf@mon")
	require.NotNil(m.t, w)
	if !w.Ended {
		for _, e := range live {
			data, _ := json.Marshal(e)
			fmt.Println(string(data))
		}
	}
	require.True(m.t, w.Ended, "the run does not end")
	outputs = map[string]string{}
	for _, e := range live {
		if e.NodeInfo == nil || !e.NodeInfo.Ended {
			continue
		}
		require.NotContains(m.t, outputs, e.NodeInfo.Path, "two ends")
		data, err := json.Marshal([]any{e.Output, e.NodeInfo.OutputOf, e.Actions.Route})
		require.NoError(m.t, err)
		outputs[e.NodeInfo.Path] = string(data)
	}
	s, err := m.svc.Get(context.Background(), m.key)
	require.NoError(m.t, err)
	data, err := json.Marshal(s.State)
	require.NoError(m.t, err)
	return outputs, string(data)
}

// answer returns an input with answers to some of the open questions, or nil if there are none.
// What is answered is the number of the question's name; now and then the answer is wrong.
func (m *machine) answer(w *session.WorkflowRun) *session.Event {
	var input *session.Event
	for _, n := range w.Nodes {
		for _, q := range n.Waits() {
			if input != nil && m.rand.IntN(2) == 0 {
				continue
			}
			id := q.Call.ID
			base := strings.Join(strings.SplitN(id, "#", 3)[:2], "#")
			h := fnv.New32a()
			h.Write([]byte(base))
			var word any = float64(h.Sum32() % 100)
			if strings.Contains(id, "#cut-off") {
				word = "again"
			}
			if m.disturb(5) {
				word = "many"
			}
			a := workflow.Answer(id, word)
			if input == nil {
				input = a
			} else {
				input.Content.Parts = append(input.Content.Parts, a.Content.Parts...)
			}
		}
	}
	return input
}

// Whatever cuts a workflow off, whoever rewinds it, in whatever order nodes end and answers come:
// the result is that of a run that nothing disturbed, and no node that has ended runs again.
func TestDisturbedRunsEndAlike(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { disturbed(rt, memory.New()) })
}

// Databases are slow: 5 graphs in each (see contract.Times).
func TestDisturbedRunsEndAlikeInSQLite(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
	require.NoError(t, err)
	disturbedInDatabase(t, s)
}

func TestDisturbedRunsEndAlikeInPostgreSQL(t *testing.T) {
	s, err := postgres.Open(t.Context(), pgtest.URL(t))
	require.NoError(t, err)
	disturbedInDatabase(t, s)
}

func disturbedInDatabase(t *testing.T, s session.Service) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		if n++; n <= contract.Times(5) || t.Failed() {
			disturbed(rt, s)
		}
	})
	require.NoError(t, s.Close())
}

func disturbed(rt *rapid.T, svc session.Service) {
	draws := rapid.SliceOfN(rapid.IntRange(0, 1<<20), 200, 200).Draw(rt, "draws")
	seed := rapid.Uint64().Draw(rt, "seed")
	limit := rapid.IntRange(0, 3).Draw(rt, "limit")
	run := func(disturbances int) (map[string]string, string) {
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(seed, uint64(disturbances)))
		at := 0
		p := &plan{
			draw: func(n int, _ string) int {
				at++
				return draws[at%len(draws)] % n
			},
			slow: func() {
				mu.Lock()
				d := time.Duration(random.IntN(150)) * time.Microsecond
				mu.Unlock()
				if disturbances > 0 {
					time.Sleep(d)
				}
			},
			wrong: func(what string) { rt.Errorf("%s", what) },
		}
		key := session.Key{App: "app", User: "ada", ID: session.NewID()}
		m := &machine{
			t:    rt,
			root: p.graph(limit),
			svc:  svc,
			key:  key,
			rand: rand.New(rand.NewPCG(seed, 7)),
		}
		_, err := svc.Create(context.Background(), key, nil)
		require.NoError(rt, err)
		_, err = svc.Append(context.Background(), session.AppendTarget{Key: key},
			session.Message("before"),
			&session.Event{Author: "wf", Content: session.Reply("yes").Content})
		require.NoError(rt, err)
		left := disturbances
		m.disturb = func(n int) bool {
			mu.Lock()
			defer mu.Unlock()
			hit := left > 0 && random.IntN(n) == 0
			if hit {
				left--
			}
			return hit
		}
		return m.result()
	}
	want, state := run(0)
	got, after := run(12)
	require.Equal(rt, want, got)
	require.Equal(rt, state, after)
}
