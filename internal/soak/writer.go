//go:build unix

package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/plughook/plughook/session"
)

// batch is an append: what an event says of it in its metadata.
type batch struct {
	Name  string
	Of    int // how many events
	Key   session.Key
	Fence int64 // of the lease, 0 for none
	Nth   int   // append of the lease, from 0
}

// events makes the batch's events, the same each time.
func (b *batch) events() []*session.Event {
	var list []*session.Event
	for i := range b.Of {
		e := session.Message(fmt.Sprintf("%d of %s", i, b.Name))
		e.ID = fmt.Sprintf("%s/%d", b.Name, i)
		e.CustomMetadata = map[string]any{"name": b.Name, "of": b.Of, "i": i, "fence": b.Fence, "nth": b.Nth}
		e.Actions.StateDelta = map[string]any{"last": e.ID, fmt.Sprint("key", i): b.Name}
		e.Actions.StateIncrement = map[string]float64{"app:events": 1}
		list = append(list, e)
	}
	return list
}

// writer is one goroutine of a worker.
type writer struct {
	session.Service
	task
	name string
	n    int
}

// run does the worker's job again and again: until the context is done, or nothing is left to do.
func (w *writer) run(ctx context.Context) error {
	for ctx.Err() == nil {
		key := w.Keys[rand.N(len(w.Keys))]
		var err error
		switch w.Do {
		case appends:
			err = w.append(ctx, key)
		case leases:
			err = w.lease(ctx, key)
		case counts:
			err = w.count(ctx, key)
			if errors.Is(err, session.ErrBound) {
				return nil
			}
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// append appends one batch, or a rewind, wherever the log ends.
func (w *writer) append(ctx context.Context, key session.Key) error {
	b := w.batch(key, 0, 0)
	tried := false
	for {
		m, err := w.Get(ctx, key)
		if err != nil {
			return err
		}
		events := b.events()
		rewind := m.Position > 3 && rand.N(10) == 0 && !tried
		if rewind {
			events = []*session.Event{{Author: "plugin/rewind"}}
			events[0].Actions.Rewind = &session.Rewind{To: m.Position - 1 - rand.Int64N(3)}
		} else if !tried {
			say(report{Try: b})
			tried = true
		}
		_, err = w.Append(ctx, session.AppendTarget{Key: key, After: m.Position}, events...)
		switch {
		case err == nil && !rewind:
			say(report{Ack: b.Name})
			return nil
		case err != nil && !errors.Is(err, session.ErrConflict):
			return err
		}
	}
}

func (w *writer) batch(key session.Key, fence int64, nth int) *batch {
	w.n++
	return &batch{
		Name:  fmt.Sprintf("%s.%d", w.name, w.n),
		Of:    1 + rand.N(4),
		Key:   key,
		Fence: fence,
		Nth:   nth,
	}
}

// lease takes a lease and appends a few batches under it.
func (w *writer) lease(ctx context.Context, key session.Key) error {
	l, err := w.Lease(ctx, key, "")
	if err != nil {
		return err
	}
	defer l.Release()
	m, err := w.Get(ctx, key)
	if err != nil {
		return err
	}
	at := session.AppendTarget{Key: key, After: m.Position, Fence: l.Fence}
	for nth := range 1 + rand.N(4) {
		b := w.batch(key, l.Fence, nth)
		say(report{Try: b})
		at.After, err = w.Append(ctx, at, b.events()...)
		if errors.Is(err, session.ErrFenced) { // stopped for too long
			say(report{Lost: true})
			return nil
		}
		if err != nil {
			return err
		}
		say(report{Ack: b.Name})
		time.Sleep(rand.N(3 * time.Millisecond)) // the model thinks
	}
	return nil
}

// count adds 1 to 3 to the bounded counter, or 1 where that is too much. It returns session.ErrBound when
// the bound is reached.
func (w *writer) count(ctx context.Context, key session.Key) error {
	by := 1 + rand.N(3)
	for {
		m, err := w.Get(ctx, key)
		if err != nil {
			return err
		}
		// If the second event is refused because of the bound, the first one must not be in the log either.
		appended := session.Message("an append")
		appended.Actions.StateIncrement = map[string]float64{"app:appends": 1}
		counted := session.Message("counts")
		counted.Actions.StateIncrement = map[string]float64{"app:spent": float64(by)}
		counted.Actions.StateBound = map[string]float64{"app:spent": bound}
		_, err = w.Append(ctx, session.AppendTarget{Key: key, After: m.Position}, appended, counted)
		switch {
		case err == nil:
			say(report{Added: by})
			return nil
		case errors.Is(err, session.ErrBound) && by > 1:
			by = 1
		case !errors.Is(err, session.ErrConflict):
			return err
		}
	}
}
