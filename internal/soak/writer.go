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
	Fence int64 // of the turn, 0 for none
	Nth   int   // append of the turn, from 0
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

func (w *writer) run(ctx context.Context) error {
	for ctx.Err() == nil {
		key := w.Keys[rand.N(len(w.Keys))]
		do := w.append
		if w.Turns {
			do = w.turn
		}
		if err := do(ctx, key); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// append appends one batch, or a rewind, wherever the log ends.
func (w *writer) append(ctx context.Context, key session.Key) error {
	b := w.batch(key, 0, 0)
	told := false
	for {
		m, err := w.Get(ctx, key)
		if err != nil {
			return err
		}
		events := b.events()
		rewind := m.Position > 3 && rand.N(10) == 0 && !told
		if rewind {
			events = []*session.Event{{Author: "plugin/rewind"}}
			events[0].Actions.Rewind = &session.Rewind{To: m.Position - 1 - rand.Int64N(3)}
		} else if !told {
			say(report{Try: b})
			told = true
		}
		_, err = w.Append(ctx, session.At{Key: key, After: m.Position}, events...)
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
	return &batch{Name: fmt.Sprintf("%s.%d", w.name, w.n), Of: 1 + rand.N(4), Key: key, Fence: fence, Nth: nth}
}

// turn takes a turn and appends a few batches in it.
func (w *writer) turn(ctx context.Context, key session.Key) error {
	t, err := w.Lease(ctx, key)
	if err != nil {
		return err
	}
	defer t.Release()
	m, err := w.Get(ctx, key)
	if err != nil {
		return err
	}
	at := session.At{Key: key, After: m.Position, Fence: t.Fence}
	for nth := range 1 + rand.N(4) {
		b := w.batch(key, t.Fence, nth)
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
