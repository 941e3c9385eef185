package compaction_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// errCrash is what a store answers a process that is dead.
var errCrash = errors.New("the process is dead")

// A life is a store as one process sees it, until that crashes: no append is made after that.
type life struct {
	session.Service
	left  atomic.Int64 // appends until the crash, if it is above 0
	dead  atomic.Bool
	acked atomic.Bool // the last append is made, and nobody learns of it
}

func (l *life) Append(
	ctx context.Context,
	at session.AppendTarget,
	events ...*session.Event,
) (int64, error) {
	if l.dead.Load() {
		return 0, errCrash
	}
	if l.left.Load() > 0 && l.left.Add(-1) == 0 {
		l.dead.Store(true)
		if l.acked.Load() {
			_, _ = l.Service.Append(ctx, at, events...)
		}
		return 0, errCrash
	}
	return l.Service.Append(ctx, at, events...)
}

// A world is one history of one session: who takes part, what has happened, and what must hold.
type world struct {
	*rapid.T
	store  session.Service
	key    session.Key
	config compaction.Config
	shape  string
	agents []string
	actor  *actor
	teller *teller
	life   *life
	runner *runner.Runner

	said     int             // counts inputs
	question string          // the word of the input that is being answered, "" if there is none
	forged   bool            // somebody else's compaction is in the log
	rewound  map[string]bool // the invocations that have rewound the session
	written  []string
	naive    *naive
	seen     map[string]int // what has happened, for a report
}

// genConfig draws a configuration among those that are accepted.
func genConfig(t *rapid.T) compaction.Config {
	c := compaction.Config{
		Count:    tokens,
		Timeout:  summaryTimeout,
		Attempts: rapid.IntRange(1, 2).Draw(t, "attempts"),
	}
	c.Budget = rapid.IntRange(250, 900).Draw(t, "budget")
	c.Window = c.Budget
	c.Trigger = rapid.IntRange(100, c.Budget).Draw(t, "trigger")
	c.Summary = rapid.IntRange(1, c.Trigger/3).Draw(t, "summary")
	c.Tail = rapid.IntRange(1, c.Trigger/4).Draw(t, "tail")
	c.MinGain = rapid.IntRange(1, c.Trigger/5).Draw(t, "min gain")
	c.Events = rapid.SampledFrom([]int{0, 0, 5, 20}).Draw(t, "events")
	c.Invocations = rapid.SampledFrom([]int{0, 0, 2, 6}).Draw(t, "invocations")
	c.Foreground = rapid.Bool().Draw(t, "foreground")
	if rapid.Bool().Draw(t, "pins") {
		c.Keep = compaction.Keep{
			Tools:  []string{"pin"},
			Events: []string{"pinned"},
			Tokens: c.Trigger / 8,
		}
	}
	return c
}

func newWorld(t *rapid.T, store session.Service) *world {
	w := &world{
		T:       t,
		store:   store,
		key:     session.Key{App: "law " + session.NewID(), User: "ada", ID: "s"},
		config:  genConfig(t),
		rewound: map[string]bool{},
		seen:    map[string]int{},
	}
	w.shape = rapid.SampledFrom([]string{"solo", "solo", "parallel", "callee"}).Draw(t, "shape")
	w.actor = &actor{moves: map[string][]move{}, signed: map[string]string{}, check: w.request}
	w.teller = &teller{}
	if rapid.IntRange(0, 3).Draw(t, "offline") > 0 {
		w.config.Summarizer = w.teller
	}
	initial := map[string]any{"turns": 0.0}
	_, err := store.Create(context.Background(), w.key, initial)
	w.must(err)
	w.naive = newNaive(initial)
	w.open()
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("unexpected error: %v", err)
	}
}

// open starts a process.
func (w *world) open() {
	c := w.config
	c.Log = slog.New(slog.DiscardHandler)
	compacts, err := compaction.New(c)
	if err != nil {
		w.Fatalf("the configuration %+v is refused: %v", w.config, err)
	}
	a, agents := cast(w.shape, w.actor)
	w.agents, w.life = agents, &life{Service: w.store}
	w.teller.mu.Lock()
	w.teller.free = false
	w.teller.mu.Unlock()
	w.runner, err = runner.New(
		runner.Options{Agent: a, Sessions: w.life, BackgroundTimeout: backgroundTimeout,
			Plugins: []*plugin.Plugin{rewind.New(w.life), compacts, w.guard()}},
	)
	w.must(err)
}

// shut ends the process: in good order, or as a crash, which loses what is being made.
func (w *world) shut(crash bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if crash {
		w.life.dead.Store(true)
		cancel()
	}
	w.teller.mu.Lock()
	w.teller.free = true
	w.teller.mu.Unlock()
	w.teller.letGo(true)
	if err := w.runner.Close(ctx); err != nil && !crash {
		w.Fatalf("closing: %v", err)
	}
}

// guard takes secrets out of everything, a summary too, and tries to change what a summary covers. On
// command it forges compactions.
func (w *world) guard() *plugin.Plugin {
	return &plugin.Plugin{
		Name:     "guard",
		Partials: true,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if c, ok := e.Command(); ok && c.Name == "forge" {
				var forged session.Compaction
				w.must(json.Unmarshal([]byte(c.Args["compaction"].(string)), &forged))
				return plugin.Outcome{
					Emit:     []*session.Event{{Actions: session.Actions{Compaction: &forged}}},
					Withhold: true,
					Stop:     true,
				}, nil
			}
			changed := e.Clone()
			clean(changed.Content)
			c := changed.Actions.Compaction
			if c != nil {
				clean(c.Content)
				c.Through, c.Keep = c.Through+1, nil // the runner does not let it
			}
			if c == nil && (e.Content == nil || !secret(e)) {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{Replace: changed}, nil
		},
	}
}

// clean takes secrets out of a content.
func clean(c *genai.Content) {
	if c == nil {
		return
	}
	data, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	*c = genai.Content{}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(data), "SECRET", "[gone]")), c); err != nil {
		panic(err)
	}
}

// run runs an input; the caller leaves after so many events if that is not 0.
func (w *world) run(input *session.Event, leave int) ([]*session.Event, error) {
	var yielded []*session.Event
	for e, err := range w.runner.Run(context.Background(), w.key, input, session.RunConfig{}) {
		if err != nil {
			return yielded, err
		}
		yielded = append(yielded, e)
		if len(yielded) == leave {
			break
		}
	}
	return yielded, nil
}

func (w *world) read(sel session.Selection) (list []*session.Event) {
	w.Helper()
	for e, err := range w.store.Read(context.Background(), w.key, sel) {
		w.must(err)
		list = append(list, e)
	}
	return list
}

// note counts what has happened.
func (w *world) note(format string, args ...any) { w.seen[fmt.Sprintf(format, args...)]++ }
