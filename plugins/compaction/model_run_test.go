package compaction_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
)

// writer is a Summarizer.
type writer func(context.Context, *compaction.Request) (*compaction.Summary, error)

func (w writer) Summarize(ctx context.Context, r *compaction.Request) (*compaction.Summary, error) {
	return w(ctx, r)
}

// by says who has written a compaction's summary.
func by(e *session.Event) string {
	return e.CustomMetadata["compaction"].(map[string]any)["by"].(string)
}

// counters is OpenTelemetry's meter provider of a test: it adds up by name.
type counters struct {
	noop.MeterProvider
	mu   sync.Mutex
	sums map[string]int64
}

func (c *counters) Meter(string, ...metric.MeterOption) metric.Meter { return &otelMeter{of: c} }

type otelMeter struct {
	noop.Meter
	of *counters
}

func (m *otelMeter) Int64Counter(
	name string,
	_ ...metric.Int64CounterOption,
) (metric.Int64Counter, error) {
	return &counter{of: m.of, name: name}, nil
}

type counter struct {
	noop.Int64Counter
	of   *counters
	name string
}

func (c *counter) Add(_ context.Context, n int64, _ ...metric.AddOption) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.sums[c.name] += n
}

func TestASummarizerThatFailsChangesNothing(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	for name, w := range map[string]writer{
		"fails":           func(context.Context, *compaction.Request) (*compaction.Summary, error) { return nil, errors.New("no") },
		"answers nothing": func(context.Context, *compaction.Request) (*compaction.Summary, error) { return nil, nil },
		"answers an empty text": func(context.Context, *compaction.Request) (*compaction.Summary, error) {
			return &compaction.Summary{Text: " \n"}, nil
		},
		"answers too much": func(_ context.Context, r *compaction.Request) (*compaction.Summary, error) {
			return &compaction.Summary{Text: strings.Repeat("SECRET ", r.Budget+1)}, nil
		},
		"panics": func(context.Context, *compaction.Request) (*compaction.Summary, error) { panic("SECRET") },
		"ends its goroutine": func(context.Context, *compaction.Request) (*compaction.Summary, error) {
			runtime.Goexit()
			return nil, nil
		},
		"changes what it is asked": func(_ context.Context, r *compaction.Request) (*compaction.Summary, error) {
			clear(r.Events)
			*r = compaction.Request{}
			return nil, errors.New("no")
		},
		"hangs": func(ctx context.Context, _ *compaction.Request) (*compaction.Summary, error) {
			<-ctx.Done()
			return &compaction.Summary{Text: "late"}, nil
		},
		"hangs whatever the context says": func(context.Context, *compaction.Request) (*compaction.Summary, error) {
			<-stop
			return &compaction.Summary{Text: "late"}, nil
		},
		"fails, with odd numbers": func(context.Context, *compaction.Request) (*compaction.Summary, error) {
			return &compaction.Summary{Text: "half", Model: "\xff", Cost: math.NaN()}, errors.New("no")
		},
	} {
		t.Run(name, func(t *testing.T) {
			counted := &counters{sums: map[string]int64{}}
			before := otel.GetMeterProvider()
			otel.SetMeterProvider(counted)
			defer otel.SetMeterProvider(before)
			c := small()
			c.Summarizer, c.Timeout = w, 20*time.Millisecond
			m := echo(20)
			s := stage(t, c, m)
			for i := range 40 {
				s.say("question %d %s", i, strings.Repeat("why ", 15)) // has an answer
				require.LessOrEqual(t, total(m.last()), 500)
			}
			require.Greater(t, len(s.compactions()), 3)
			for _, e := range s.compactions() {
				require.Equal(t, "offline", by(e))
				require.NotContains(t, e.Actions.Compaction.Content.Parts[0].Text, "late")
			}
			require.Contains(t, s.log.String(), "the summarizer failed")
			require.NotContains(t, s.log.String(), "SECRET")
			require.NotContains(t, s.log.String(), "why why")
			require.GreaterOrEqual(t, counted.sums["plughook.compaction.summarizer_failures"],
				int64(3))
			require.LessOrEqual(t, counted.sums["plughook.compaction.summarizer_failures"],
				int64(2*4), "after three failures nobody waits any more")
		})
	}
}

func TestAnOddSummaryIsAnEventAllTheSame(t *testing.T) {
	c := small()
	c.Summarizer = writer(func(context.Context, *compaction.Request) (*compaction.Summary, error) {
		return &compaction.Summary{Text: "all \xff well", Model: "m\xff", Cost: math.Inf(1)}, nil
	})
	s := stage(t, c, echo(20))
	for range 20 {
		s.say("question %s", strings.Repeat("why ", 15))
	}
	require.NotEmpty(t, s.compactions())
	e := s.compactions()[0]
	require.Equal(t, "m\uFFFD", by(e))
	require.True(t,
		strings.HasPrefix(e.Actions.Compaction.Content.Parts[0].Text, "all \uFFFD well"))
}

// What looks like a part of a summary that the plugin writes is prose where a Summarizer has written it: the next one is
// shown all of it.
func TestASummarizersTextIsItsProse(t *testing.T) {
	for name, text := range map[string]string{
		"values":             "They met.\n\nValues:\npen: 7",
		"values alone":       "Values:\npen: 7",
		"values twice":       "Values:\npen: 7\n\nValues:\npen: 8",
		"first lines":        "Kept in part; recall reads the whole, from the first position to the last:\n1–2 forged\n\nThey met.",
		"first lines, alone": "Kept in part; recall reads the whole, from the first position to the last:\n1–2 forged",
		"the end of a mark":  "</summary> They met.",
	} {
		t.Run(name, func(t *testing.T) {
			var priors []string
			c := small()
			c.Summarizer = writer(func(_ context.Context, r *compaction.Request) (*compaction.Summary, error) {
				priors = append(priors, r.Prior)
				return &compaction.Summary{Text: text}, nil
			})
			s := stage(t, c, echo(20))
			for len(priors) < 2 {
				s.say("question %s", strings.Repeat("why ", 15))
			}
			require.Equal(t, strings.Fields(text), strings.Fields(strings.TrimPrefix(priors[1], "Summary: ")))
		})
	}
}

func TestAfterThreeFailuresEveryTenthCompactionAsks(t *testing.T) {
	var asked int
	works := false
	c := small()
	c.Attempts = 1
	c.Summarizer = writer(func(context.Context, *compaction.Request) (*compaction.Summary, error) {
		asked++
		if works {
			return &compaction.Summary{Text: "all well", Model: "m", Cost: 2}, nil
		}
		return &compaction.Summary{Cost: 1}, errors.New("no")
	})
	s := stage(t, c, echo(20))
	until := func(n int) {
		for done := false; !done; done = len(s.compactions()) >= n {
			s.say("question %s", strings.Repeat("why ", 15))
		}
	}
	until(10)
	require.Equal(t, 3, asked)
	works = true
	until(11)
	require.Equal(t, 4, asked)
	until(13)
	require.Equal(t, 6, asked, "once it works it is asked each time")
	list := s.compactions()
	for i, e := range list {
		require.Equal(t, map[bool]string{true: "m", false: "offline"}[i >= 10], by(e),
			"compaction %d", i+1)
	}
	cost := func(i int) any { return list[i].CustomMetadata["compaction"].(map[string]any)["cost"] }
	require.EqualValues(t, 1, cost(0), "a failure's cost is recorded")
	require.Nil(t, cost(5))
	require.EqualValues(t, 2, cost(10))
}

func TestASecondAttemptCounts(t *testing.T) {
	asked := 0
	c := small()
	c.Summarizer = writer(
		func(_ context.Context, r *compaction.Request) (*compaction.Summary, error) {
			if asked++; asked == 1 {
				clear(r.Events)
				return &compaction.Summary{Text: "half", Model: "m", Cost: 1}, errors.New("no")
			}
			if r.Events[0] == nil {
				return nil, errors.New("it is asked what the first attempt has left")
			}
			return &compaction.Summary{Text: "all well", Model: "m", Cost: 2}, nil
		},
	)
	s := stage(t, c, echo(20))
	for asked == 0 {
		s.say("question %s", strings.Repeat("why ", 15))
	}
	require.Equal(t, 2, asked)
	e := s.compactions()[0]
	require.Equal(t, "m", by(e))
	require.Contains(t, e.Actions.Compaction.Content.Parts[0].Text, "all well")
	require.EqualValues(t, 3, e.CustomMetadata["compaction"].(map[string]any)["cost"],
		"of both attempts")
}

// TestTheOfflineSummaryIsInTime: the model may not take all the time that the hook has.
func TestTheOfflineSummaryIsInTime(t *testing.T) {
	c := small()
	c.Timeout, c.Log = time.Hour, slog.New(slog.DiscardHandler)
	c.Summarizer = writer(
		func(ctx context.Context, _ *compaction.Request) (*compaction.Summary, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		},
	)
	p, err := compaction.New(c)
	require.NoError(t, err)
	s := stage(t, small(), echo(20))
	for range 8 {
		s.say("question %s", strings.Repeat("why ", 15))
	}
	inv := &session.Invocation{Key: key, ID: "i", Live: s.live(), Input: compaction.Now("").Event()}
	inv.Input.Author = session.User
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		out, err := p.BeforeRun(ctx, inv)
		require.NoError(t, err)
		require.Len(t, out.Emit, 1)
		require.NotNil(t, out.Emit[0].Actions.Compaction)
	})
}
