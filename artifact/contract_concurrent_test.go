package artifact_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
)

var endCases = []testCase{{
	Name: "end/done context",
	Rule: "An operation whose context is done returns its error and has no effect.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		t.save(key, "a", "a", 0)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, op := range t.all(ctx, key, "a") {
			t.Is(op.do(), context.Canceled, op.name)
		}
		for _, op := range t.all(ctx, key, "b") {
			t.Is(op.do(), context.Canceled, op.name+" of what is not there")
		}
		_, err := t.List(ctx, key)
		t.Is(err, context.Canceled, "List")
		t.list(key, "a")
		t.versions(key, "a", 1)
	},
}, {
	Name: "end/context done meanwhile",
	Rule: "A Save whose context ends while it runs has its whole effect or none.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		n := 0
		data := bytes.Repeat([]byte("data"), 1<<16)
		for i := range 40 {
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			if i < 10 {
				ctx = &fuse{Context: ctx, cancel: cancel, looks: i}
			} else {
				wg.Go(cancel)
			}
			version, err := t.Save(ctx, key, "a", genai.NewPartFromBytes(data, "a/b"))
			wg.Wait()
			cancel()
			if err != nil {
				t.Is(err, context.Canceled, "Save")
			}
			numbers, gone := t.Versions(t.Context(), key, "a")
			if len(numbers) > 0 || !errors.Is(gone, artifact.ErrNotFound) {
				t.Must(gone)
			}
			if f, ok := ctx.(*fuse); ok && f.burnt && err == nil {
				t.Fatalf("Save has seen that its context was done, and went on")
			}
			if err == nil && (len(numbers) != n+1 || version != int64(n)) ||
				err != nil && len(numbers) != n && len(numbers) != n+1 {
				t.Fatalf("there are %d versions after %d, and Save returned %d, %v",
					len(numbers), n, version, err)
			}
			if n = len(numbers); n > 0 {
				got, err := t.Load(t.Context(), key, "a", int64(n-1))
				t.Must(err)
				t.FailIf(!bytes.Equal(got.InlineData.Data, data),
					"version %d is half of what was saved", n-1)
			}
		}
	},
}}

// fuse is a context that is done when its error was asked for so often.
type fuse struct {
	context.Context
	cancel context.CancelFunc
	mu     sync.Mutex
	looks  int
	burnt  bool // somebody was told
}

func (f *fuse) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.looks--; f.looks < 0 {
		f.cancel()
		f.burnt = true
	}
	return f.Context.Err()
}

// Value hides what context.Cause would ask in place of Err.
func (*fuse) Value(any) any { return nil }

var concurrentCases = []testCase{{
	Name: "concurrent/saves",
	Rule: "Of many who save one artifact at once each gets a version of its own, dense from 0, with what " +
		"it saved.",
	Run: func(t *tester) {
		const savers = 8
		const each = 10
		key := t.Key("ann", "s")
		got := make([][]int64, savers)
		errs := make([]error, savers)
		var wg sync.WaitGroup
		for s := range savers {
			wg.Go(func() {
				for i := range each {
					v, err := t.Save(t.Context(), key, "user:a",
						genai.NewPartFromText(fmt.Sprintf("%d-%d", s, i)))
					got[s] = append(got[s], v)
					errs[s] = errors.Join(errs[s], err)
				}
			})
		}
		wg.Wait()
		t.Must(errors.Join(errs...))
		t.versions(key, "user:a", savers*each)
		for s := range savers {
			for i, v := range got[s] {
				t.text(key, "user:a", v, fmt.Sprintf("%d-%d", s, i))
			}
		}
	},
}, {
	Name: "concurrent/save and delete",
	Rule: "Beside deletions, what Save returned is there until the artifact is deleted, versions have no " +
		"gaps, and readers find a whole version or ErrNotFound.",
	Run: func(t *tester) {
		const rounds = 100
		key := t.Key("ann", "s")
		errs := make([]error, 4)
		part := genai.NewPartFromBytes(bytes.Repeat([]byte("data"), 1000), "a/b")
		do := func(i int, what func() error) func() {
			return func() {
				for range rounds {
					errs[i] = errors.Join(errs[i], what())
				}
			}
		}
		save := func() error { _, err := t.Save(t.Context(), key, "a", part); return err }
		var wg sync.WaitGroup
		wg.Go(do(0, save))
		wg.Go(do(1, save))
		wg.Go(do(2, func() error { return t.Delete(t.Context(), key, "a") }))
		wg.Go(do(3, func() error { return t.whole(part) }))
		wg.Wait()
		t.Must(errors.Join(errs...))
		t.Must(t.whole(part))
		t.Must(t.Delete(t.Context(), key, "a"))
		t.save(key, "a", "last", 0)
		t.versions(key, "a", 1)
	},
}}

// whole returns an error if a version of artifact "a" is not the whole part that was saved. There need not be
// one.
func (t *tester) whole(part *genai.Part) error {
	key := t.Key("ann", "s")
	numbers, err := t.Versions(t.Context(), key, "a")
	if err != nil && !errors.Is(err, artifact.ErrNotFound) {
		return err
	}
	for i, v := range numbers {
		if v != int64(i) {
			return fmt.Errorf("the versions have a gap: %v", numbers)
		}
	}
	got, err := t.Load(t.Context(), key, "a", artifact.Latest)
	if errors.Is(err, artifact.ErrNotFound) {
		return nil
	}
	if err == nil &&
		(got.InlineData == nil || !bytes.Equal(got.InlineData.Data, part.InlineData.Data)) {
		err = fmt.Errorf("a reader found half a version: %s", brief(got))
	}
	if _, bad := t.List(t.Context(), key); bad != nil {
		err = errors.Join(err, bad)
	}
	return err
}
