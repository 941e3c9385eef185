package compaction

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// ask asks the Summarizer, as often as Config.Attempts says; once it has failed three compactions of a session in
// a row, only every tenth time, until it succeeds. The Summary says what all attempts have cost, and nothing else
// beside an error.
func (k *keeper) ask(ctx context.Context, key session.Key, r *Request) (*Summary, error) {
	k.mu.Lock()
	failed := k.failed[key]
	k.mu.Unlock()
	var (
		errs  []error
		spent Summary
	)
	if failed < 3 || failed%10 == 0 {
		for range k.Attempts {
			s, err := k.once(ctx, r)
			spent.Usage, spent.Cost = added(spent.Usage, s.Usage), spent.Cost+s.Cost
			if err == nil {
				k.mu.Lock()
				delete(k.failed, key)
				k.mu.Unlock()
				spent.Text, spent.Model = s.Text, s.Model
				return &spent, nil
			}
			errs = append(errs, err)
			k.metrics.failures.Add(ctx, 1)
			if ctx.Err() != nil {
				break
			}
		}
	} else {
		errs = append(errs, fmt.Errorf("it has failed %d times in a row", failed))
	}
	k.mu.Lock()
	if len(k.failed) >= 10_000 { // of sessions that are gone
		clear(k.failed)
	}
	k.failed[key]++
	k.mu.Unlock()
	err := errors.Join(errs...)
	k.Log.WarnContext(ctx, "the summarizer failed; the summary is made offline", "session", key.String(), "error", err)
	return &spent, err
}

// patience is how long the Summarizer may take: what is made in its place needs time too, and so does the append.
func (k *keeper) patience(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(k.Timeout, time.Until(end)*3/4)
	}
	return k.Timeout
}

// once asks the Summarizer once, on a goroutine of its own, which is left behind if it does not heed ctx. A panic is
// an error. The Summary is never nil.
func (k *keeper) once(ctx context.Context, r *Request) (*Summary, error) {
	type answer struct {
		s   *Summary
		err error
	}
	answered := make(chan answer, 1)
	own := *r
	own.Events = slices.Clone(r.Events)
	go func() {
		a := answer{err: errGone}
		defer func() {
			if recover() != nil { // what it panics with may be anything, the conversation too
				a = answer{err: plugin.ErrPanic}
			}
			answered <- a
		}()
		a.s, a.err = k.Summarizer.Summarize(ctx, &own)
	}()
	var a answer
	select {
	case a = <-answered:
	case <-ctx.Done():
		return &Summary{}, context.Cause(ctx)
	}
	s := a.s.cleaned()
	switch {
	case a.err != nil:
		return s, a.err
	case s.Text == "":
		return s, errEmpty
	}
	if n := r.Count(s.Text); n > r.Budget {
		return s, fmt.Errorf("the summary has %d tokens, and it may have %d", n, r.Budget)
	}
	return s, nil
}

// cleaned returns a copy that an event can have in it, whoever made it.
func (s *Summary) cleaned() *Summary {
	if s == nil {
		return &Summary{}
	}
	c := &Summary{Text: strings.TrimSpace(strings.ToValidUTF8(s.Text, "\uFFFD")), Model: strings.ToValidUTF8(s.Model, "\uFFFD"), Usage: s.Usage, Cost: s.Cost}
	if !(c.Cost >= 0 && c.Cost < math.Inf(1)) { // nor not a number
		c.Cost = 0
	}
	return c
}

var errGone = errors.New("the summarizer has ended its goroutine")
