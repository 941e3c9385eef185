package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

func BenchmarkEncode(b *testing.B) {
	e := logtest.Kilobyte()
	b.Run("made", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			data, err := e.MarshalJSON()
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
		}
	})
	read := decode(b, encode(b, e))
	for name, change := range map[string]func(*session.Event){"read": func(*session.Event) {}, "read and changed": func(e *session.Event) { e.Author = "other" }} {
		b.Run(name, func(b *testing.B) {
			c := read.Clone()
			change(c)
			b.ReportAllocs()
			for b.Loop() {
				data, err := c.MarshalJSON()
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(data)))
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	python := strings.Replace(lines(b, "python.jsonl")[2], "Map lichen",
		strings.Repeat("Map lichen ", 30), 1)
	db := strings.Replace(lines(b, "python_db.jsonl")[2], "Map lichen",
		strings.Repeat("Map lichen ", 30), 1)
	for _, c := range []struct{ name, text string }{{"ours", encode(b, logtest.Kilobyte())}, {"python", python}, {"python_db", db}} {
		b.Run(c.name, func(b *testing.B) {
			data := []byte(c.text)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := store.Decode(data, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkClone(b *testing.B) {
	e := logtest.Kilobyte()
	b.ReportAllocs()
	for b.Loop() {
		e.Clone()
	}
}

// A million events: with nothing in between, with a compaction every thousand, and with one that keeps
// a hundred of them.
func BenchmarkLive(b *testing.B) {
	const n = 1_000_000
	for _, c := range []struct {
		name        string
		every, keep int64
	}{{"plain", 0, 0}, {"compacted", 1000, 0}, {"kept", 1000, 100}} {
		b.Run(c.name, func(b *testing.B) {
			log := make([]*session.Event, n)
			var frontier int64
			for i := range log {
				log[i] = &session.Event{Seq: int64(i) + 1}
				if c.every > 0 && int64(i)%c.every == c.every-1 {
					log[i].Actions.Compaction = &session.Compaction{
						Through:  int64(i) - 100,
						Frontier: frontier,
					}
					for k := range c.keep {
						log[i].Actions.Compaction.Keep = append(log[i].Actions.Compaction.Keep,
							k*5+1)
					}
					frontier = int64(i) + 1
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				session.Live(log)
			}
		})
	}
}

// State over a million events, one in a hundred of which sets one of a hundred keys.
func BenchmarkState(b *testing.B) {
	log := make([]*session.Event, 1_000_000)
	for i := range log {
		log[i] = &session.Event{Seq: int64(i) + 1}
		if i%100 == 0 {
			log[i].Actions.StateDelta = map[string]any{fmt.Sprint("k", i/100%100): i}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		session.State(nil, log)
	}
}
