package judge

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
)

// flight is a question to one judge that is being asked, for all who wait for its answer.
type flight struct {
	judge     *Judge
	digest    digest
	request   *request
	waiting   int // how many wait
	forgotten bool

	done   chan struct{} // closed once result is set
	result               // of the judge
}

// request is what one judge, or several of one model, are asked at once.
type request struct {
	deadline time.Time // that of the most patient judge
	cancel   context.CancelFunc
	flights  int // those that are not forgotten
}

func newFlight(j *Judge, d digest) *flight {
	return &flight{judge: j, digest: d, done: make(chan struct{})}
}

// errLate is the cause of a context that ends with a judge's timeout.
var errLate = errors.New("late")

// fly asks judges in one request that begins now, on a goroutine of its own. It takes as long as the most
// patient of them. The lock is held.
func (p *Pool) fly(flights []*flight, q Question, now time.Time) {
	patience := time.Duration(0)
	judges := make([]*Judge, len(flights))
	for i, f := range flights {
		judges[i] = f.judge
		patience = max(patience, f.judge.spec.Timeout)
		p.asking[f.judge.spec.Rule]++
	}
	r := &request{deadline: now.Add(patience), flights: len(flights)}
	ctx, cancel := context.WithDeadlineCause(p.life, r.deadline, errLate)
	r.cancel = cancel
	for _, f := range flights {
		f.request = r
	}
	p.start(func() {
		began := time.Now()
		results := none(judges, judging.Unanswered("its judge has ended without an answer"))
		defer func() { p.land(flights, results, began) }()

		// Wait for one of the slots, and ask.
		slots := judges[0].slots
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			results = checked(ctx, judges, &q)
		case <-ctx.Done():
		}
		for i := range results {
			if results[i].err != nil && ctx.Err() != nil {
				results[i].err = context.Cause(ctx)
			}
		}
	})
}

// land counts what came of a request, remembers its answers, and wakes those who wait for them.
func (p *Pool) land(flights []*flight, results []result, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range flights {
		f.result = results[i]
		p.count(f, began)
		rule := f.judge.spec.Rule
		p.asking[rule]--
		if p.asking[rule] == 0 {
			delete(p.asking, rule)
		}
		p.forget(f)
		if f.err == nil {
			p.remember(f.digest, f.Answer)
		}
		close(f.done)
	}
}

// forget lets nobody join a question any more, and cancels its request if that was the last one. The
// lock is held.
func (p *Pool) forget(f *flight) {
	if f.forgotten {
		return
	}
	f.forgotten = true
	if p.flights[f.digest] == f {
		delete(p.flights, f.digest)
	}
	f.request.flights--
	if f.request.flights == 0 {
		f.request.cancel()
	}
}

func (p *Pool) count(f *flight, began time.Time) {
	said := "clean"
	switch {
	case overBudget(f.err):
		said = "over budget"
	case f.err != nil:
		said = "error"
	case f.Flagged:
		said = "flagged"
	}
	by := metric.WithAttributes(attribute.String("rule", f.judge.spec.Rule), attribute.String("answer", said))
	p.metrics.Duration.Record(context.Background(), time.Since(began).Seconds(), by)
}
