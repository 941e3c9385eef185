package runner

import (
	"context"
	"fmt"
	"sync"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// An observer may be behind by so many calls on one session, and by so many bytes of events.
const (
	queueLimit = 4096
	queueBytes = 64 << 20
)

// observerQueues calls observers on goroutines of their own, one for each observer and session that has
// calls waiting, so that each observer sees a session's events in order.
type observerQueues struct {
	mu     sync.Mutex
	queues map[queueKey]*observerQueue
}

type queueKey struct {
	plugin  int
	session session.Key
}

// observerQueue has an observer's calls on one session, the next one first. observerQueues.mu guards it.
type observerQueue struct {
	waiting []observation
	bytes   int // of waiting
	missed  int // calls that were dropped since the last one
}

// An observation is one call of an observer's hook.
type observation struct {
	key    queueKey
	name   string // of the observer
	bytes  int    // what the event at hand holds, about
	always bool   // it is not dropped, however far the observer is behind
	call   func(missed int)
}

// observation prepares a call of observer number i. The caller passes copies in args: they are the
// observer's own. The invocation is that of now.
func (x *run) observation(ctx context.Context, i int, hook plugin.Hook, args hookArgs) observation {
	p := x.opt.Plugins[i]
	inv := *x.invocation()
	o := &run{Runner: x.Runner, id: x.id, key: x.key}
	o.take(&inv)
	call := func(missed int) {
		ctx, cancel := x.tasks.detachFor(ctx, x.opt.BackgroundTimeout)
		defer cancel()
		out, err := o.call(ctx, i, hook, args)
		out.Reason = ""
		if err == nil && !out.IsZero() {
			err = &plugin.Error{Plugin: p.Name, Hook: hook, Err: fmt.Errorf("%w: an observer asks nothing", plugin.ErrOutcome)}
		}
		if err != nil {
			x.opt.Log.Warn("observer failed", "plugin", p.Name, "hook", hook, "session", o.key, "invocation", o.id, "error", err)
		}
		if missed > 0 {
			x.opt.Log.Warn("observer fell behind", "plugin", p.Name, "session", o.key, "invocation", o.id, "missed", missed)
		}
	}
	return observation{
		key:    queueKey{plugin: i, session: x.key},
		name:   p.Name,
		bytes:  weight(args.event),
		always: hook == plugin.AfterRun,
		call:   call,
	}
}

// add queues a call behind those before it. If too many wait, or hold too much, the call is dropped,
// and the next one is told how many were.
func (q *observerQueues) add(t *tasks, o observation) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queues == nil {
		q.queues = map[queueKey]*observerQueue{}
	}
	queue := q.queues[o.key]
	if queue == nil {
		queue = &observerQueue{}
		q.queues[o.key] = queue
		task := "observer " + o.name
		t.BeginPart(task)
		defer func() { go q.drain(o.key, queue, func() { t.End(task) }) }()
	}
	full := len(queue.waiting) >= queueLimit || len(queue.waiting) > 0 && queue.bytes+o.bytes > queueBytes
	if full && !o.always {
		queue.missed++
		return
	}
	queue.waiting = append(queue.waiting, o)
	queue.bytes += o.bytes
}

// drain makes the calls of one queue until none waits.
func (q *observerQueues) drain(key queueKey, queue *observerQueue, done func()) {
	ended := false
	defer func() {
		if !ended { // an observer has ended this goroutine: the others are called on another one
			go q.drain(key, queue, done)
		}
	}()
	for {
		q.mu.Lock()
		if len(queue.waiting) == 0 {
			delete(q.queues, key)
			q.mu.Unlock()
			ended = true
			done()
			return
		}
		next := queue.waiting[0]
		missed := queue.missed
		queue.waiting[0] = observation{} // or the slice would hold it
		queue.waiting = queue.waiting[1:]
		queue.bytes -= next.bytes
		queue.missed = 0
		q.mu.Unlock()
		next.call(missed)
	}
}

// weight returns about how many bytes an event's words and media have.
func weight(e *session.Event) int {
	if e == nil {
		return 0
	}
	n := wordsOf(e.Actions.StateDelta, 0) + wordsOf(e.Output, 0)
	for _, p := range partsOf(e) {
		if p == nil {
			continue
		}
		n += len(p.Text)
		if p.InlineData != nil {
			n += len(p.InlineData.Data)
		}
		if p.FunctionCall != nil {
			n += wordsOf(p.FunctionCall.Args, 0)
		}
		if p.FunctionResponse == nil {
			continue
		}
		n += wordsOf(p.FunctionResponse.Response, 0)
		for _, m := range p.FunctionResponse.Parts {
			if m != nil && m.InlineData != nil {
				n += len(m.InlineData.Data)
			}
		}
	}
	return n
}

// wordsOf counts the bytes of the strings in a JSON value, six levels down: what is deeper is little.
func wordsOf(v any, depth int) (n int) {
	if depth > 6 {
		return 0
	}
	switch v := v.(type) {
	case string:
		return len(v)
	case map[string]any:
		for _, v := range v {
			n += wordsOf(v, depth+1)
		}
	case []any:
		for _, v := range v {
			n += wordsOf(v, depth+1)
		}
	}
	return n
}
