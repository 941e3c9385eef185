package gemini

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/inbound"
	"github.com/plughook/plughook/model"
)

const longestWait = time.Minute

type gemini struct {
	models   *genai.Models
	name     string
	attempts int
	backoff  time.Duration
	hide     func(string) string
	keyHint  string // ends the error of a key that is not valid
}

// Named implements model.Named.
func (m *gemini) Named() (provider, name string) { return "gcp.gen_ai", m.name }

// Generate implements model.Model.
func (m *gemini) Generate(ctx context.Context,
	req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		call, err := m.prepare(req)
		if err != nil {
			yield(nil, err)
			return
		}
		for attempt := 1; ; attempt++ {
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			e, err := m.ask(ctx, call, yield)
			if err == nil {
				return
			}
			wait, again := e.again(err, m.wait(attempt))
			if !again || attempt >= m.attempts || !sleep(ctx, wait) {
				if ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				yield(nil, err)
				return
			}
		}
	}
}

// wait is how long to wait after an attempt: twice as long each time, and not the same for
// everybody.
func (m *gemini) wait(attempt int) time.Duration {
	d := m.backoff
	for ; attempt > 1 && d < longestWait; attempt-- {
		d *= 2
	}
	d = min(d, longestWait)
	return d/2 + rand.N(d/2+1)
}

// sleep waits, unless ctx is done before that.
func sleep(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return false // and the caller learns at once why it would have waited
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// ask makes one attempt. It yields responses, and returns an error.
func (m *gemini) ask(ctx context.Context, c *sentRequest,
	yield func(*model.Response, error) bool) (*exchange, error) {
	e := new(exchange)
	watched, decoded := inbound.Hold(context.WithValue(ctx, exchangeKey{}, e))
	defer decoded()
	next, stop := iter.Pull2(m.chunks(watched, c))
	defer stop()
	a := response{hide: m.hide}
	for {
		chunk, err, more := pull(next)
		switch {
		case err != nil:
			return e, m.failure(ctx, e, err)
		case !more && e.broken != nil && !a.finished():
			return e, m.failure(ctx, e, e.broken)
		case !more:
			whole, err := a.whole()
			decoded() // what is done with the whole may take long, and ask a model again
			if err == nil {
				yield(whole, nil)
			}
			return e, err
		}
		partial := a.add(chunk, e)
		if c.stream && partial.Content != nil && !yield(partial, nil) {
			return e, nil
		}
	}
}

// chunks asks the SDK. An answer that is not a stream is one chunk.
func (m *gemini) chunks(ctx context.Context,
	c *sentRequest) iter.Seq2[*genai.GenerateContentResponse, error] {
	config := c.fresh()
	if c.stream {
		return m.models.GenerateContentStream(ctx, c.model, nil, config)
	}
	return func(yield func(*genai.GenerateContentResponse, error) bool) {
		yield(m.models.GenerateContent(ctx, c.model, nil, config))
	}
}

// pull takes the next chunk. The SDK panics on JSON that is not of the shape that it expects.
func pull(next func() (*genai.GenerateContentResponse, error, bool)) (chunk *genai.GenerateContentResponse, err error, more bool) {
	defer func() {
		if recover() != nil {
			chunk = nil
			err = errShape
			more = true
		}
	}()
	return next()
}
