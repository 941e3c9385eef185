package workflow

import (
	"context"
	"strconv"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// join is the kind of a node that Join makes. Its input is its output.
type join struct{}

func (join) agents() []agent.Agent                       { return nil }
func (join) schemas() (input, output *jsonschema.Schema) { return nil, nil }

func (join) attempt(_ context.Context, s *site) result {
	return s.finish(ending{output: s.input})
}

// each is the kind of a node that Each makes.
type each struct {
	node  *Node
	limit int
}

func (e *each) agents() []agent.Agent                       { return e.node.kind.agents() }
func (e *each) schemas() (input, output *jsonschema.Schema) { return nil, nil }

func (e *each) attempt(ctx context.Context, s *site) result {
	var items []any
	switch v := s.input.(type) {
	case nil:
	case []any:
		items = v
	default:
		items = []any{v}
	}
	path := func(i int) string { return s.path + "/" + e.node.Name + "@" + strconv.Itoa(i+1) }

	// Run the items that have not ended.
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var failure *Error
	waiting := false
	at := 0
	active := 0
	part := func(i int) agent.Part {
		return func(ctx context.Context, host *agent.Host, yield func(*session.Event, error) bool) {
			item := s.below(e.node, strconv.Itoa(i+1), items[i])
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
	next := func() []agent.Part {
		mu.Lock()
		defer mu.Unlock()
		var parts []agent.Part
		for ; at < len(items) && failure == nil && running.Err() == nil && (e.limit == 0 || active < e.limit); at++ {
			if s.work.ended(path(at)) == nil {
				active++
				parts = append(parts, part(at))
			}
		}
		return parts
	}
	more := agent.Schedule(running, s.host, s.yield, next)
	switch {
	case failure != nil && more && ctx.Err() == nil:
		return s.failed(failure.Code, failure)
	case !more || ctx.Err() != nil:
		return result{outcome: stopped}
	case waiting:
		return result{outcome: waits}
	}

	// Their outputs, in order.
	outputs := make([]any, len(items))
	for i := range items {
		run := s.work.ended(path(i))
		if run == nil { // it was voided while others ran
			return result{outcome: waits}
		}
		outputs[i] = run.Output
	}
	return s.finish(ending{output: outputs})
}
