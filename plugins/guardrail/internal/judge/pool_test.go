package judge

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/goleak"

	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newJudge returns a pool, and the judge of a rule in it that answers by a function.
func newJudge(ask func(context.Context, *Question) (Answer, error)) (*Pool, *Judge) {
	p := NewPool(Metrics{Duration: noop.Float64Histogram{}, Tokens: noop.Int64Counter{}}, time.Now,
		nil)
	spec := judging.Judge{Rule: "topic", Timeout: time.Minute, OnError: "block"}
	one := func(ctx context.Context, _ []*Judge, q *Question) []result {
		a, err := ask(ctx, q)
		return []result{{Answer: a, err: err}}
	}
	return p, &Judge{pool: p, spec: spec, slots: make(chan struct{}, maxAsking), ask: one}
}

func (j *Judge) askAlone(ctx context.Context, text string) (Answer, error) {
	return Ask([]*Judge{j}, Question{Text: text})[0].Answer(ctx)
}

// What a judge that does not come back leaves behind is its own goroutine alone.
func TestCloseThatIsLateLeavesNothingOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		p, j := newJudge(func(context.Context, *Question) (Answer, error) {
			<-let
			return Answer{}, nil
		})
		asker, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := j.askAlone(asker, "x")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		late, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.EqualError(t, p.Close(late),
			"guardrail: the judges of these rules have not come back in time: topic")
		require.Equal(t, 1, p.busy)
		close(let)
		require.NoError(t, p.Close(context.Background()))
		require.Empty(t, p.asking)
	})
}

// Whatever is answered, what is remembered has a bound, in number and in bytes.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	for name, spans := range map[string]int{"short": 0, "some": 30, "long": 900, "longest": 20000} {
		t.Run(name, func(t *testing.T) {
			list := make([]judging.Span, spans)
			for i := range list {
				list[i] = judging.Span{End: 1, Type: strings.Repeat("K", 20)}
			}
			asked := 0
			p, j := newJudge(func(context.Context, *Question) (Answer, error) {
				asked++
				return Answer{Answer: judging.Answer{Flagged: true, Spans: list}}, nil
			})
			const texts = maxAnswers + 500
			for i := range texts {
				_, err := j.askAlone(context.Background(), fmt.Sprint(i))
				require.NoError(t, err)
				sum := 0
				if i%500 == 0 || i == texts-1 {
					for _, a := range p.known {
						require.LessOrEqual(t, a.size(), maxAnswerBytes)
						sum += a.size()
					}
					require.Equal(t, sum, p.knownBytes)
				}
				require.LessOrEqual(t, p.knownBytes, maxBytes)
				require.LessOrEqual(t, len(p.known), maxAnswers)
			}
			_, err := j.askAlone(context.Background(), fmt.Sprint(texts-1))
			require.NoError(t, err)
			if spans*60 > maxAnswerBytes {
				require.Empty(t, p.known)
				require.Equal(t, texts+1, asked)
			} else {
				require.Equal(t, texts, asked, "the last one is known")
			}
			require.NoError(t, p.Close(context.Background()))
		})
	}
}
