package guardrail

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"time"
)

const (
	maxAnswers = 4096      // that are remembered
	maxKept    = 4 << 20   // bytes of them, together
	maxAge     = time.Hour // of one: a judge may learn better
	maxKeeps   = 64 << 10  // bytes of one; a longer one is asked for anew each time
	maxAsking  = 16        // questions that one judge is asked at a time
)

// remote asks the judge of one rule. Its answer has been checked.
type remote struct {
	rule     *rule
	revision string
	slots    chan struct{}
	ask      func(ctx context.Context, q *question) (answer, error)
}

// question is a text that a judge is asked about.
type question struct {
	rule  string
	stage Stage
	text  string
	took  time.Duration
}

func (a *remote) digest(q *question) (d digest) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q ", a.revision, a.rule.id, q.stage)
	sum.Write([]byte(q.text))
	sum.Sum(d[:0])
	return d
}

// judges asks, and remembers what was answered: one text is asked about once by a rule of a revision, however many
// runs ask at the same time. What went wrong is not remembered.
type judges struct {
	ctx     context.Context // until Close
	cancel  context.CancelFunc
	client  *http.Client
	metrics *metrics
	now     func() time.Time

	mu      sync.Mutex
	known   map[digest]kept
	flights map[digest]*flight
	kept    int            // bytes of what is known
	names   map[string]int // rules' questions in flight
	busy    int            // goroutines that Close waits for
	idle    chan struct{}  // closed when there are none any more; nil before the first
}

// kept is an answer that is remembered, and since when.
type kept struct {
	answer
	since time.Time
}

func newJudges(m *metrics, now func() time.Time) *judges {
	j := &judges{client: newClient(), metrics: m, now: now, known: map[digest]kept{}, flights: map[digest]*flight{}, names: map[string]int{}}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	return j
}

// ask returns the judge's answer. It waits no longer than the rule's timeout, or until the context is done: whoever else
// waits for the same goes on waiting, and when nobody does, the question is cancelled.
func (j *judges) ask(ctx context.Context, a *remote, q *question) (answer, error) {
	began := time.Now()
	defer func() { q.took = time.Since(began) }()
	ctx, cancel := context.WithTimeoutCause(ctx, a.rule.ask.timeout, errLate)
	defer cancel()
	late := func() error {
		if errors.Is(context.Cause(ctx), errLate) {
			return unjudgedf("its judge has not answered within %s", a.rule.ask.timeout)
		}
		return context.Cause(ctx)
	}
	d := a.digest(q)
	for ctx.Err() == nil {
		j.mu.Lock()
		if known, ok := j.known[d]; ok && j.now().Sub(known.since) < maxAge {
			j.mu.Unlock()
			return known.answer, nil
		}
		f := j.flights[d]
		if f == nil {
			f = j.fly(a, d, q)
		}
		f.waiting++
		j.mu.Unlock()
		select {
		case <-f.done:
			if !errors.Is(f.err, errLate) { // who joined it late has time left
				return f.answer, f.err
			}
		case <-ctx.Done():
			j.mu.Lock()
			if f.waiting--; f.waiting == 0 {
				j.land(d, f)
			}
			j.mu.Unlock()
		}
	}
	return answer{}, late()
}

// remember keeps an answer, unless it is a long one. When there are too many, all are forgotten. The lock is held.
func (j *judges) remember(d digest, a answer) {
	if before, again := j.known[d]; again {
		delete(j.known, d)
		j.kept -= before.size()
	}
	size := a.size()
	if size > maxKeeps {
		return
	}
	if len(j.known) >= maxAnswers || j.kept+size > maxKept {
		clear(j.known)
		j.kept = 0
	}
	j.known[d] = kept{a, j.now()}
	j.kept += size
}

// careful asks, and makes an error of a panic. What it says may quote the text, so only what the runtime says is kept.
func (a *remote) careful(ctx context.Context, q *question) (said answer, err error) {
	defer func() {
		if r := recover(); r != nil {
			said, err = answer{}, unjudgedf("its judge panicked with a %T", r)
			if e, ok := r.(runtime.Error); ok {
				err = unjudgedf("its judge panicked: %s", e.Error())
			}
		}
	}()
	return a.ask(ctx, q)
}
