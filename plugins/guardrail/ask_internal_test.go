package guardrail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/session"
)

// bare is a plugin without a policy, and a rule's judge that answers yes to each text once it is let.
func bare(let <-chan struct{}) (*guard, *remote) {
	m := newMetrics()
	g := &guard{Config: Config{Log: slog.New(slog.DiscardHandler), Now: time.Now}, metrics: m, judges: newJudges(m, time.Now)}
	r := &rule{id: "topic", action: Block, ask: &ask{timeout: time.Minute, onError: Block}}
	return g, &remote{rule: r, slots: make(chan struct{}, maxAsking), ask: func(ctx context.Context, q *question) (answer, error) {
		select {
		case <-let:
			return answer{flagged: true, spans: []span{{end: len(q.text), kind: typeFlagged, score: 1}}}, nil
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
	}}
}

func TestPanicInAWalkLeavesNoQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, rm := bare(nil)
		p := &Policy{remotes: map[string]*remote{"topic": rm}}
		var asked *judgment
		require.Panics(t, func() {
			g.judge(p, &session.Invocation{}, session.Message("x"), func(_ *walker, j *judgment) {
				g.hears(context.Background(), j)
				asked = j
				for i, h := range []*hearing{j.hearing, j.aside} {
					h.put(&judgedText{item: &judgedItem{}, open: []*open{{question: question{text: fmt.Sprint(i)}, remote: rm}}})
				}
				synctest.Wait()
				panic("a mistake")
			})
		})
		synctest.Wait()
		require.Zero(t, g.judges.busy)
		require.Empty(t, g.judges.names)
		require.Error(t, asked.hearing.ctx.Err())
		require.Error(t, asked.aside.ctx.Err())
	})
}

// What a judge that does not come back leaves behind is its own goroutine alone.
func TestCloseThatIsLateLeavesNothingOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, rm := bare(nil)
		let := make(chan struct{})
		rm.ask = func(context.Context, *question) (answer, error) {
			<-let
			return answer{}, nil
		}
		asker, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := g.judges.ask(asker, rm, &question{text: "x"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		late, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.EqualError(t, g.judges.close(late), "guardrail: the judges of these rules have not come back in time: topic")
		require.Equal(t, 1, g.judges.busy)
		close(let)
		require.NoError(t, g.judges.close(context.Background()))
		require.Empty(t, g.judges.names)
	})
}

// Whatever is answered, what is remembered has a bound, in number and in bytes.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	for name, spans := range map[string]int{"short": 0, "some": 30, "long": 900, "longest": 20000} {
		t.Run(name, func(t *testing.T) {
			g, rm := bare(nil)
			list := make([]span, spans)
			for i := range list {
				list[i] = span{end: 1, kind: strings.Repeat("K", 20)}
			}
			asked := 0
			rm.ask = func(context.Context, *question) (answer, error) {
				asked++
				return answer{flagged: true, spans: list}, nil
			}
			const texts = maxAnswers + 500
			for i := range texts {
				_, err := g.judges.ask(context.Background(), rm, &question{text: fmt.Sprint(i)})
				require.NoError(t, err)
				sum := 0
				if i%500 == 0 || i == texts-1 {
					for _, a := range g.judges.known {
						require.LessOrEqual(t, a.size(), maxKeeps)
						sum += a.size()
					}
					require.Equal(t, sum, g.judges.kept)
				}
				require.LessOrEqual(t, g.judges.kept, maxKept)
				require.LessOrEqual(t, len(g.judges.known), maxAnswers)
			}
			_, err := g.judges.ask(context.Background(), rm, &question{text: fmt.Sprint(texts - 1)})
			require.NoError(t, err)
			if spans*60 > maxKeeps {
				require.Empty(t, g.judges.known)
				require.Equal(t, texts+1, asked)
			} else {
				require.Equal(t, texts, asked, "the last one is known")
			}
			require.NoError(t, g.judges.close(context.Background()))
		})
	}
}

// A slow detector in one stream holds up nothing else of the run.
func TestStreamsDoNotWaitForEachOther(t *testing.T) {
	p, err := Parse("p.yaml", []byte("rules: [{id: r, detect: {words: [x]}, action: redact}]"))
	require.NoError(t, err)
	slow := stuck{came: make(chan struct{}), let: make(chan struct{})}
	p.detectors[0] = slow
	hooks, err := New(Config{Policy: p, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	inv := &session.Invocation{ID: "i"}
	say := func(id, text string) error {
		e := session.Reply(text)
		e.ID, e.Author, e.Partial = id, "bot", true
		_, err := hooks.OnEvent(context.Background(), inv, e)
		return err
	}
	done := make(chan error)
	go func() { done <- say("one", "slow") }()
	<-slow.came
	require.NoError(t, say("two", "quick"))
	close(slow.let)
	require.NoError(t, errors.Join(<-done, hooks.Close(context.Background())))
}

// stuck is a detector that finds nothing, and takes its time for a text that is slow.
type stuck struct{ came, let chan struct{} }

func (s stuck) Find(found []detect.Finding, text string) []detect.Finding {
	if text == "slow" {
		select {
		case s.came <- struct{}{}:
			<-s.let
		case <-s.let:
		}
	}
	return found
}

func (stuck) Open(text string) int { return len(text) }
