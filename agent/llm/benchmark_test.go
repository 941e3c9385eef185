package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
	"github.com/plughook/plughook/tool"
)

// instant is a model that takes no time: so many answers with so many calls each, then a text.
type instant struct {
	answers []*model.Response
	met     func() // called before the last answer, if it is not nil
}

func newInstant(steps, calls int) *instant {
	m := &instant{}
	for step := range steps {
		c := &genai.Content{Role: genai.RoleModel}
		for i := range calls {
			c.Parts = append(c.Parts, &genai.Part{
				FunctionCall: &genai.FunctionCall{
					ID:   fmt.Sprint("c", step, "-", i),
					Name: "weather",
					Args: map[string]any{"city": "Paris"},
				},
			})
		}
		m.answers = append(m.answers,
			&model.Response{Content: c, FinishReason: genai.FinishReasonStop})
	}
	m.answers = append(m.answers, said(strings.Repeat("plain words ", 20)))
	return m
}

func (m *instant) Generate(
	_ context.Context,
	req *model.Request,
) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		n := len(req.Contents) / 2 // the user's text, then an answer and its responses each time
		if n == len(m.answers)-1 && m.met != nil {
			m.met()
		}
		yield(m.answers[n], nil)
	}
}

// weather is a tool that takes no time.
var weather = &tool.Tool{
	Declaration: &genai.FunctionDeclaration{Name: "weather", Description: "says how the weather is",
		ParametersJsonSchema: map[string]any{
			"type":       "object",
			"required":   []any{"city"},
			"properties": map[string]any{"city": map[string]any{"type": "string"}},
		}},
	Run: func(context.Context, *tool.Call) (map[string]any, error) {
		return map[string]any{
			"weather": "dry, with clouds that come and go, and a wind from the sea",
			"degrees": 21.0,
		}, nil
	},
}

// plain is the loop that one would write without a runner: nothing is kept, checked or offered.
func plain(m model.Model) error {
	contents := []*genai.Content{genai.NewContentFromText("hi", genai.RoleUser)}
	config := &genai.GenerateContentConfig{
		Tools: []*genai.Tool{
			{FunctionDeclarations: []*genai.FunctionDeclaration{weather.Declaration}},
		},
	}
	tools := map[string]*tool.Tool{weather.Name(): weather}
	for {
		var answer *model.Response
		for r, err := range m.Generate(ctx, &model.Request{Contents: contents, Config: config}) {
			if err != nil {
				return err
			}
			answer = r
		}
		responses := &genai.Content{Role: genai.RoleUser}
		for _, p := range answer.Content.Parts {
			if c := p.FunctionCall; c != nil {
				response, err := tools[c.Name].Run(ctx,
					&tool.Call{ID: c.ID, Name: c.Name, Args: c.Args})
				if err != nil {
					return err
				}
				responses.Parts = append(responses.Parts, &genai.Part{
					FunctionResponse: &genai.FunctionResponse{
						ID:       c.ID,
						Name:     c.Name,
						Response: response,
					},
				})
			}
		}
		if contents = append(contents, answer.Content, responses); len(responses.Parts) == 0 {
			return nil
		}
	}
}

// rig is a runner on a store with a model, to be measured.
type rig struct {
	b      *testing.B
	svc    session.Service
	runner *runner.Runner
	model  *instant
	events int // of one run
}

func newRig(b *testing.B, svc session.Service, m *instant, plugins ...*plugin.Plugin) *rig {
	a, err := llm.New(llm.Config{
		Name:          "bot",
		Model:         m,
		Instruction:   "Be brief.",
		Tools:         []*tool.Tool{weather},
		MaxModelCalls: 1 << 20,
	})
	require.NoError(b, err)
	r, err := runner.New(runner.Options{Agent: a, Sessions: svc, Plugins: plugins})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, r.Close(ctx)) })
	return &rig{b: b, svc: svc, runner: r, model: m}
}

// run is one run on a new session, which is not measured.
func (r *rig) run() time.Duration {
	s, err := r.svc.Create(ctx, session.Key{App: "app", User: "ada"}, nil)
	require.NoError(r.b, err)
	start := time.Now()
	r.events = 0
	for _, err := range r.runner.Run(ctx, s.Key, session.Message("hi"), session.RunConfig{}) {
		if err != nil {
			r.b.Fatal(err)
		}
		r.events++
	}
	took := time.Since(start)
	require.NoError(r.b, r.svc.Delete(ctx, s.Key))
	return took
}

// plain is the plain loop over the same model.
func (r *rig) plain() time.Duration {
	start := time.Now()
	if err := plain(r.model); err != nil {
		r.b.Fatal(err)
	}
	return time.Since(start)
}

// allocs is what the runs of an event allocate: how often, and how many bytes.
func (r *rig) allocs() (n, bytes float64) {
	const runs = 50
	var before, after runtime.MemStats
	for range runs {
		s, err := r.svc.Create(ctx, session.Key{App: "app", User: "ada"}, nil)
		require.NoError(r.b, err)
		runtime.ReadMemStats(&before)
		for _, err := range r.runner.Run(ctx, s.Key, session.Message("hi"), session.RunConfig{}) {
			require.NoError(r.b, err)
		}
		runtime.ReadMemStats(&after)
		n, bytes = n+float64(after.Mallocs-before.Mallocs), bytes+float64(after.TotalAlloc-before.TotalAlloc)
		require.NoError(r.b, r.svc.Delete(ctx, s.Key))
	}
	return n / runs / float64(r.events), bytes / runs / float64(r.events)
}

// stores are those that are measured.
var stores = []struct {
	name string
	open func(b *testing.B) session.Service
}{
	{"memory", func(*testing.B) session.Service { return memory.New() }},
	{"sqlite", func(b *testing.B) session.Service {
		svc, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "sessions.db"))
		require.NoError(b, err)
		return svc
	}},
}

// nothing is a plugin with the three hooks of a run, which ask nothing.
func nothing(i int) *plugin.Plugin {
	return &plugin.Plugin{Name: fmt.Sprint("p", i),
		BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) { return plugin.Outcome{}, nil },
		BeforeModel: func(context.Context, *session.Invocation, *model.Request) (plugin.Outcome, error) {
			return plugin.Outcome{}, nil
		},
		OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
			return plugin.Outcome{}, nil
		},
		AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
			return plugin.Outcome{}, nil
		},
	}
}

// median returns the middle of what was measured, in µs.
func median(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2]) / float64(time.Microsecond)
}

// BenchmarkOverhead is what runner, agent and store take together while model and tool take no
// time, beside the plain loop over the same model, the two in turn. A run is an input and an
// answer; a step one more answer with one call and its response, of 10 in turn; a call one more of
// 10 in one answer. "+µs" is the difference to the plain loop.
func BenchmarkOverhead(b *testing.B) {
	for _, store := range stores {
		for _, n := range []int{0, 1, 3} {
			b.Run(fmt.Sprintf("%s/%dplugins", store.name, n), func(b *testing.B) {
				var plugins []*plugin.Plugin
				for i := range n {
					plugins = append(plugins, nothing(i))
				}
				svc := store.open(b)
				b.Cleanup(func() { require.NoError(b, svc.Close()) })
				rigs := []*rig{
					newRig(b, svc, newInstant(0, 0), plugins...),
					newRig(b, svc, newInstant(10, 1), plugins...),
					newRig(
						b,
						svc,
						newInstant(1, 1),
						plugins...),
					newRig(b, svc, newInstant(1, 10), plugins...),
				}
				took, floor := make([][]time.Duration, len(rigs)), make([][]time.Duration, len(rigs))
				for b.Loop() {
					for i, r := range rigs {
						took[i], floor[i] = append(took[i], r.run()), append(floor[i], r.plain())
					}
				}
				var ours, theirs [4]float64
				for i := range rigs {
					ours[i], theirs[i] = median(took[i]), median(floor[i])
				}
				report := func(what string, ours, theirs float64) {
					b.ReportMetric(ours-theirs, "+µs/"+what)
					b.ReportMetric(ours/theirs, "x/"+what)
				}
				report("run", ours[0], theirs[0])
				report("step", (ours[1]-ours[0])/10, (theirs[1]-theirs[0])/10)
				report("call", (ours[3]-ours[2])/9, (theirs[3]-theirs[2])/9)
				allocs, bytes := rigs[1].allocs()
				b.ReportMetric(allocs, "allocs/event")
				b.ReportMetric(bytes, "B/event")
				b.ReportMetric(0, "ns/op") // creates and deletes sessions, too
			})
		}
	}
}

// BenchmarkLongRun is BenchmarkOverhead's step by how many there are in the run, on memory.
func BenchmarkLongRun(b *testing.B) {
	for _, steps := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			svc := memory.New()
			r := newRig(b, svc, newInstant(steps, 1))
			var took, floor []time.Duration
			for b.Loop() {
				took, floor = append(took, r.run()), append(floor, r.plain())
			}
			ours, theirs := median(took)/float64(steps), median(floor)/float64(steps)
			b.ReportMetric(ours-theirs, "+µs/step")
			b.ReportMetric(ours/theirs, "x/step")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkSessions is a thousand new sessions at once, each on a goroutine of its own, with one
// step and an answer. Memory and goroutines are counted in a second thousand, while all wait for
// the model's answer.
func BenchmarkSessions(b *testing.B) {
	for _, store := range stores {
		b.Run(store.name, func(b *testing.B) {
			var took time.Duration
			var heap, stacks, routines float64
			for b.Loop() {
				left := goleak.IgnoreCurrent()
				svc := store.open(b)
				r := newRig(b, svc, newInstant(1, 1))
				took += r.thousand()
				all, on := make(chan struct{}), make(chan struct{})
				var met atomic.Int64
				r.model.met = func() {
					if met.Add(1) == sessions {
						close(all)
					}
					<-on
				}
				before, goroutines := memoryInUse(), runtime.NumGoroutine()
				ended := make(chan struct{})
				go func() { defer close(ended); r.thousand() }()
				select {
				case <-all:
				case <-ended:
					b.Fatal("not every session has come to the model")
				}
				during := memoryInUse()
				heap += float64(during.HeapAlloc) - float64(before.HeapAlloc)
				stacks += float64(during.StackInuse) - float64(before.StackInuse)
				routines += float64(runtime.NumGoroutine() - goroutines)
				close(on)
				<-ended
				require.NoError(b, r.runner.Close(ctx))
				require.NoError(b, svc.Close())
				require.NoError(b, goleak.Find(left), "a goroutine was left")
			}
			all := float64(b.N * sessions)
			b.ReportMetric(all/took.Seconds(), "sessions/s")
			b.ReportMetric(2*all/took.Seconds(), "turns/s")
			b.ReportMetric(heap/all/1024, "heap-KB/session")
			b.ReportMetric(stacks/all/1024, "stack-KB/session")
			b.ReportMetric(routines/all, "goroutines/session")
			b.ReportMetric(0, "ns/op")
		})
	}
}

const sessions = 1000

// thousand runs new sessions at once and returns how long that took without making them.
func (r *rig) thousand() time.Duration {
	var keys [sessions]session.Key
	var errs [sessions]error
	for i := range keys {
		s, err := r.svc.Create(ctx, session.Key{App: "app", User: "ada"}, nil)
		if err != nil {
			r.b.Error(err) // not FailNow: it may be another goroutine
			return 0
		}
		keys[i] = s.Key
	}
	start := time.Now()
	var all sync.WaitGroup
	for i, k := range keys {
		all.Go(func() {
			for _, err := range r.runner.Run(ctx, k, session.Message("hi"), session.RunConfig{}) {
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		r.b.Error(err)
	}
	return time.Since(start)
}

// memoryInUse is what is in use, once garbage is collected.
func memoryInUse() (s runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s
}

// BenchmarkTenPlugins is how many allocations ten plugins with all four hooks, which ask nothing,
// add to a run of one tool call on a session in memory.
func BenchmarkTenPlugins(b *testing.B) {
	var plugins []*plugin.Plugin
	for i := range 10 {
		plugins = append(plugins, nothing(i))
	}
	svc := memory.New()
	b.Cleanup(func() { require.NoError(b, svc.Close()) })
	plain := newRig(b, svc, newInstant(1, 1))
	steered := newRig(b, svc, newInstant(1, 1), plugins...)
	for b.Loop() {
		plain.run()
		steered.run()
	}
	without, _ := plain.allocs()
	with, _ := steered.allocs()
	b.ReportMetric(without*float64(plain.events), "allocs/run")
	b.ReportMetric((with-without)*float64(plain.events), "+allocs/run")
	b.ReportMetric(0, "ns/op")
}
