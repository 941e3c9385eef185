package runner

import (
	"context"
	"fmt"
	"sync"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner/internal/lent"
	"github.com/plughook/plughook/session"
)

// queueLimit is how many calls of one observer may wait for it on one session, and queueBytes how large their
// events may be together. Beyond that, calls are dropped.
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
	bytes   int64 // of waiting
	missed  int   // calls that were dropped since the last one
}

// An observation is one call of an observer's hook.
type observation struct {
	key    queueKey
	name   string // of the observer
	bytes  int64  // about what the event at hand takes
	always bool   // it is not dropped, however far the observer is behind
	notify func(missed int)
}

// observation prepares a call of observer number i. The caller passes copies in args: they are the
// observer's own. The invocation is that of now.
func (x *run) observation(ctx context.Context, i int, args plugin.Args) observation {
	p := x.opt.Plugins[i]
	inv := *x.invocation()
	inv.Folded = nil // the next run may change what is kept
	o := &run{Runner: x.Runner, id: x.id, key: x.key}
	o.snapshot.Lend(&inv)
	call := func(missed int) {
		ctx, cancel := x.tasks.detachFor(ctx, x.opt.BackgroundTimeout)
		defer cancel()
		out, err := o.call(ctx, i, args, 0)
		out.Reason = ""
		if err == nil && !out.IsZero() {
			err = &plugin.Error{Plugin: p.Name, Hook: args.Hook, Err: fmt.Errorf("%w: an observer asks nothing", plugin.ErrOutcome)}
		}
		if err != nil {
			x.opt.Log.Warn("observer failed", "plugin", p.Name, "hook", args.Hook, "session", o.key, "invocation", o.id, "error", err)
		}
		if missed > 0 {
			x.opt.Log.Warn("observer fell behind", "plugin", p.Name, "session", o.key, "invocation", o.id, "missed", missed)
		}
	}
	next := observation{
		key:    queueKey{plugin: i, session: x.key},
		name:   p.Name,
		always: args.Hook == plugin.AfterRun,
		notify: call,
	}
	if args.Event != nil {
		next.bytes = lent.Size(args.Event)
	}
	return next
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
		next.notify(missed)
	}
}
