package guardrail

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/plughook/plughook/plugins/guardrail/internal/judge"
	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// newPendingJudges returns no questions. The questions are cancelled when the context is done. end
// has to be called.
func newPendingJudges(ctx context.Context,
	decides func(*evaluatedText, *question) bool) *pendingJudges {
	p := &pendingJudges{decides: decides, came: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p
}

// ask asks the open questions about a text. What one model is asked about the same is one request.
func (p *pendingJudges) ask(t *evaluatedText) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.texts = append(p.texts, t)
	for _, together := range requests(t.open) {
		judges := make([]*judge.Judge, len(together))
		for i, q := range together {
			judges[i] = q.judge
		}
		for i, waiting := range judge.Ask(judges, together[0].Question) {
			q := together[i]
			p.missing++
			var ctx context.Context
			ctx, q.cancel = context.WithCancel(p.ctx)
			p.goroutines.Go(func() {
				defer q.cancel()
				began := time.Now()
				answer, err := waiting.Answer(ctx)
				p.keep(t, q, answer, err, time.Since(began))
			})
		}
	}
}

// requests divides questions into those that can be asked in one request: of one model, about the
// same.
func requests(questions []*question) (list [][]*question) {
	for _, q := range questions {
		i := slices.IndexFunc(list, func(other []*question) bool {
			first := other[0]
			return q.spec.Model != "" && q.spec.Model == first.spec.Model && q.Question == first.Question
		})
		if i < 0 {
			list = append(list, []*question{q})
		} else {
			list[i] = append(list[i], q)
		}
	}
	return list
}

// keep keeps what came of a question. That it was cancelled is no answer.
func (p *pendingJudges) keep(t *evaluatedText, q *question, answer judge.Answer, err error,
	took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, final := errors.AsType[judging.NoAnswer](err)
	cancelled := p.ctx.Err() != nil && err != nil && !final
	if p.over || cancelled {
		return
	}
	p.missing--
	if !q.dropped {
		q.answered = true
		q.answer = answer
		q.err = err
		q.took = took
		if p.decides != nil && p.decides(t, q) {
			p.decided = true
		}
	}
	if p.settled() {
		close(p.came)
		p.came = make(chan struct{})
	}
}

// settled reports whether there is nothing to wait for. The lock is held.
func (p *pendingJudges) settled() bool { return p.missing == 0 || p.decided || p.over }

// wait waits until there is nothing to wait for, once everything was asked, or until the context is
// done.
func (p *pendingJudges) wait(ctx context.Context) error {
	for {
		p.mu.Lock()
		settled := p.settled()
		came := p.came
		p.mu.Unlock()
		if settled {
			return nil
		}
		select {
		case <-came:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.ctx.Done():
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.settled() {
				return nil
			}
			return context.Cause(p.ctx)
		}
	}
}

// end keeps no more answers, cancels what is asked, and waits for its goroutines. It may be called
// on nil, and again.
func (p *pendingJudges) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.cancel()
	p.goroutines.Wait()
}

// dropBlocked cancels the questions about items that other rules block. It reports whether the run
// ends for one of them, so that no answer is needed.
func (p *pendingJudges) dropBlocked(items []*evaluatedItem) (all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	blocked := map[*evaluatedItem]bool{}
	for _, it := range items {
		blocked[it] = it.verdict.Action == policy.Block
	}
	for _, t := range p.texts {
		if t.verdict.Action == policy.Block {
			blocked[t.item] = true
		}
	}
	for it, is := range blocked {
		all = all || is && it.mayEndRun()
	}
	for _, t := range p.texts {
		for _, q := range t.open {
			q.dropped = all || blocked[t.item]
			if q.dropped {
				q.cancel()
			}
		}
	}
	return all
}
