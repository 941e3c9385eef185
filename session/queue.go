package session

import (
	"context"
	"sync"
)

// A Queue lets goroutines take turns by key, first come, first served. Services use it for turns
// within a process. Its zero value is ready.
type Queue struct {
	mu    sync.Mutex
	lines map[Key][]chan struct{} // the first has the turn
}

// Wait waits for the turn on key and returns what gives it back, or the context's error.
func (q *Queue) Wait(ctx context.Context, key Key) (release func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	me := make(chan struct{})
	q.mu.Lock()
	if q.lines == nil {
		q.lines = map[Key][]chan struct{}{}
	}
	q.lines[key] = append(q.lines[key], me)
	first := len(q.lines[key]) == 1
	q.mu.Unlock()
	leave := sync.OnceFunc(func() { q.leave(key, me) })
	if first {
		return leave, nil
	}
	select {
	case <-me:
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

func (q *Queue) leave(key Key, me chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	line := q.lines[key]
	for i, c := range line {
		if c != me {
			continue
		}
		line = append(line[:i:i], line[i+1:]...)
		if q.lines[key] = line; len(line) == 0 {
			delete(q.lines, key)
		} else if i == 0 {
			close(line[0])
		}
		return
	}
}
