package lent

import (
	"sync"

	"github.com/plughook/plughook/session"
)

// Folds are the folds that are kept with a view, as one run has them (session.Invocation.Folded). They are the
// run's alone, from its first use of one until its end, since the next run changes them: it adds what is new.
// All of them are of events that were read from the store, so what a run appends comes to them in the next one.
type Folds struct {
	views *Views
	view  *view
	began []*session.Event // of the view, when the run began
	of    func(key any, begin func() session.Fold) (session.Fold, int)

	mu    sync.Mutex
	taken map[any]*fold // nil until the run uses one
	ended bool          // the run has
}

// A fold is one that is kept.
type fold struct {
	session.Fold
	events int // how many it has taken in
	idle   int // how many runs have not used it since one did
}

// foldedEvents is the length from which something is kept of a view: a shorter one is folded anew as fast.
const foldedEvents = 128

// idleRuns is after how many runs that did not use it a fold is dropped. Agents that take turns use theirs now and
// then; that of a conversation of its own, such as one call's, is used no more.
const idleRuns = 8

// newFolds returns a run's folds of a view, nil if the view is short or nothing is to be kept.
func newFolds(k *Views, v *view) *Folds {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.limit <= 0 || len(v.live.events) < foldedEvents {
		return nil
	}
	f := &Folds{views: k, view: v, began: v.live.events}
	f.of = f.get
	return f
}

// Of returns what is session.Invocation.Folded, nil if nothing is kept.
func (f *Folds) Of() func(key any, begin func() session.Fold) (session.Fold, int) {
	if f == nil {
		return nil
	}
	return f.of
}

// get returns the fold under a key, with all events that the run began with, and how many these are.
func (f *Folds) get(key any, begin func() session.Fold) (session.Fold, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return nil, 0
	}
	if f.taken == nil {
		f.taken = f.views.takeFolds(f.view)
	}
	kept := f.taken[key]
	if kept == nil || kept.events > len(f.began) {
		kept = &fold{Fold: begin()}
		f.taken[key] = kept
	}
	for _, e := range f.began[kept.events:] {
		kept.Add(e)
	}
	kept.events = len(f.began)
	kept.idle = -1
	return kept.Fold, kept.events
}

// end ends the run's use, and returns the folds that are worth keeping; nil if the run has used none.
func (f *Folds) end() map[any]*fold {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	for key, kept := range f.taken {
		kept.idle++
		if kept.idle > idleRuns {
			delete(f.taken, key)
		}
	}
	return f.taken
}

// takeFolds takes a view's folds out, so that they are the caller's alone.
func (k *Views) takeFolds(v *view) map[any]*fold {
	k.mu.Lock()
	defer k.mu.Unlock()
	folds := v.folds
	v.folds = nil
	if folds == nil {
		folds = map[any]*fold{}
	}
	return folds
}

// keepFolds keeps folds with a view that is kept. The caller holds mu.
func (k *Views) keepFolds(v *view, folds map[any]*fold) {
	v.folds = folds
	bytes := int64(0)
	for _, kept := range folds {
		bytes += kept.Bytes()
	}
	grown := bytes - v.foldBytes
	v.foldBytes = bytes
	v.bytes += grown
	k.bytes += grown
	k.trim()
}
