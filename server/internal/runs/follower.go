package runs

import (
	"context"
	"io"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A Follower reads the events of a run, from one goroutine. It never holds the run up: what it has not read
// yet waits in the run.
type Follower struct {
	run   *Run
	after int64 // events up to this position are not wanted
	next  int   // in run.items
	wake  chan struct{}
}

// Next returns the run's next event, in the order of the log; partial events of one answer that came since
// the last call are one. It waits for it, but not longer than idle: then it returns nil without an error, so
// that the caller can show that the connection lives. After the last event it returns io.EOF. It returns the
// context's cause when that is done.
func (f *Follower) Next(ctx context.Context, idle time.Duration) (*session.Event, error) {
	e, err := f.ready()
	if e != nil || err != nil {
		return e, err
	}
	quiet := time.NewTimer(idle)
	defer quiet.Stop()
	for {
		select {
		case <-f.wake:
		case <-quiet.C:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if e, err := f.ready(); e != nil || err != nil {
			return e, err
		}
	}
}

// ready returns what is there already: nil and no error if that is nothing.
func (f *Follower) ready() (*session.Event, error) {
	f.run.mu.Lock()
	defer f.run.mu.Unlock()
	for f.next < len(f.run.items) {
		e := f.run.items[f.next]
		f.next++
		switch {
		case e == nil, !e.Partial && e.Seq <= f.after:
			continue
		case !e.Partial:
			f.after = e.Seq
			return e, nil
		}
		// Partial events that follow each other are put together.
		for f.next < len(f.run.items) {
			more := f.run.items[f.next]
			if more != nil && (!more.Partial || more.ID != e.ID) {
				break
			}
			if more != nil {
				e = joined(e, more)
			}
			f.next++
		}
		return e, nil
	}
	if f.run.ended {
		return nil, io.EOF
	}
	return nil, nil
}

// Close ends the reading.
func (f *Follower) Close() { f.run.leave(f) }

// joined returns a partial event that says what two that follow each other say.
func joined(a, b *session.Event) *session.Event {
	c := *b
	if a.Content == nil || b.Content == nil {
		if b.Content == nil {
			c.Content = a.Content
		}
		return &c
	}
	content := *b.Content
	content.Parts = append([]*genai.Part{}, a.Content.Parts...)
	for _, p := range b.Content.Parts {
		last := len(content.Parts) - 1
		if last >= 0 && isText(p) && isText(content.Parts[last]) && p.Thought == content.Parts[last].Thought {
			var text strings.Builder
			text.WriteString(content.Parts[last].Text)
			text.WriteString(p.Text)
			content.Parts[last] = &genai.Part{Text: text.String(), Thought: p.Thought}
			continue
		}
		content.Parts = append(content.Parts, p)
	}
	c.Content = &content
	return &c
}

// isText reports whether a part has nothing but text.
func isText(p *genai.Part) bool {
	return p != nil && p.Text != "" && p.FunctionCall == nil && p.FunctionResponse == nil && p.InlineData == nil &&
		p.FileData == nil && p.ThoughtSignature == nil
}
