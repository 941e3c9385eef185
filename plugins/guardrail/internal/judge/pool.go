// Package judge asks services and models about texts, for the rules of a policy that have a judge.
//
// To ask something else than a service or a model, write a function of type ask, as service.go and model.go
// have one, and choose it in Pool.Open.
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
	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/prices"
)

const (
	maxAnswers     = 4096      // answers that are remembered
	maxBytes       = 4 << 20   // their size, together
	maxAnswerBytes = 64 << 10  // the size of one; a longer one is not remembered
	maxAge         = time.Hour // of an answer: a judge may learn better
	maxAsking      = 16        // questions that one judge is asked at a time
)

// A Question is a text that judges are asked about.
type Question struct {
	Stage policy.Stage
	Text  string
	// User is whose share of the budget the answer costs; "" for nobody's.
	User string `json:"-"`
	// Grounds is what tools have answered in the run, for judges that ask whether the text follows
	// from it; "" for the others. Cut says that some of it is left out for its size.
	Grounds string
	Cut     bool
}

// An Answer is what a judge says of a text.
type Answer struct {
	judging.Answer
	// Raw is the answer as it came: what judging.Judge.Read takes. It is "" if the answer was
	// remembered.
	Raw string
	// Tokens is how many tokens a model has used for it, and USD what they cost, if that is known. An
	// answer that was remembered has used none.
	Tokens int
	USD    float64
	Priced bool
}

// size is about how many bytes an answer takes in memory.
func (a *Answer) size() int {
	n := 128
	for _, s := range a.Spans {
		n += 40 + len(s.Type)
	}
	return n
}

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
	price   func(model string) (prices.Price, bool)
	purse   purse

	mu         sync.Mutex
	lanes      map[lane]chan struct{}
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

// A lane has slots for so many questions at a time: to a model, or to the service of a rule. Rules in
// shadow, for which nobody waits, have lanes of their own.
type lane struct {
	model, rule string
	shadow      bool
}

// NewPool returns a pool without judges. By now answers grow old; price is what a model costs in USD, by
// the name that rules have for it or the one that it reports. The pool has to be closed.
func NewPool(m Metrics, now func() time.Time, price func(string) (prices.Price, bool)) *Pool {
	p := &Pool{
		client:  newClient(),
		metrics: m,
		now:     now,
		price:   price,
		known:   map[digest]known{},
		flights: map[digest]*flight{},
		asking:  map[string]int{},
		lanes:   map[lane]chan struct{}{},
	}
	p.life, p.cancel = context.WithCancel(context.Background())
	return p
}

// A Judge asks the judge of one rule.
type Judge struct {
	pool  *Pool
	spec  judging.Judge
	slots chan struct{}
	ask   ask
}

// An ask asks judges about a text, several only if they are one model. It returns a result for each.
type ask func(ctx context.Context, judges []*Judge, q *Question) []result

// result is an answer, or why there is none. Of an answer that is none, the tokens still count.
type result struct {
	Answer
	err error
}

// Open returns a rule's judge. models opens the model of a judge that is one; nil if there are none
// here.
func (p *Pool) Open(spec judging.Judge,
	models func(name string) (model.Model, error)) (*Judge, error) {
	j := &Judge{pool: p, spec: spec}
	at := lane{model: spec.Model, shadow: spec.Shadow}
	switch {
	case spec.URL != "":
		ask, err := p.service(&spec)
		if err != nil {
			return nil, err
		}
		j.ask = ask
		at.rule = spec.Rule
	case models == nil:
		return nil, errors.New("its judge is a model, and none can be opened here: the Config has no Models")
	default:
		m, err := models(spec.Model)
		if err != nil {
			return nil, err
		}
		j.ask = p.byModel(m)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lanes[at] == nil {
		p.lanes[at] = make(chan struct{}, maxAsking)
	}
	j.slots = p.lanes[at]
	return j, nil
}

// Context is done once the pool is closed.
func (p *Pool) Context() context.Context { return p.life }

// A Waiting is a question to one judge that somebody waits for. Answer has to be called on it once.
type Waiting struct {
	judge    *Judge
	question Question
	deadline time.Time // by the rule's timeout
	flight   *flight
	known    Answer // if flight is nil
}

// Ask begins to ask judges about a text, and returns at once. Those whose answer is remembered, or on
// its way, are not asked again; the others are asked in one request, which only judges of one model
// can be.
func Ask(judges []*Judge, q Question) []*Waiting {
	p := judges[0].pool
	p.mu.Lock()
	defer p.mu.Unlock()
	began := time.Now()
	var list []*Waiting
	var unasked []*flight
	for _, j := range judges {
		w := &Waiting{judge: j, question: q, deadline: began.Add(j.spec.Timeout)}
		list = append(list, w)
		d := j.digest(&q)
		k, ok := p.known[d]
		if ok && p.now().Sub(k.since) < maxAge {
			w.known = k.Answer
			continue
		}
		w.flight = p.flights[d]
		if w.flight == nil {
			w.flight = newFlight(j, d)
			p.flights[d] = w.flight
			unasked = append(unasked, w.flight)
		}
		w.flight.waiting++
	}
	if len(unasked) > 0 {
		p.fly(unasked, q, began)
	}
	return list
}

// Answer returns the judge's answer, or a judging.NoAnswer that says why there is none. It waits no
// longer than the rule's timeout, or until the context is done. Others who wait for the same answer go
// on waiting; when nobody waits for any answer to a request, the request is cancelled.
func (w *Waiting) Answer(ctx context.Context) (Answer, error) {
	p := w.judge.pool
	ctx, cancel := context.WithDeadlineCause(ctx, w.deadline, errLate)
	defer cancel()
	for w.flight != nil {
		select {
		case <-w.flight.done:
			// A question that others asked earlier may have run out of their time, and not of ours:
			// ask again.
			if errors.Is(w.flight.err, errLate) && w.deadline.After(w.flight.request.deadline) {
				again := Ask([]*Judge{w.judge}, w.question)[0]
				again.deadline = w.deadline
				w = again
				continue
			}
			return w.flight.Answer, w.because(w.flight.err)
		case <-ctx.Done():
			p.mu.Lock()
			defer p.mu.Unlock()
			w.flight.waiting--
			if w.flight.waiting == 0 {
				p.forget(w.flight)
			}
			return Answer{}, w.because(context.Cause(ctx))
		}
	}
	return w.known, nil
}

// because says of a judge that is late that it is.
func (w *Waiting) because(err error) error {
	if errors.Is(err, errLate) {
		return judging.Unanswered("its judge has not answered within %s", w.judge.spec.Timeout)
	}
	return err
}

func (j *Judge) digest(q *Question) (d digest) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q %t ", j.spec.Revision, j.spec.Rule, q.Stage, q.Grounds, q.Cut)
	sum.Write([]byte(q.Text))
	sum.Sum(d[:0])
	return d
}

// checked asks, and makes errors of a panic. A panic's value may quote the text, so that only what
// Go's runtime says is kept.
func checked(ctx context.Context, judges []*Judge, q *Question) (results []result) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		err := judging.Unanswered("its judge panicked with a %T", r)
		if known, ok := r.(runtime.Error); ok {
			err = judging.Unanswered("its judge panicked: %s", known.Error())
		}
		results = none(judges, err)
	}()
	return judges[0].ask(ctx, judges, q)
}

// none returns why there is no answer, for each judge.
func none(judges []*Judge, why error) []result {
	return slices.Repeat([]result{{err: why}}, len(judges))
}

// remember keeps what was answered, unless it is long. If there are too many answers, all of them are
// forgotten first. The lock is held.
func (p *Pool) remember(d digest, a Answer) {
	before, again := p.known[d]
	if again {
		delete(p.known, d)
		p.knownBytes -= before.size()
	}
	a = Answer{Answer: a.Answer} // whoever gets it again has used nothing
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
