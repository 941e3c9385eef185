package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/panicked"
	"github.com/plughook/plughook/plugins/compaction/internal/plan"
	"github.com/plughook/plughook/session"
)

// A Summarizer writes the prose of a summary. It is called without any lock, for many sessions at once.
type Summarizer interface {
	// Summarize returns what stands in for the events of a request, and for the summary before them. An error
	// changes nothing in the session; after Config.Attempts errors the summary is written offline. The text
	// of the error goes into a log record, so it should quote nothing of the conversation. A Summary beside
	// an error says what was spent; its Text is ignored. If Summarize does not return when ctx is done, the
	// plugin goes on without it.
	Summarize(ctx context.Context, r *Request) (*Summary, error)
}

// A Request is what a Summarizer is asked for.
type Request struct {
	// Prior is the prose of the summary before, "" if there is none. What the new summary leaves out of it is
	// lost to the prompt.
	Prior string
	// Events are the events that are covered now, in order, as they are in the log, after plugins have
	// redacted them. They are shared and must not be changed.
	Events []*session.Event
	// Budget is how many tokens the summary may have, as Count counts them.
	Budget int
	Count  func(text string) int
	// Instructions say what the summary should not leave out, "" if there are none.
	Instructions string
}

// A Summary is what a Summarizer returns.
type Summary struct {
	// Text is the prose. If it is empty or longer than the request's budget, the attempt has failed.
	Text string
	// Usage and Model say what was used, and go into the log; nil and "" if no model was asked.
	Usage *genai.GenerateContentResponseUsageMetadata
	Model string
	// Cost is the cost, in the currency of the prices that it was computed with; 0 if it is not known.
	Cost float64
}

const (
	maxFailures = 3      // after so many failed compactions in a row, a session's Summarizer is asked seldom
	seldom      = 10     // it is then asked for every tenth compaction
	maxFailed   = 10_000 // so many sessions with failures are remembered
)

var errEmpty = errors.New("the summary is empty")

// ask asks the Summarizer, up to Config.Attempts times. The Summary has what all attempts have cost; beside
// an error it has nothing else.
func (k *compactor) ask(ctx context.Context, key session.Key, r *Request) (*Summary, error) {
	k.mu.Lock()
	failures := k.failed[key]
	k.mu.Unlock()

	var spent Summary
	var errs []error
	if failures >= maxFailures && failures%seldom != 0 {
		errs = append(errs, fmt.Errorf("not asked, since it has failed %d times in a row", failures))
	} else {
		for range k.Attempts {
			s, err := k.attempt(ctx, r)
			spent.Usage = addUsage(spent.Usage, s.Usage)
			spent.Cost += s.Cost
			if err == nil {
				k.mu.Lock()
				delete(k.failed, key)
				k.mu.Unlock()
				spent.Text = s.Text
				spent.Model = s.Model
				return &spent, nil
			}
			errs = append(errs, err)
			k.metrics.failures.Add(ctx, 1)
			if ctx.Err() != nil {
				break
			}
		}
	}

	k.mu.Lock()
	if len(k.failed) >= maxFailed {
		clear(k.failed)
	}
	k.failed[key]++
	k.mu.Unlock()
	err := errors.Join(errs...)
	panicked.Log(k.Log, "the summarizer panicked", err, "session", key.String())
	k.Log.WarnContext(ctx, "the summarizer failed; the summary is written offline", "session",
		key.String(), "error", err)
	return &spent, err
}

// patience returns how long the Summarizer may take: Config.Timeout, or three quarters of the time until ctx
// ends, so that there is time left for an offline summary and for appending it.
func (k *compactor) patience(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return k.Timeout
	}
	return min(k.Timeout, time.Until(end)*3/4)
}

// attempt asks the Summarizer once, on a goroutine of its own. If the Summarizer ignores the end of ctx,
// attempt returns without waiting for it. A panic is an error. The Summary is never nil.
func (k *compactor) attempt(ctx context.Context, r *Request) (*Summary, error) {
	type answer struct {
		summary *Summary
		err     error
	}
	answers := make(chan answer, 1)
	own := *r
	own.Events = slices.Clone(r.Events)
	go func() {
		a := answer{err: errors.New("the summarizer has ended its goroutine")}
		defer func() {
			if p := recover(); p != nil { // the value may quote the conversation
				a = answer{err: panicked.WithoutValue(p)}
			}
			answers <- a
		}()
		a.summary, a.err = k.Summarizer.Summarize(ctx, &own)
	}()

	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		return &Summary{}, context.Cause(ctx)
	}
	s := a.summary.cleaned()
	if a.err != nil {
		return s, a.err
	}
	if s.Text == "" {
		return s, errEmpty
	}
	tokens := r.Count(s.Text)
	if tokens > r.Budget {
		return s, fmt.Errorf("the summary has %d tokens; it may have %d", tokens, r.Budget)
	}
	return s, nil
}

// cleaned returns a copy with valid text and cost, whose text is nothing but prose.
func (s *Summary) cleaned() *Summary {
	if s == nil {
		return &Summary{}
	}
	c := &Summary{
		Text:  plan.Prose(strings.TrimSpace(strings.ToValidUTF8(s.Text, "\uFFFD"))),
		Model: strings.ToValidUTF8(s.Model, "\uFFFD"),
		Usage: s.Usage,
	}
	if s.Cost >= 0 && s.Cost < math.Inf(1) { // false for NaN too
		c.Cost = s.Cost
	}
	return c
}

// addUsage returns the sum of what models report, nil if both are nil.
func addUsage(a, b *genai.GenerateContentResponseUsageMetadata) *genai.GenerateContentResponseUsageMetadata {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := *a
	sum.PromptTokenCount += b.PromptTokenCount
	sum.CandidatesTokenCount += b.CandidatesTokenCount
	sum.ThoughtsTokenCount += b.ThoughtsTokenCount
	sum.CachedContentTokenCount += b.CachedContentTokenCount
	sum.TotalTokenCount += b.TotalTokenCount
	return &sum
}
