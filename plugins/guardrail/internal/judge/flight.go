package judge

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// flight is a question that is being asked, for all who wait for its answer.
type flight struct {
	waiting int // how many wait
	cancel  context.CancelFunc
	done    chan struct{} // closed once answer and err are set
	answer  Answer
	err     error
}

// errLate is the cause of a context that ends with a judge's timeout.
var errLate = errors.New("late")

// fly asks a question on a goroutine of its own. The lock is held.
func (p *Pool) fly(j *Judge, d digest, q *Question) *flight {
	rule := j.spec.Rule
	f := &flight{done: make(chan struct{}), err: NoAnswer("its judge has ended without an answer")}
	ctx, cancel := context.WithTimeoutCause(p.life, j.spec.Timeout, errLate)
	f.cancel = cancel
	p.flights[d] = f
	p.asking[rule]++
	question := *q
	p.start(func() {
		began := time.Now()
		defer p.land(j, d, f, began)

		// Wait for one of the judge's slots, and ask.
		select {
		case j.slots <- struct{}{}:
			defer func() { <-j.slots }()
			f.answer, f.err = j.checked(ctx, &question)
		case <-ctx.Done():
			f.err = context.Cause(ctx)
		}
		if f.err != nil && ctx.Err() != nil {
			f.err = context.Cause(ctx)
		}
	})
	return f
}

// land counts what came of a question, remembers its answer, and wakes those who wait for it.
func (p *Pool) land(j *Judge, d digest, f *flight, began time.Time) {
	rule := j.spec.Rule
	p.count(rule, began, f)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking[rule]--
	if p.asking[rule] == 0 {
		delete(p.asking, rule)
	}
	p.forget(d, f)
	if f.err == nil {
		p.remember(d, f.answer)
	}
	close(f.done)
}

// forget cancels a question and lets nobody join it any more. The lock is held.
func (p *Pool) forget(d digest, f *flight) {
	f.cancel()
	if p.flights[d] == f {
		delete(p.flights, d)
	}
}

func (p *Pool) count(rule string, began time.Time, f *flight) {
	said := "clean"
	switch {
	case f.err != nil:
		said = "error"
	case f.answer.Flagged:
		said = "flagged"
	}
	by := metric.WithAttributes(attribute.String("rule", rule), attribute.String("answer", said))
	p.metrics.Duration.Record(context.Background(), time.Since(began).Seconds(), by)
}
