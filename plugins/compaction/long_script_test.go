package compaction_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sqlite"
	"github.com/plughook/plughook/tool"
)

// A drama is the configuration and the provider of a scripted session.
type drama struct {
	name   string
	config compaction.Config
	// counts is how many tokens the provider counts for each of ours; takes is how many of its tokens it
	// takes, 0 for any number. reports says that it reports usage, and tells that its message for a
	// prompt that is too long has figures.
	counts         float64
	takes          int
	reports, tells bool
}

// dramas are what a scripted session is played with. The first one is played in processes that are
// killed, too.
func dramas() []drama {
	pins := compaction.Keep{Tools: []string{"pin"}}
	atLimit := pins
	atLimit.Tokens = 1100 // of trigger 2400, with the other sizes that follow from window 4000
	return []drama{
		{name: "pins", config: compaction.Config{Window: 4000, Keep: pins}, counts: 1},
		{
			name:    "pins at their limit",
			config:  compaction.Config{Window: 4000, Keep: atLimit},
			counts:  1,
			reports: true,
		},
		{
			name:   "clearing",
			config: compaction.Config{Window: 4000, Clear: compaction.Clear{Trigger: 1500}},
			counts: 1,
		},
		{
			name:   "triggers by number",
			counts: 1,
			config: compaction.Config{Window: 2500, Budget: 2000, Invocations: 4, Foreground: true,
				Keep: compaction.Keep{
					Tools:   []string{"pin"},
					Authors: []string{"user"},
					Tokens:  1,
				}},
		},
		{
			name:    "a provider that counts more, and says so",
			counts:  1.5,
			reports: true,
			config:  compaction.Config{Window: 6000, Keep: pins},
		},
		{
			name:   "a provider that takes less, and reports nothing",
			counts: 1.4,
			takes:  6000,
			config: compaction.Config{Window: 10_000, Keep: pins},
		},
		{
			name:   "a provider that takes less, and tells how much",
			counts: 1.4,
			takes:  6000,
			tells:  true,
			config: compaction.Config{Window: 10_000, Clear: compaction.Clear{Trigger: 2000}},
		},
	}
}

// turnsOf returns how many turns a test takes: soakTurns in the environment says so.
func turnsOf(usual int) int {
	turns, err := strconv.Atoi(os.Getenv(soakTurns))
	if err != nil {
		return usual
	}
	return turns
}

// A session goes on, however many calls are kept, held or never answered, whatever tools return, and
// however its provider counts: hardly a turn is refused, no law is broken, and nothing is said to be
// lost.
func TestHardlyATurnIsRefused(t *testing.T) {
	for _, d := range dramas() {
		t.Run(d.name, func(t *testing.T) {
			turns := turnsOf(25)
			p := newScripted(t, d, filepath.Join(t.TempDir(), "sessions.db"), key)
			defer p.end()
			p.begin()
			began := time.Now()
			for i := range turns {
				p.turn(i)
				if n := i + 1; n == 100 || n == 1000 || n%2500 == 0 || n == turns {
					p.laws()
					t.Logf("%d turns, %.1f ms each lately: %s", n, lately(p.took).Seconds()*1000,
						p.told())
				}
			}
			t.Logf("%v in all", time.Since(began).Round(time.Second))
			require.LessOrEqual(t, p.Refused, max(1, turns/100))
			require.Empty(t, p.warnings.String())
		})
	}
}

// lately returns the mean of the last hundred times.
func lately(times []time.Duration) (mean time.Duration) {
	times = times[max(0, len(times)-100):]
	for _, d := range times {
		mean += d / time.Duration(len(times))
	}
	return mean
}

// scripted is a session that is played by chance.
type scripted struct {
	t      *testing.T
	r      *rand.Rand
	store  session.Service
	drama  drama
	key    session.Key
	life   *life
	runner *runner.Runner

	tally
	warnings *logText        // of processes that were not killed
	took     []time.Duration // the turns
	shown    string          // the JSON of the last request
	pins     int
}

// tally is what has happened in a scripted session.
type tally struct{ Refused, Killed, Rewound, Forks, TooLong, Summaries, Most int }

func (c tally) told() string {
	return fmt.Sprintf(
		"%d refused, %d killed, %d rewound, %d forks, %d too long for the provider, %d summaries, at most %d tokens",
		c.Refused,
		c.Killed,
		c.Rewound,
		c.Forks,
		c.TooLong,
		c.Summaries,
		c.Most,
	)
}

func newScripted(t *testing.T, d drama, path string, key session.Key) *scripted {
	store, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	p := &scripted{
		t:        t,
		r:        rand.New(rand.NewPCG(7, 7)),
		store:    store,
		drama:    d,
		key:      key,
		warnings: &logText{},
	}
	p.open()
	return p
}

func (p *scripted) open() {
	p.life = &life{Service: p.store}
	c := p.drama.config
	c.Log = slog.New(slog.DiscardHandler)
	compacts, err := compaction.New(c)
	require.NoError(p.t, err)
	big := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{
			Name:                 "big",
			ParametersJsonSchema: map[string]any{"type": "object"},
		},
		Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
			return map[string]any{
				"result": "begins " + strings.Repeat("a long page ", 25_000) + "ends",
			}, nil
		},
	}
	tools := append(toolbox(), big, compaction.Recall(p.store, p.drama.config))
	a, err := llm.New(
		llm.Config{Name: "solo", Model: &speaker{answer: p.answer}, Tools: tools, MaxModelCalls: 4})
	require.NoError(p.t, err)
	log := slog.New(&livingLog{
		Handler: slog.NewTextHandler(p.warnings, &slog.HandlerOptions{Level: slog.LevelWarn}),
		life:    p.life,
	})
	p.runner, err = runner.New(runner.Options{
		Agent:    a,
		Sessions: p.life,
		Plugins:  []*plugin.Plugin{compacts, rewind.New(p.life)},
		Log:      log,
	})
	require.NoError(p.t, err)
}

// begin makes the session, with a past that nearly fills the prompt: else a short test would see no
// compaction.
func (p *scripted) begin() {
	_, err := p.store.Create(p.t.Context(), p.key, nil)
	require.NoError(p.t, err)
	var past []*session.Event
	for i := range 40 {
		e := session.Message(fmt.Sprintf("past %d %s", i, filler(50)))
		e.Author = session.User
		if i%4 == 3 {
			call := &genai.FunctionCall{
				ID:   fmt.Sprint("past ", i),
				Name: "later",
				Args: map[string]any{"request": filler(50)},
			}
			e.Author = "solo"
			e.Content = &genai.Content{
				Role:  genai.RoleModel,
				Parts: []*genai.Part{{FunctionCall: call}},
			}
			e.LongRunningToolIDs = []string{call.ID}
		}
		e.InvocationID = fmt.Sprint("past ", i)
		past = append(past, e)
	}
	_, err = p.store.Append(p.t.Context(), session.AppendTarget{Key: p.key}, past...)
	require.NoError(p.t, err)
}

// livingLog drops what a process logs that is about to be killed.
type livingLog struct {
	slog.Handler
	life *life
}

func (l *livingLog) Handle(ctx context.Context, r slog.Record) error {
	if l.life.dead.Load() {
		return nil
	}
	return l.Handler.Handle(ctx, r)
}

func (p *scripted) close() { _ = p.runner.Close(context.Background()) } // what is under way at a crash fails

func (p *scripted) end() {
	p.close()
	require.NoError(p.t, p.store.Close())
}

// answer is the model: it makes a few calls, of which one may be held or kept, or says something.
func (p *scripted) answer(n int, req *model.Request) (*model.Response, error) {
	data, err := json.Marshal(req.Contents)
	require.NoError(p.t, err)
	p.shown = string(data)
	require.NoError(p.t, grammar(req.Contents))
	size := meter.Tokens(req.Config.SystemInstruction)
	for _, c := range req.Contents {
		size += meter.Tokens(c)
	}
	tools, err := json.Marshal(req.Config.Tools)
	require.NoError(p.t, err)
	size += meter.Tokens(genai.NewContentFromText(string(tools), genai.RoleUser))
	p.Most = max(p.Most, size)
	counts := int(p.drama.counts * float64(size))
	if p.drama.takes > 0 && counts > p.drama.takes {
		p.TooLong++
		text := "http://127.0.0.1:8080/v1 answered 413 Request Entity Too Large"
		if p.drama.tells {
			text = fmt.Sprintf(
				"http://127.0.0.1:8080/v1 answered 400 Bad Request: the request (%d tokens) exceeds the context size (%d tokens)",
				counts,
				p.drama.takes,
			)
		}
		return nil, &model.Error{Code: "INVALID_ARGUMENT", Status: 400, Err: errors.New(text)}
	}
	if p.drama.counts == 1 && !p.drama.reports {
		budget := p.drama.config.Window * 4 / 5
		if p.drama.config.Budget > 0 {
			budget = p.drama.config.Budget
		}
		require.LessOrEqual(p.t, size, budget)
	}
	if p.drama.takes == 0 {
		require.LessOrEqual(p.t, counts, p.drama.config.Window)
	}

	res := said("answer %d %s", n, filler(1+p.r.IntN(60)))
	if p.r.IntN(3) == 0 {
		names := []string{"read", "read", "read", "pin", "ask", "later", "broken"}
		res.Content = &genai.Content{Role: genai.RoleModel}
		for range 1 + p.r.IntN(4) {
			name := names[p.r.IntN(len(names))]
			if p.r.IntN(40) == 0 {
				name = "big"
			}
			request := fmt.Sprint(n, " ", filler(1+p.r.IntN(150)))
			if name == "pin" {
				p.pins++
				request = fmt.Sprint("pinned ", p.pins, " ", request)
			}
			call := &genai.FunctionCall{Name: name, Args: map[string]any{"request": request}}
			res.Content.Parts = append(res.Content.Parts, &genai.Part{FunctionCall: call})
		}
	}
	if p.drama.reports {
		res.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{
			PromptTokenCount: int32(counts),
			TotalTokenCount:  int32(counts),
		}
	}
	return res, nil
}

// turn plays one turn: a message, seldom an answer to a call that waits, a rewind, a crash, a fork, a
// compaction, or a call of another kit.
func (p *scripted) turn(i int) {
	ctx := p.t.Context()
	input := session.Message(fmt.Sprintf("message %d %s", i, filler(1+p.r.IntN(60))))
	switch p.r.IntN(40) {
	case 0:
		p.Killed++
		p.life.left.Store(1 + p.r.Int64N(6))
		p.life.acked.Store(p.r.IntN(2) == 0)
	case 1:
		p.Rewound++
		input = rewind.Turns(1 + p.r.IntN(3)).Event()
	case 2:
		p.Forks++
		p.fork()
	case 3, 4:
		s, err := session.Snapshot(ctx, p.store, p.key)
		require.NoError(p.t, err)
		for _, c := range session.Calls(s.Live) {
			if c.Held != nil && c.Waits() && c.Decision == nil {
				input = session.Decision(p.r.IntN(2) == 0, c.ID)
			} else if c.Deferred != nil && c.Waits() && p.r.IntN(4) == 0 {
				input = session.Respond(c.FunctionCall, map[string]any{"result": "it took a while"})
			}
		}
	case 5:
		p.otherKit(i)
	case 6:
		input = compaction.Now("pinned").Event()
	}
	began := time.Now()
	for e, err := range p.runner.Run(ctx, p.key, input, session.RunConfig{}) {
		if err != nil {
			require.ErrorIs(p.t, err, errCrash)
			break
		}
		if e.ErrorCode == compaction.TooLong || e.ErrorCode == "INVALID_ARGUMENT" {
			p.Refused++
			p.t.Log(i, e.ErrorMessage)
		}
		if e.Actions.Compaction != nil {
			p.Summaries++
		}
	}
	p.took = append(p.took, time.Since(began))
	if p.life.left.Load() != 0 || p.life.dead.Load() {
		p.life.dead.Store(true)
		p.close()
		p.open()
	}
}

// otherKit appends a call in the form of another kit, as far as it has got.
func (p *scripted) otherKit(i int) {
	ctx := p.t.Context()
	p.close()
	s, err := p.store.Get(ctx, p.key)
	require.NoError(p.t, err)
	kind := []string{"confirmation", "login", "long-running"}[p.r.IntN(3)]
	events := story(kind, fmt.Sprint("pay ", i))
	events = events[:2+p.r.IntN(len(events)-1)]
	for n, e := range events {
		e.Author = strings.Replace(e.Author, "desk", "solo", 1)
		e.InvocationID = fmt.Sprint(kind, i, n/3)
	}
	_, err = p.store.Append(ctx, session.AppendTarget{Key: p.key, After: s.Position}, events...)
	require.NoError(p.t, err)
	p.open()
}

// fork goes on with a copy of the session up to its end, or a little before.
func (p *scripted) fork() {
	ctx := p.t.Context()
	p.close()
	s, err := p.store.Get(ctx, p.key)
	require.NoError(p.t, err)
	s, err = session.Fork(ctx, p.store, p.key, max(0, s.Position-p.r.Int64N(5)), "")
	require.NoError(p.t, err)
	p.key = s.Key
	p.open()
}

// laws holds the session to what must be true of it at any time.
func (p *scripted) laws() {
	ctx := p.t.Context()
	p.close()
	defer p.open()
	var log, live []*session.Event
	for e, err := range p.store.Read(ctx, p.key, session.Selection{}) {
		require.NoError(p.t, err)
		log = append(log, e)
	}
	for e, err := range p.store.Read(ctx, p.key, session.Selection{Live: true}) {
		require.NoError(p.t, err)
		live = append(live, e)
	}
	require.Equal(p.t, seqs(session.Live(log)), seqs(live))

	// What is pinned last is in the view, or the summary has first lines of pins, and the tool recall
	// reads it.
	var statuses session.EventStatuses
	for _, e := range log {
		statuses.Add(e)
	}
	var last *session.Event
	pinned := ""
	for _, e := range log {
		for _, c := range e.FunctionCalls() {
			if c.Name == "pin" && statuses.Of(e).Void == 0 {
				last = e
				pinned = fmt.Sprint(c.Args["request"])
			}
		}
	}
	keep := p.drama.config.Keep
	if last != nil && len(keep.Tools) > 0 && len(keep.Authors) == 0 &&
		statuses.Of(last).Behind != 0 {
		require.Contains(p.t, live[0].Actions.Compaction.Content.Parts[0].Text, "Kept in part")
		got := p.recall(map[string]any{"from": last.Seq, "to": last.Seq})
		require.Len(p.t, got.Events, 1)
		require.Contains(p.t, got.Events[0].Text, pinned)
	}

	// A large result is read whole by the tool recall, although the prompt has none of it.
	for _, e := range slices.Backward(log) {
		text := ""
		for _, r := range e.FunctionResponses() {
			if r.Name == "big" {
				text, _ = r.Response["result"].(string)
			}
		}
		if text == "" || statuses.Of(e).Behind == 0 {
			continue
		}
		require.NotContains(p.t, p.shown, strings.Repeat("a long page ", 2000))
		for _, skip := range []int{0, len(text) - 1000} {
			got := p.recall(map[string]any{"from": e.Seq, "to": e.Seq, "skip": skip})
			require.Len(p.t, got.Events, 1)
			if skip == 0 {
				require.Contains(p.t, got.Events[0].Text, text[:1000])
				require.Greater(p.t, got.Events[0].Left, len(text)-12_000)
			} else {
				require.Contains(p.t, got.Events[0].Text, text[len(text)-100:])
			}
		}
		return
	}
}

// recall calls the tool recall.
func (p *scripted) recall(args map[string]any) *recollection {
	ctx := p.t.Context()
	s, err := p.store.Get(ctx, p.key)
	require.NoError(p.t, err)
	response, err := compaction.Recall(p.store, p.drama.config).Run(ctx, &tool.Call{
		Name:       meter.RecallName,
		Args:       args,
		Invocation: &session.Invocation{Key: p.key, Position: s.Position},
	})
	require.NoError(p.t, err)
	data, err := json.Marshal(response)
	require.NoError(p.t, err)
	var r recollection
	require.NoError(p.t, json.Unmarshal(data, &r))
	return &r
}
