package guardrail

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// flight is a question that is being asked.
type flight struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	answer  answer
	err     error
}

var errLate = errors.New("late")

// fly asks on a goroutine of its own, which Close waits for. The lock is held.
func (j *judges) fly(a *remote, d digest, q *question) *flight {
	f := &flight{done: make(chan struct{}), err: unjudged("its judge has ended without an answer")}
	ctx, cancel := context.WithTimeoutCause(j.ctx, a.rule.ask.timeout, errLate)
	f.cancel = cancel
	j.flights[d] = f
	j.names[a.rule.id]++
	asked := *q
	j.begins(func() {
		began := time.Now()
		defer func() {
			j.count(a.rule.id, began, f)
			j.mu.Lock()
			defer j.mu.Unlock()
			if j.names[a.rule.id]--; j.names[a.rule.id] == 0 {
				delete(j.names, a.rule.id)
			}
			j.land(d, f)
			if f.err == nil {
				j.remember(d, f.answer)
			}
			close(f.done)
		}()
		select {
		case a.slots <- struct{}{}:
			defer func() { <-a.slots }()
			f.answer, f.err = a.careful(ctx, &asked)
		case <-ctx.Done():
			f.err = context.Cause(ctx)
		}
		if f.err != nil && ctx.Err() != nil {
			f.err = context.Cause(ctx)
		}
	})
	return f
}

// land makes that nobody joins the flight any more. The lock is held.
func (j *judges) land(d digest, f *flight) {
	f.cancel()
	if j.flights[d] == f {
		delete(j.flights, d)
	}
}

func (j *judges) count(rule string, began time.Time, f *flight) {
	said := "clean"
	switch {
	case f.err != nil:
		said = "error"
	case f.answer.flagged:
		said = "flagged"
	}
	by := metric.WithAttributes(attribute.String("rule", rule), attribute.String("answer", said))
	j.metrics.asked.Record(context.Background(), time.Since(began).Seconds(), by)
}
