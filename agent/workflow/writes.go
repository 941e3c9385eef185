package workflow

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// A Reducer makes the value of a state key of the value before, nil if there is none, and of what a node sets.
// Nodes that run at the same time end in any order, so the order should not matter, or only that of a list.
// It must not change what it gets, and has no effects. Both values are JSON values. It is not called for nil, which
// adds nothing: it deletes no key that has a Reducer, since nodes at the same time may have set it.
type Reducer func(before, value any) (any, error)

// Append is a Reducer for lists: what a node sets is appended, the items if it is a list.
func Append(before, value any) (any, error) {
	return slices.Concat(listOf(before), listOf(value)), nil
}

// Union is a Reducer for lists without repeated items: what is not there yet is appended, as Append does.
func Union(before, value any) (any, error) {
	union := []any{}
	for _, item := range slices.Concat(listOf(before), listOf(value)) {
		if !slices.ContainsFunc(union, func(known any) bool { return reflect.DeepEqual(known, item) }) {
			union = append(union, item)
		}
	}
	return union, nil
}

// Add is a Reducer that adds numbers.
func Add(before, value any) (any, error) {
	return numbers(before, value, func(a, b float64) float64 { return a + b })
}

// Max is a Reducer that keeps the greatest number.
func Max(before, value any) (any, error) {
	if before == nil {
		before = value
	}
	return numbers(before, value, func(a, b float64) float64 { return max(a, b) })
}

// listOf returns a list as it is, anything else as a list of one item, and nil as an empty list.
func listOf(value any) []any {
	switch v := value.(type) {
	case nil:
		return []any{}
	case []any:
		return v
	}
	return []any{value}
}

// numbers computes with two numbers; no number before is 0.
func numbers(before, value any, f func(a, b float64) float64) (any, error) {
	a, ok := before.(float64)
	b, alsoOK := value.(float64)
	switch {
	case !alsoOK:
		return nil, fmt.Errorf("the node sets it to %s, which is no number", inJSON(value))
	case before != nil && !ok:
		return nil, fmt.Errorf("it is %s, which is no number", inJSON(before))
	}
	return f(a, b), nil
}

// A cause is a run of a graph's node, with the runs that have ended before it begins, whatever the times are.
type cause struct {
	node   *Node
	number int // of the run, from 1
	after  []*cause
}

// follows reports whether the run begins after another one of the graph has ended.
func (c *cause) follows(node string, number string) bool {
	seen := map[*cause]bool{}
	ahead := slices.Clone(c.after)
	for len(ahead) > 0 {
		before := ahead[len(ahead)-1]
		ahead = ahead[:len(ahead)-1]
		if seen[before] {
			continue
		}
		seen[before] = true
		if before.node.named(node) && fmt.Sprint(before.number) == number {
			return true
		}
		ahead = append(ahead, before.after...)
	}
	return false
}

// A write is the last one of a state key in a workflow's run: by which run, and where in the log.
type write struct {
	path string
	seq  int64
}

// follows reports whether the run comes after a write, and not at the same time.
func (t *task) follows(w write) bool {
	if within(t.path, w.path) || within(w.path, t.path) {
		return true
	}
	for run := t; run != nil; run = run.around {
		around := above(run.path)
		if around == "" || !within(w.path, around) {
			continue
		}

		// Here the two ways part: run is the one, and node with number the other.
		rest := w.path[len(around)+1:]
		rest, _, _ = strings.Cut(rest, "/")
		node, number := element(rest)
		if run.cause != nil {
			return run.cause.follows(node, number)
		}
		return run.inTurn && w.seq <= run.began
	}
	return true
}

// write puts an event with state into the log. It applies the reducers of the graph, and refuses a key that a run
// has set which is made at the same time. What it has seen of the state is so until the event is in the log.
func (t *task) write(e *session.Event) (more bool, err error) {
	if len(e.Actions.StateDelta) == 0 {
		return t.put(e), nil
	}
	t.invocation.writing.Lock()
	defer t.invocation.writing.Unlock()
	delta := maps.Clone(e.Actions.StateDelta)
	for _, key := range sortedKeys(delta) {
		reduce := t.reduce[key]
		if reduce == nil {
			w, ok := t.invocation.writeOf(t.path, key)
			if ok && !t.follows(w) {
				return true, fmt.Errorf("the state key %q is set by two runs that are made at the same time, %s and %s: name a reducer "+
					"for it in Graph.Reduce (reduce: in a configuration), give each a key of its own, or lead an edge from one to the other",
					key, w.path, t.path)
			}
			continue
		}
		if delta[key] == nil {
			delete(delta, key) // it adds nothing
			continue
		}
		delta[key], err = safely(func() (any, error) {
			value, err := plain(delta[key])
			if err != nil {
				return nil, err
			}
			if value, err = reduce(t.host.Now().State[key], value); err != nil {
				return nil, err
			}
			return plain(value)
		})
		if err == nil {
			err = t.state.check(map[string]any{key: delta[key]})
		}
		if err != nil {
			return true, fmt.Errorf("the reducer of the state key %q: %w", key, err)
		}
	}
	e.Actions.StateDelta = delta
	return t.put(e), nil
}
