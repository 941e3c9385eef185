package compaction_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/internal/geminitest"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// play is a session whose summaries are made in the background, by a server that waits until it is told
// what to answer.
type play struct {
	*scene
	config compaction.Config
	srv    *geminitest.Server
	asked  chan chan<- string // a summary is being made: it takes its text
	during func()             // is called once, while the next run has the lease
	done   chan string        // "made", "offered", "late", "lost" or why it was declined: what became of it
}

// outcomes is a log that tells what became of background work.
type outcomes struct {
	slog.Handler
	done chan string
}

func (o outcomes) Handle(ctx context.Context, r slog.Record) error {
	switch r.Message {
	case "background work came too late":
		o.done <- "late"
	case "compacted":
		o.done <- "made"
	case "background work was lost":
		o.done <- "lost"
	case "not compacted":
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "reason" {
				o.done <- a.Value.String()
			}
			return a.Key != "reason"
		})
	}
	if !o.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return o.Handler.Handle(ctx, r)
}

// Enabled implements slog.Handler: what is no problem is told at the level of debugging.
func (o outcomes) Enabled(context.Context, slog.Level) bool { return true }

// begin starts a play.
func begin(t *testing.T) *play {
	p := &play{
		scene: &scene{t: t, sessions: memory.New(), log: &logText{}},
		asked: make(chan chan<- string, 9),
		done:  make(chan string, 99),
	}
	m, srv := served(
		t,
		geminitest.Forever(geminitest.Func(func(r *geminitest.Request) geminitest.Answer {
			answer := make(chan string)
			p.asked <- answer
			select {
			case text := <-answer:
				return geminitest.Text(text)
			case <-r.Context.Done():
				return geminitest.Status(500, "the client has left")
			}
		})),
	)
	p.srv = srv
	p.config = small()
	p.config.Foreground, p.config.Summarizer = false, &compaction.Model{Model: m, MaxInput: 5000}
	p.open()
	return p
}

// open starts a runner on the session, as another process would.
func (p *play) open() {
	c := p.config
	a, err := llm.New(llm.Config{Name: "agent", Model: echo(3)})
	require.NoError(p.t, err)
	c.Log = slog.New(outcomes{slog.NewTextHandler(p.log, nil), p.done})
	compacts, err := compaction.New(c)
	require.NoError(p.t, err)
	undo := &plugin.Plugin{
		Name: "undo",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			switch {
			case e.Actions.Compaction != nil:
				p.done <- "offered"
			case p.during != nil:
				during := p.during
				p.during = nil
				during()
			case strings.HasPrefix(e.Text(), "undo"):
				to := int64(2)
				_, _ = fmt.Sscanf(e.Text(), "undo to %d", &to)
				return plugin.Outcome{
					Emit: []*session.Event{
						{Actions: session.Actions{Rewind: &session.Rewind{To: to}}},
					},
					Withhold: true,
					Stop:     true,
				}, nil
			}
			return plugin.Outcome{}, nil
		},
	}
	p.runner, err = runner.New(runner.Options{
		Agent:    a,
		Sessions: p.sessions,
		Plugins:  []*plugin.Plugin{compacts, undo},
		Log:      c.Log,
	})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = p.runner.Close(context.Background()) }) // a test may have closed it
}

// fill says so much that the session is to be compacted, and returns who waits for the summary's text.
func (p *play) fill() chan<- string {
	p.t.Helper()
	for {
		p.say("question %s", strings.Repeat("why ", 85))
		plan, err := p.config.Preview(ctx, &session.Invocation{Key: key, Live: p.live()}, "")
		require.NoError(p.t, err)
		if plan.Trigger != "" {
			return <-p.asked
		}
	}
}

// until waits for something to become of a compaction.
func (p *play) until(what string) {
	for <-p.done != what {
	}
}

func (p *play) summary(i int) string {
	return p.compactions()[i].Actions.Compaction.Content.Parts[0].Text
}

func TestTheCallerHasTheAnswerWhileTheSummaryIsMade(t *testing.T) {
	p := begin(t)
	summary := p.fill()
	yielded, err := p.run(session.Message("hi"))
	require.NoError(t, err)
	require.Contains(t, yielded[len(yielded)-1].Text(), "answer 6")
	require.Equal(t, "busy", <-p.done, "one at a time")
	require.Empty(t, p.compactions())
	summary <- "They talked about reasons."
	p.until("offered")
	p.say("bye") // waits for the turn that the summary has
	require.Len(t, p.compactions(), 1)
	require.Contains(t, p.summary(0), "They talked about reasons.")
	e := p.compactions()[0]
	require.Positive(t, e.UsageMetadata.PromptTokenCount)
	require.NotEmpty(t, e.ModelVersion)
	require.Equal(t, e.ModelVersion, by(e))
	require.Len(t, p.srv.Requests(), 1)
	texts := ""
	for _, e := range p.live() {
		texts += e.Text() + "\n"
	}
	require.Contains(t, texts, "hi\n", "what was said in the meantime is not covered")
}

func TestALateSummaryIsDiscardedAfterARewind(t *testing.T) {
	p := begin(t)
	late := p.fill()
	p.say("undo")
	late <- "Too late."
	p.until("late")
	require.NotContains(t, p.log.String(), "level=WARN", "nothing is wrong")
	require.Empty(t, p.compactions())
	p.fill() <- "In time."
	p.until("offered")
	p.say("bye")
	require.Len(t, p.compactions(), 1)
	require.Contains(t, p.summary(0), "In time.")
}

// A prompt above its budget cannot wait for the model's summary. That one takes the place of the offline one when it
// comes, and what was covered meanwhile is added; nothing is asked or paid twice.
func TestALateSummaryTakesThePlaceOfTheOfflineOne(t *testing.T) {
	for name, overtaken := range map[string]int{"once": 1, "twice": 2} {
		t.Run(name, func(t *testing.T) {
			p := begin(t)
			late := p.fill()
			for i := range overtaken {
				for len(p.compactions()) == i {
					p.say("question %d, the answer is 47%d. %s", i, i, strings.Repeat("why ", 108))
				}
			}
			stands := p.compactions()[overtaken-1]
			require.Equal(t, "offline", by(stands))
			late <- "They talked about reasons."
			p.until("late")
			require.Len(t, p.compactions(), overtaken, "between two runs nothing happens")

			before := p.live()
			p.say("and now?")
			require.Len(t, p.compactions(), overtaken+1)
			e := p.compactions()[overtaken]
			require.Equal(t, "late", noteOn(e)["trigger"])
			require.Equal(t, e.ModelVersion, by(e))
			require.Positive(t, e.UsageMetadata.PromptTokenCount)
			require.Contains(t, p.summary(overtaken), "They talked about reasons.")
			for i := range overtaken - 1 {
				require.Contains(t, p.summary(overtaken), fmt.Sprintf("47%d", i), "what came after it is in it")
			}
			require.Equal(t, stands.Actions.Compaction.Through, e.Actions.Compaction.Through)
			require.Equal(t, stands.Actions.Compaction.Keep, e.Actions.Compaction.Keep)
			require.Equal(t, seqs(before)[1:], seqs(p.live())[1:len(before)], "it covers the same")
			require.Len(t, p.srv.Requests(), 1)
			require.NotContains(t, p.log.String(), "level=WARN", "nothing is wrong")

			// A rewind to before it brings the other one back.
			p.say("undo to %d", e.Seq-1)
			require.Equal(t, seqs(before), seqs(p.live())[:len(before)])
		})
	}
}

// A summary that is made, and waits for the session to be free, is not made a second time for a prompt above its
// budget.
func TestASummaryThatIsMadeComesInTime(t *testing.T) {
	p := begin(t)
	made := p.fill()
	p.during = func() { // this run has the lease
		made <- "They talked about reasons."
		p.until("made")
	}
	p.say("question %s", strings.Repeat("why ", 108))
	require.Len(t, p.compactions(), 1)
	require.Contains(t, p.summary(0), "They talked about reasons.")
	require.Len(t, p.srv.Requests(), 1)
}

// TestAProcessThatEndsCostsOneCall: what it was making is dropped, and made anew by the next, once.
func TestAProcessThatEndsCostsOneCall(t *testing.T) {
	p := begin(t)
	p.fill()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, p.runner.Close(ended), context.Canceled)
	require.Empty(t, p.compactions())
	require.Len(t, p.srv.Requests(), 1)
	p.open()
	p.say("hi")
	(<-p.asked) <- "They talked."
	p.until("offered")
	p.say("bye")
	require.Len(t, p.compactions(), 1)
	require.Contains(t, p.summary(0), "They talked.")
	require.Len(t, p.srv.Requests(), 2)
}
