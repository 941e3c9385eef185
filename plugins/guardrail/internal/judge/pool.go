// Package judge asks services and models about texts, for the rules of a policy that have a judge.
package judge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

const (
	maxAnswers     = 4096      // answers that are remembered
	maxBytes       = 4 << 20   // their size, together
	maxAnswerBytes = 64 << 10  // the size of one; a longer one is not remembered
	maxAge         = time.Hour // of an answer: a judge may learn better
	maxAsking      = 16        // questions that one judge is asked at a time
)

// A Question is a text that a judge is asked about.
type Question struct {
	Stage policy.Stage
	Text  string
}

// An Answer is what a judge says of a text. Spans are the parts that it flags; one that flags the
// whole text has one span.
type Answer struct {
	Flagged bool
	Spans   []policy.Span
	Tokens  int // that a model has used
}

// size is about how many bytes an answer takes in memory.
func (a *Answer) size() int {
	n := 128
	for _, s := range a.Spans {
		n += 40 + len(s.Type)
	}
	return n
}

// NoAnswer says why a judge has not answered. It quotes nothing of what was asked or answered.
type NoAnswer string

// Error implements error.
func (n NoAnswer) Error() string { return string(n) }

func noAnswerf(format string, args ...any) error { return NoAnswer(fmt.Sprintf(format, args...)) }

// Metrics are the instruments that judges count with.
type Metrics struct {
	Duration metric.Float64Histogram // seconds a question, by rule and answer: clean, flagged or error
	Tokens   metric.Int64Counter     // that models have used, by rule
}

// A Pool has the judges of a plugin. It remembers their answers: a text is asked about once by each
// rule of a revision, however many events ask at the same time. Failures are not remembered.
type Pool struct {
	life    context.Context // until Close
	cancel  context.CancelFunc
	client  *http.Client
	metrics Metrics
	now     func() time.Time

	mu         sync.Mutex
	known      map[digest]known
	knownBytes int
	flights    map[digest]*flight
	asking     map[string]int // questions that are being asked, by rule
	busy       int            // goroutines that Close waits for
	idle       chan struct{}  // closed when there are none any more; nil before the first
}

// known is an answer that is remembered, and since when.
type known struct {
	Answer
	since time.Time
}

type digest [sha256.Size]byte

// NewPool returns a pool without judges. By now answers grow old. It has to be closed.
func NewPool(m Metrics, now func() time.Time) *Pool {
	p := &Pool{
		client:  newClient(),
		metrics: m,
		now:     now,
		known:   map[digest]known{},
		flights: map[digest]*flight{},
		asking:  map[string]int{},
	}
	p.life, p.cancel = context.WithCancel(context.Background())
	return p
}

// A Judge asks the judge of one rule.
type Judge struct {
	pool  *Pool
	spec  policy.Judge
	slots chan struct{}
	// ask returns an answer that was checked.
	ask func(ctx context.Context, q *Question) (Answer, error)
}

// Open returns a rule's judge. models opens the model of a judge that is one; nil if there are none
// here.
func (p *Pool) Open(spec policy.Judge,
	models func(name string) (model.Model, error)) (*Judge, error) {
	j := &Judge{pool: p, spec: spec, slots: make(chan struct{}, maxAsking)}
	switch {
	case spec.URL != "":
		ask, err := p.service(&spec)
		if err != nil {
			return nil, err
		}
		j.ask = ask
	case models == nil:
		return nil, errors.New("its judge is a model, and none can be opened here: the Config has no Models")
	default:
		m, err := models(spec.Model)
		if err != nil {
			return nil, err
		}
		j.ask = p.byModel(&spec, m)
	}
	return j, nil
}

// Context is done once the pool is closed.
func (p *Pool) Context() context.Context { return p.life }

// Ask returns the judge's answer, or a NoAnswer that says why there is none. It waits no longer
// than the rule's timeout, or until the context is done. Others who wait for the same answer go on
// waiting; when nobody does, the question is cancelled.
func (j *Judge) Ask(ctx context.Context, q *Question) (Answer, error) {
	p := j.pool
	ctx, cancel := context.WithTimeoutCause(ctx, j.spec.Timeout, errLate)
	defer cancel()
	d := j.digest(q)
	for ctx.Err() == nil {
		// Is the answer known, or on its way?
		p.mu.Lock()
		k, ok := p.known[d]
		if ok && p.now().Sub(k.since) < maxAge {
			p.mu.Unlock()
			return k.Answer, nil
		}
		f := p.flights[d]
		if f == nil {
			f = p.fly(j, d, q)
		}
		f.waiting++
		p.mu.Unlock()

		select {
		case <-f.done:
			// A question that others asked earlier may have run out of their time, and not of ours:
			// ask again.
			if !errors.Is(f.err, errLate) {
				return f.answer, f.err
			}
		case <-ctx.Done():
			p.mu.Lock()
			f.waiting--
			if f.waiting == 0 {
				p.forget(d, f)
			}
			p.mu.Unlock()
		}
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, errLate) {
		return Answer{}, noAnswerf("its judge has not answered within %s", j.spec.Timeout)
	}
	return Answer{}, cause
}

func (j *Judge) digest(q *Question) (d digest) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q ", j.spec.Revision, j.spec.Rule, q.Stage)
	sum.Write([]byte(q.Text))
	sum.Sum(d[:0])
	return d
}

// checked asks, and makes an error of a panic. A panic's value may quote the text, so that only
// what Go's runtime says is kept.
func (j *Judge) checked(ctx context.Context, q *Question) (a Answer, err error) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		a = Answer{}
		err = noAnswerf("its judge panicked with a %T", r)
		if known, ok := r.(runtime.Error); ok {
			err = noAnswerf("its judge panicked: %s", known.Error())
		}
	}()
	return j.ask(ctx, q)
}

// remember keeps an answer, unless it is a long one. If there are too many, all of them are
// forgotten first. The lock is held.
func (p *Pool) remember(d digest, a Answer) {
	before, again := p.known[d]
	if again {
		delete(p.known, d)
		p.knownBytes -= before.size()
	}
	size := a.size()
	if size > maxAnswerBytes {
		return
	}
	if len(p.known) >= maxAnswers || p.knownBytes+size > maxBytes {
		clear(p.known)
		p.knownBytes = 0
	}
	p.known[d] = known{Answer: a, since: p.now()}
	p.knownBytes += size
}

// Go runs f on a goroutine that Close waits for.
func (p *Pool) Go(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start(f)
}

// start is Go. The lock is held.
func (p *Pool) start(f func()) {
	p.busy++
	if p.busy == 1 {
		p.idle = make(chan struct{})
	}
	go func() {
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.busy--
			if p.busy == 0 {
				close(p.idle)
			}
		}()
		f()
	}()
}

// Close waits until all questions are answered, those of rules in shadow too, or until the context
// is done. Then it cancels the rest, and returns an error that names their rules.
func (p *Pool) Close(ctx context.Context) error {
	defer p.client.CloseIdleConnections()
	defer p.cancel()
	p.mu.Lock()
	busy := p.busy > 0
	idle := p.idle
	p.mu.Unlock()
	if !busy {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rules := slices.Sorted(maps.Keys(p.asking))
	return fmt.Errorf("guardrail: the judges of these rules have not come back in time: %s",
		strings.Join(rules, ", "))
}
