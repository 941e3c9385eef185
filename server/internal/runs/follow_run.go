package runs

import (
	"context"
	"io"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A RunFollower is a Follower of a run of this process. It never holds the run up: what it has not read yet
// waits in the run.
type RunFollower struct {
	run   *Run
	after int64 // events up to this position are not wanted
	next  int   // in run.items
	wake  chan struct{}
}

// Next returns the run's next event, in the order of the log; partial events of one answer that came since
// the last call are one. It waits for it, but not longer than idle: then it returns nil without an error, so
// that the caller can show that the connection lives. After the last event it returns io.EOF. It returns the
// context's cause when that is done.
func (f *RunFollower) Next(ctx context.Context, idle time.Duration) (*session.Event, error) {
	e, err := f.ready()
	if e != nil || err != nil || idle == 0 {
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
func (f *RunFollower) ready() (*session.Event, error) {
	pieces, err := f.take()
	if len(pieces) == 0 || err != nil {
		return nil, err
	}
	return joined(pieces), nil // without the run's lock: the run does not wait for it
}

// take returns the next event of the log, or the partial events of one answer that are there and follow each
// other.
func (f *RunFollower) take() (pieces []*session.Event, err error) {
	f.run.mu.Lock()
	defer f.run.mu.Unlock()
	for ; f.next < len(f.run.items); f.next++ {
		e := f.run.items[f.next]
		switch {
		case e == nil, !e.Partial && e.Seq <= f.after:
			continue
		case len(pieces) > 0 && (!e.Partial || e.ID != pieces[0].ID):
			return pieces, nil
		case !e.Partial:
			f.after = e.Seq
			f.next++
			return []*session.Event{e}, nil
		}
		pieces = append(pieces, e)
	}
	if f.run.ended && len(pieces) == 0 {
		return nil, io.EOF
	}
	return pieces, nil
}

// Close ends the reading.
func (f *RunFollower) Close() { f.run.leave(f) }

// joined returns a partial event that says what several say that follow each other.
func joined(pieces []*session.Event) *session.Event {
	last := pieces[len(pieces)-1]
	if len(pieces) == 1 {
		return last
	}
	var content *genai.Content
	var parts []*genai.Part
	var text strings.Builder // of parts that are one
	var first *genai.Part    // of those parts, nil if there are none
	flush := func() {
		if first != nil {
			parts = append(parts, &genai.Part{Text: text.String(), Thought: first.Thought})
		}
		first = nil
		text.Reset()
	}
	for _, e := range pieces {
		if e.Content == nil {
			continue
		}
		content = e.Content
		for _, p := range e.Content.Parts {
			if !isText(p) {
				flush()
				parts = append(parts, p)
				continue
			}
			if first != nil && first.Thought != p.Thought {
				flush()
			}
			if first == nil {
				first = p
			}
			text.WriteString(p.Text)
		}
	}
	flush()
	c := *last
	if content != nil {
		all := *content
		all.Parts = parts
		c.Content = &all
	}
	return &c
}

// isText reports whether a part has nothing but text.
func isText(p *genai.Part) bool {
	return p != nil && p.Text != "" && p.FunctionCall == nil && p.FunctionResponse == nil && p.InlineData == nil &&
		p.FileData == nil &&
		p.ThoughtSignature == nil
}
