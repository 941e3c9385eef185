package extract_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

// chatter returns n events of small talk: words of a vocabulary in which some are frequent and most are rare.
func chatter(n int, seed uint64) []*session.Event {
	r := rand.New(rand.NewPCG(seed, 1))
	zipf := rand.NewZipf(r, 1.1, 4, 8000)
	events := make([]*session.Event, n)
	for i := range events {
		var b strings.Builder
		for range 10 + r.IntN(35) {
			if w := zipf.Uint64(); r.IntN(3) == 0 {
				b.WriteString([]string{"I", "the", "my", "and", "of", "last", "to", "you"}[w%8])
			} else {
				fmt.Fprintf(&b, "%s%s", []string{"ba", "ke", "li", "mo", "nu", "ra", "si", "te"}[w%8], strings.Repeat("xo", int(w/8%4))+fmt.Sprintf("%c%c", 'a'+w%26, 'a'+w/26%26))
			}
			b.WriteString([]string{" ", " ", " ", " ", ". ", ", "}[r.IntN(6)])
		}
		author, role := session.User, genai.RoleUser
		if i%2 == 1 {
			author, role = "agent", genai.RoleModel
		}
		events[i] = &session.Event{
			Author:    author,
			Content:   genai.NewContentFromText(b.String(), genai.Role(role)),
			Timestamp: time.Date(2024, 1, 1, 0, i, 0, 0, time.UTC),
		}
	}
	return events
}

// flights returns a call with a result of many records.
func flights(n int) []*session.Event {
	var list []any
	for i := range n {
		list = append(list, map[string]any{
			"flight_number": fmt.Sprintf("HX%03d", i),
			"date":          "2024-05-20",
			"prices":        map[string]any{"economy": 100 + i, "business": 300 + i},
			"departs":       "06:00:00",
		})
	}
	call := &genai.FunctionCall{
		ID:   "1",
		Name: "search",
		Args: map[string]any{"origin": "ABC", "date": "2024-05-20"},
	}
	return []*session.Event{
		{
			Author: "agent",
			Content: &genai.Content{
				Role:  genai.RoleModel,
				Parts: []*genai.Part{{FunctionCall: call}},
			},
		},
		session.Respond(call, map[string]any{"result": list}),
	}
}

// 50 new turns at a budget of 4,000 tokens, with a state that is full.
func BenchmarkText(b *testing.B) {
	for _, c := range []struct {
		name string
		news []*session.Event
	}{
		{"talk", chatter(50, 2)},
		{"tools", append(chatter(30, 2), flights(50)...)},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := new(extract.State)
			s.Add(chatter(2000, 1))
			s.Add(flights(200))
			text := s.Text(4000, quarter)
			data, err := json.Marshal(s)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				s := extract.Resume(data, text)
				s.Add(c.news)
				if s.Text(4000, quarter) == "" {
					b.Fatal("nothing fits")
				}
				if _, err := json.Marshal(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
