package compaction_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sqlite"
)

// soakTurns in the environment is how many turns TestAPromptStaysInItsBound takes.
const soakTurns = "PLUGHOOK_SOAK_TURNS"

// A prompt that is bounded for a hundred turns grows in a thousand. Run PLUGHOOK_SOAK_TURNS=100000 go
// test -timeout 0 -run TestAPromptStaysInItsBound ./plugins/compaction for more.
func TestAPromptStaysInItsBound(t *testing.T) {
	turns, err := strconv.Atoi(os.Getenv(soakTurns))
	if err != nil {
		turns = 150
	}
	for _, c := range []struct {
		name   string
		config compaction.Config
	}{
		{"words, in the foreground", small()},
		{"tokens, in the background", compaction.Config{Window: 2000, Budget: 1500}},
	} {
		t.Run(c.name, func(t *testing.T) {
			count := c.config.Count
			if count == nil {
				count = meter.Tokens
			}
			m := echo(20)
			s := stage(t, c.config, m)
			most := 0
			for i := range turns {
				s.say("question %d %s", i, filler(1+i%60))
				n := 0
				for _, content := range m.last().Contents {
					n += count(content)
				}
				most = max(most, n)
				m.asked = m.asked[:0]
			}
			require.LessOrEqual(t, most, c.config.Budget)
			t.Logf("%d turns: no prompt had more than %d tokens, %d compactions", turns, most,
				len(s.compactions()))
		})
	}
}

// talk returns what two say to each other in so many turns.
func talk(r *rand.Rand, turns int) (events []*session.Event) {
	words := make([]string, 3000)
	for i := range words {
		for range 2 + r.IntN(3) {
			words[i] += string("bdfklmnprst"[r.IntN(11)]) + string("aeiou"[r.IntN(5)])
		}
	}
	say := func() string {
		var said []string
		for range 10 + r.IntN(30) {
			said = append(said, words[int(float64(len(words))*r.Float64()*r.Float64())])
		}
		return strings.Join(said, " ") + fmt.Sprintf(" %d.", r.IntN(1e6))
	}
	for range turns {
		question, answer := session.Message(say()), session.Message(say())
		question.Author, answer.Author, answer.Content.Role = session.User, "agent", "model"
		events = append(events, question, answer)
	}
	return events
}

// long fills a session: a summary stands for all but the last hundred events.
func long(b *testing.B, sessions session.Service, events int) {
	_, err := sessions.Create(ctx, key, nil)
	require.NoError(b, err)
	r := rand.New(rand.NewPCG(1, 2))
	var position, frontier int64
	for position < int64(events) {
		batch := talk(r, 50)
		if position > 0 {
			e := &session.Event{
				Author: "plugin/compaction",
				Actions: session.Actions{
					Compaction: &session.Compaction{
						Through:  position,
						Frontier: frontier,
						Content:  session.Message("What was said.").Content,
					},
				},
			}
			batch, frontier = append(batch, e), position+int64(len(batch))+1
		}
		position, err = sessions.Append(
			ctx,
			session.AppendTarget{Key: key, After: position},
			batch...)
		require.NoError(b, err)
	}
}

// BenchmarkTurn is a turn on a session of so many events, with compaction on.
func BenchmarkTurn(b *testing.B) {
	for _, events := range []int{100, 100_000} {
		b.Run(strconv.Itoa(events), func(b *testing.B) {
			sessions, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "sessions.db"))
			require.NoError(b, err)
			defer sessions.Close()
			long(b, sessions, events)
			a, err := llm.New(llm.Config{Name: "agent", Model: echo(3)})
			require.NoError(b, err)
			compacts, err := compaction.New(compaction.Config{Log: slog.New(slog.DiscardHandler)})
			require.NoError(b, err)
			r, err := runner.New(
				runner.Options{Agent: a, Sessions: sessions, Plugins: []*plugin.Plugin{compacts}})
			require.NoError(b, err)
			defer r.Close(context.Background())
			for b.Loop() {
				for _, err := range r.Run(ctx, key, session.Message("hi"), session.RunConfig{}) {
					require.NoError(b, err)
				}
			}
		})
	}
}

// BenchmarkCompact is the making of an offline summary of fifty new turns and of the one before.
func BenchmarkCompact(b *testing.B) {
	for _, budget := range []int{2000, 4000} {
		b.Run(strconv.Itoa(budget), func(b *testing.B) {
			c := compaction.Config{
				Window:     100_000,
				Trigger:    budget + 400,
				Summary:    budget,
				Tail:       200,
				MinGain:    100,
				Foreground: true,
				Log:        slog.New(slog.DiscardHandler),
			}
			p, err := compaction.New(c)
			require.NoError(b, err)
			r := rand.New(rand.NewPCG(1, 2))
			inv := &session.Invocation{Key: key, ID: "i"}
			next := func() { // the view, a summary on its head, with fifty turns more
				for _, e := range talk(r, 50) {
					inv.Position++
					e.Seq, e.InvocationID = inv.Position, strconv.FormatInt(inv.Position, 10)
					inv.Live = append(inv.Live, e)
				}
			}
			compact := func() *session.Event {
				out, err := p.AfterRun(ctx, inv, plugin.End{Kind: plugin.EndDone})
				require.NoError(b, err)
				require.Len(b, out.Emit, 1, out.Reason)
				return out.Emit[0]
			}
			for range 4 { // generations
				next()
				e := compact()
				inv.Position++
				e.Seq, inv.Frontier = inv.Position, inv.Position
				inv.Live = session.Live(append(inv.Live, e))
			}
			next()
			for b.Loop() {
				compact()
			}
		})
	}
}
