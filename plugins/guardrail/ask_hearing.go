package guardrail

import (
	"context"
	"errors"
	"sync"
)

// hearing is the questions about one event. They are asked at once, while the walk goes on. Each answer is kept as it
// comes, whoever waits for it and for how long.
type hearing struct {
	ctx    context.Context
	cancel context.CancelFunc
	judges *judges
	work   sync.WaitGroup
	ends   func(*judgedText, *open) bool // reports whether the rest says nothing new after an answer; nil if it does

	mu      sync.Mutex
	texts   []*judgedText
	missing int           // answers
	decided bool          // by an answer that ends it
	over    bool          // no answer is kept any more
	came    chan struct{} // closed when an answer comes after which nobody needs to wait
}

// hearing returns a hearing that ends with the context, and has to be ended.
func (g *guard) hearing(ctx context.Context, ends func(*judgedText, *open) bool) *hearing {
	a := &hearing{judges: g.judges, ends: ends, came: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancel(ctx)
	return a
}

// put asks about a text, on goroutines that end waits for.
func (a *hearing) put(t *judgedText) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.texts = append(a.texts, t)
	for _, o := range t.open {
		a.missing++
		var ctx context.Context
		ctx, o.cancel = context.WithCancel(a.ctx)
		a.work.Go(func() {
			defer o.cancel()
			said, err := a.judges.ask(ctx, o.remote, &o.question)
			a.keep(t, o, said, err)
		})
	}
}

// keep keeps what came of a question. That it was cancelled is no answer.
func (a *hearing) keep(t *judgedText, o *open, said answer, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, judged := errors.AsType[unjudged](err)
	if a.over || a.ctx.Err() != nil && err != nil && !judged {
		return
	}
	a.missing--
	if !o.dropped {
		o.answered, o.answer, o.err = true, said, err
		a.decided = a.decided || a.ends != nil && a.ends(t, o)
	}
	if a.settled() {
		close(a.came)
		a.came = make(chan struct{})
	}
}

// settled reports whether there is nothing to wait for. The lock is held.
func (a *hearing) settled() bool { return a.missing == 0 || a.decided || a.over }

// wait is called once all has been put. It waits until all is answered, or there is an answer after which the rest says
// nothing new, or the hearing is over; or until the context is done. Several may wait.
func (a *hearing) wait(ctx context.Context) error {
	for {
		a.mu.Lock()
		settled, came := a.settled(), a.came
		a.mu.Unlock()
		if settled {
			return nil
		}
		select {
		case <-came:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-a.ctx.Done():
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.settled() {
				return nil
			}
			return context.Cause(a.ctx)
		}
	}
}

// end keeps no more answers, cancels what is asked, and waits for its goroutines; nil has none.
func (a *hearing) end() {
	if a == nil {
		return
	}
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	a.cancel()
	a.work.Wait()
}

// drop cancels the questions about items that are blocked without them, and reports whether those are all, because the
// run ends.
func (a *hearing) drop(items []*judgedItem) (all bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	blocked := map[*judgedItem]bool{}
	for _, it := range items {
		blocked[it] = it.verdict.Action == Block
	}
	for _, t := range a.texts {
		blocked[t.item] = blocked[t.item] || t.verdict.Action == Block
	}
	for it, is := range blocked {
		all = all || is && it.mayEnd()
	}
	for _, t := range a.texts {
		for _, o := range t.open {
			if o.dropped = all || blocked[t.item]; o.dropped {
				o.cancel()
			}
		}
	}
	return all
}
