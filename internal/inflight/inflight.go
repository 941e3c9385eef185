// Package inflight counts work that is running, so that whoever closes something can wait until the work is
// done. Who has to be waited for in another way, such as for one piece alone, needs a method of Counter here.
package inflight

import (
	"context"
	"maps"
	"sync"
)

// A Counter counts pieces of work by name. The zero Counter is ready for use. Its methods may be
// called at once.
type Counter struct {
	mu      sync.Mutex
	running map[string]int
	closed  bool
	idle    chan struct{} // closed when the last piece ends; nil if nobody waits
}

// Begin counts a piece of work until End is called with the same name. After Close it counts
// nothing and returns false.
func (c *Counter) Begin(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.add(name)
	return true
}

// BeginPart is Begin for work that belongs to other work which is running. It counts after Close, too, since
// that work may finish.
func (c *Counter) BeginPart(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(name)
}

func (c *Counter) add(name string) {
	if c.running == nil {
		c.running = map[string]int{}
	}
	c.running[name]++
}

// End ends a piece of work. It panics if none of that name is running.
func (c *Counter) End(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.running[name] {
	case 0:
		panic("inflight: End of " + name + ", which is not running")
	case 1:
		delete(c.running, name)
	default:
		c.running[name]--
	}
	if len(c.running) == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// Close makes Begin refuse. What is running goes on.
func (c *Counter) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// Wait returns nil when nothing is running, or why ctx is done if it is done first. Without
// Close, new work may have begun by the time it returns.
func (c *Counter) Wait(ctx context.Context) error {
	c.mu.Lock()
	if len(c.running) == 0 {
		c.mu.Unlock()
		return nil
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Running returns how many pieces of work are running, by name.
func (c *Counter) Running() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.running)
}
