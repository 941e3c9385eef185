package store_test

import (
	"fmt"
	"testing"

	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

func BenchmarkRecords(b *testing.B) {
	e := logtest.Kilobyte()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := store.Records(s1, []*session.Event{e}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkViewAppend(b *testing.B) {
	b.Run("message", func(b *testing.B) {
		v := store.NewView(&session.Session{State: map[string]any{}}, nil)
		e := session.Message("hi")
		b.ReportAllocs()
		for b.Loop() {
			v.Append(e)
		}
	})
	for _, keys := range []int{10, 1000} {
		b.Run(fmt.Sprint("state of ", keys), func(b *testing.B) {
			state := map[string]any{}
			for i := range keys {
				state[fmt.Sprint("k", i)] = 1.0
			}
			v := store.NewView(&session.Session{State: state}, nil)
			e := &session.Event{Actions: session.Actions{StateDelta: map[string]any{"k1": 2.0}}}
			b.ReportAllocs()
			for b.Loop() {
				v.Append(e)
			}
		})
	}
}
