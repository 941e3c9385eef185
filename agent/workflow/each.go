package workflow

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// join is the kind of a node that Join makes. Its input is its output.
type join struct{ untyped }

func (join) agents() []agent.Agent { return nil }

func (join) attempt(_ context.Context, t *task) result {
	return t.finish(ending{output: t.input})
}

// defaultItems is Node.MaxItems if that is 0.
const defaultItems = 10_000

// each is the kind of a node that Each makes.
type each struct {
	untyped
	node  *Node
	limit int
}

func (e *each) agents() []agent.Agent { return e.node.kind.agents() }

func (e *each) attempt(ctx context.Context, t *task) result {
	var items []any
	switch v := t.input.(type) {
	case nil:
	case []any:
		items = v
	default:
		items = []any{v}
	}
	if most := cmp.Or(t.node.MaxItems, defaultItems); len(items) > most {
		return t.failedForGood(NodeLimit, fmt.Errorf("the list has %d items, and the node takes %d; "+
			"raise Node.MaxItems (max_items: in a configuration), or make the list shorter before it", len(items), most))
	}
	path := func(i int) string { return t.pathBelow(e.node, strconv.Itoa(i+1)) }

	// Run the items that have not ended.
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var failure *Error
	waiting := false
	next := 0 // the first item that was not looked at
	active := 0
	part := func(i int) agent.Part {
		return func(ctx context.Context, host *agent.Host, yield func(*session.Event, error) bool) {
			item := t.below(e.node, strconv.Itoa(i+1), items[i])
			item.inTurn = e.limit == 1
			item.began = t.invocation.now()
			item.host = host
			item.yield = yield
			res := item.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			active--
			switch {
			case res.outcome == hasFailed && failure == nil:
				failure = res.err
				cancel()
			case res.outcome != hasEnded:
				waiting = true
			}
		}
	}
	start := func() []agent.Part {
		mu.Lock()
		defer mu.Unlock()
		var parts []agent.Part
		for ; next < len(items) && failure == nil && running.Err() == nil && (e.limit == 0 || active < e.limit); next++ {
			if t.invocation.ended(path(next)) == nil {
				active++
				parts = append(parts, part(next))
			}
		}
		return parts
	}
	more := agent.Schedule(running, t.host, t.yield, start)
	switch {
	case failure != nil && more && ctx.Err() == nil:
		return t.failed(failure.Code, failure)
	case !more || ctx.Err() != nil:
		return result{outcome: stopped}
	case waiting:
		return result{outcome: waits}
	}

	// Their outputs, in order.
	outputs := make([]any, len(items))
	for i := range items {
		run := t.invocation.ended(path(i))
		if run == nil { // it was voided while others ran
			return result{outcome: waits}
		}
		outputs[i] = run.Output
	}
	return t.finish(ending{output: outputs})
}
