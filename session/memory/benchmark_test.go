package memory_test

import (
	"testing"

	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

func BenchmarkMemory(b *testing.B) {
	ctx := b.Context()
	svc := memory.New()
	key := session.Key{App: "a", User: "u", ID: "1"}
	s, err := svc.Create(ctx, key, nil)
	if err != nil {
		b.Fatal(err)
	}
	position := s.Position
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e := logtest.Kilobyte()
			if position, err = svc.Append(ctx, session.AppendTarget{Key: key, After: position}, e); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read the last 50", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, err := range svc.Read(ctx, key, session.Selection{Last: 50}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
