package compaction_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sqlite"
)

// A session goes on, however many calls are kept, held or never answered, and whatever tools return: hardly a turn is
// refused, and no prompt is above its budget. Run PLUGHOOK_SOAK_TURNS=2200 go test -run TestHardlyATurnIsRefused
// ./plugins/compaction for more.
func TestHardlyATurnIsRefused(t *testing.T) {
	turns, err := strconv.Atoi(os.Getenv(soakTurns))
	if err != nil {
		turns = 150
	}
	for _, c := range []struct {
		name   string
		config compaction.Config
	}{
		{"pins", compaction.Config{Window: 4000, Keep: compaction.Keep{Tools: []string{"pin"}}}},
		{"clearing", compaction.Config{Window: 4000, Clear: compaction.Clear{Trigger: 1500}}},
		{"small, with triggers by number", compaction.Config{Window: 2500, Budget: 2000, Invocations: 4, Foreground: true, Keep: compaction.Keep{Tools: []string{"pin"}, Authors: []string{"user"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sessions.db"))
			require.NoError(t, err)
			defer func() { require.NoError(t, store.Close()) }()
			p := &scripted{t: t, r: rand.New(rand.NewPCG(7, 7)), store: store, config: c.config, key: key}
			_, err = store.Create(t.Context(), key, nil)
			require.NoError(t, err)
			p.open()
			defer func() { p.close() }()
			for i := range turns {
				p.turn(i)
			}
			t.Logf("%d turns: %d refused, %d killed, %d rewound, %d forks; no prompt had more than %d tokens", turns, p.refused, p.killed, p.rewound, p.forks, p.most)
			require.LessOrEqual(t, p.refused, turns/100)
		})
	}
}

// scripted is a session that is played by chance.
type scripted struct {
	t      *testing.T
	r      *rand.Rand
	store  session.Service
	config compaction.Config
	key    session.Key
	life   *life
	runner *runner.Runner

	refused, killed, rewound, forks, most int
}

func (p *scripted) open() {
	c := p.config
	c.Log = slog.New(slog.DiscardHandler)
	compacts, err := compaction.New(c)
	require.NoError(p.t, err)
	a, err := llm.New(llm.Config{Name: "solo", Model: &speaker{answer: p.answer}, Tools: toolbox(), MaxModelCalls: 4})
	require.NoError(p.t, err)
	p.life = &life{Service: p.store}
	p.runner, err = runner.New(runner.Options{Agent: a, Sessions: p.life, Plugins: []*plugin.Plugin{compacts, rewind.New(p.life)}, Log: c.Log})
	require.NoError(p.t, err)
}

func (p *scripted) close() { _ = p.runner.Close(context.Background()) } // what is under way at a crash fails

// answer is the model: it makes a few calls, of which one may be held or kept, or says something.
func (p *scripted) answer(n int, req *model.Request) (*model.Response, error) {
	size := 0
	for _, c := range append([]*genai.Content{req.Config.SystemInstruction}, req.Contents...) {
		size += compaction.Tokens(c)
	}
	p.most = max(p.most, size)
	require.NoError(p.t, grammar(req.Contents))
	if p.r.IntN(3) > 0 {
		return said("answer %d %s", n, filler(1+p.r.IntN(60))), nil
	}
	names := []string{"read", "read", "read", "pin", "ask", "later", "broken"}
	c := &genai.Content{Role: genai.RoleModel}
	for range 1 + p.r.IntN(4) {
		request := fmt.Sprint(n, " ", filler(1+p.r.IntN(150)))
		c.Parts = append(c.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{Name: names[p.r.IntN(len(names))], Args: map[string]any{"request": request}}})
	}
	return &model.Response{Content: c, FinishReason: genai.FinishReasonStop}, nil
}

// turn plays one turn: a message, seldom an answer to a call that waits, a rewind, a crash or a fork.
func (p *scripted) turn(i int) {
	ctx := p.t.Context()
	input := session.Message(fmt.Sprintf("message %d %s", i, filler(1+p.r.IntN(60))))
	switch p.r.IntN(40) {
	case 0:
		p.killed++
		p.life.left.Store(1 + p.r.Int64N(6))
	case 1:
		p.rewound++
		input = rewind.Turns(1 + p.r.IntN(3)).Event()
	case 2:
		p.forks++
		p.fork()
	case 3, 4:
		s, err := session.Snapshot(ctx, p.store, p.key)
		require.NoError(p.t, err)
		for _, c := range session.Calls(s.Live) {
			if c.Held != nil && c.Waits() && c.Decision == nil {
				input = session.Decision(p.r.IntN(2) == 0, c.ID)
			}
		}
	}
	for e, err := range p.runner.Run(ctx, p.key, input, session.RunConfig{}) {
		if err != nil {
			require.True(p.t, errors.Is(err, errCrash), "%v", err)
			break
		}
		if e.ErrorCode == compaction.TooLong {
			p.refused++
			p.t.Log(i, e.ErrorMessage)
		}
	}
	if p.life.left.Load() != 0 || p.life.dead.Load() {
		p.close()
		p.open()
	}
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
