package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// Limits of an answer.
const (
	maxRecallText  = 12_000 // characters
	maxRecallEvent = 3_000  // characters of one event; of a longer one, the beginning is returned
	maxRecalled    = 20     // events
	maxTerms       = 64     // different words of a query
)

// recallQuery is the argument of the tool.
type recallQuery struct {
	Words string `json:"words,omitempty" jsonschema:"words or values to look for; the events with the most and the rarest of them are returned"`
	From  int64  `json:"from,omitempty" jsonschema:"position of the first event to read; 1 is the first of the conversation"`
	To    int64  `json:"to,omitempty" jsonschema:"position of the last event to read"`
}

// recalled is the result of the tool.
type recalled struct {
	Events []recalledEvent `json:"events"`
	// First and Last are the positions of the first and last event that can be recalled, 0 if there is none.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	// More is how many matching events did not fit; Next is the position of the first of them.
	More int   `json:"more,omitempty"`
	Next int64 `json:"next,omitempty"`
}

type recalledEvent struct {
	Position int64  `json:"position"`
	Author   string `json:"author"`
	Time     string `json:"time,omitempty"`
	Text     string `json:"text"`
	// Left is how many characters of the text are left out.
	Left int `json:"left,omitempty"`
}

// Recall returns a tool with which an agent reads the events that a summary stands for, by words or by positions. The
// tool reads only the session that it is called in, from the given service, and only what the agent's branch sees. It
// reads events as they are in the log, after plugins have redacted them, and none that a rewind has voided. It leaves out
// thoughts. An answer has at most 20 events and 12,000 characters.
func Recall(sessions session.Service) *tool.Tool {
	t, err := tool.New(RecallName, "Reads earlier parts of this conversation, word for word, of which you are only shown a summary. "+
		"Use it before you say or do something that depends on an exact wording, value or result which the summary leaves out. Give words to look for, or positions.",
		func(ctx context.Context, call *tool.Call, q recallQuery) (*recalled, error) {
			if q.Words == "" && q.From == 0 && q.To == 0 {
				return nil, errors.New("give words to look for, or positions: from, to or both")
			}
			if q.From < 0 || q.To < 0 || q.To != 0 && q.To < q.From {
				return nil, fmt.Errorf("there are no positions from %d to %d", q.From, q.To)
			}
			return (&recaller{sessions: sessions, call: call, query: q}).answer(ctx)
		})
	if err != nil {
		panic(err) // its parameters are always the same
	}
	return t
}

// A recaller answers one call of the tool. It reads the log three times, so that it keeps no text but the answer's.
type recaller struct {
	sessions session.Service
	call     *tool.Call
	query    recallQuery
	statuses session.Statuses
	last     int64 // the last position of the log when the call began
}

func (r *recaller) answer(ctx context.Context) (*recalled, error) {
	r.last = r.call.Invocation.Position

	// First, find out which events a summary stands for.
	err := r.read(ctx, 0, func(e *session.Event) bool {
		r.statuses.Add(e)
		return true
	})
	if err != nil {
		return nil, err
	}

	// Then find the events that match.
	answer := &recalled{Events: []recalledEvent{}}
	matches := newSearch(r.query.Words)
	err = r.covered(ctx, 0, func(e *session.Event, text string) bool {
		if answer.First == 0 {
			answer.First = e.Seq
		}
		answer.Last = e.Seq
		if e.Seq >= r.query.From && (r.query.To == 0 || e.Seq <= r.query.To) {
			matches.add(e.Seq, text)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	chosen, left := matches.best(maxRecalled)
	if len(chosen) == 0 {
		return answer, nil
	}

	// Then read the text of those that are chosen, as long as there is room.
	room := maxRecallText
	err = r.covered(ctx, chosen[0]-1, func(e *session.Event, text string) bool {
		if len(chosen) == 0 {
			return false
		}
		if e.Seq != chosen[0] {
			return true
		}
		one := newRecalledEvent(e, text)
		room -= utf8.RuneCountInString(one.Text)
		if room < 0 {
			return false
		}
		answer.Events = append(answer.Events, one)
		chosen = chosen[1:]
		return true
	})

	// What was not read is for the next call.
	answer.More = len(chosen) + len(left)
	for _, seq := range append(chosen, left...) {
		if answer.Next == 0 || seq < answer.Next {
			answer.Next = seq
		}
	}
	return answer, err
}

func newRecalledEvent(e *session.Event, text string) recalledEvent {
	r := recalledEvent{Position: e.Seq, Author: e.Author, Text: text}
	if !e.Timestamp.IsZero() {
		r.Time = e.Timestamp.UTC().Format(time.RFC3339)
	}
	length := utf8.RuneCountInString(text)
	if length > maxRecallEvent {
		r.Text = string([]rune(text)[:maxRecallEvent]) + "…"
		r.Left = length - maxRecallEvent
	}
	return r
}

// covered calls f with the events that a live summary stands for and the caller's branch sees, and with their texts,
// until f returns false.
func (r *recaller) covered(ctx context.Context, after int64, f func(*session.Event, string) bool) error {
	return r.read(ctx, after, func(e *session.Event) bool {
		status := r.statuses.Of(e)
		isCovered := status.Void == 0 && status.Behind != 0 && !e.Marker()
		if !isCovered || !agent.Sees(r.call.Branch, e.Branch) {
			return true
		}
		text := extract.Render(e)
		return text == "" || f(e, text)
	})
}

// read calls f with the events of the log as it was when the call began, until f returns false.
func (r *recaller) read(ctx context.Context, after int64, f func(*session.Event) bool) error {
	for e, err := range r.sessions.Read(ctx, r.call.Invocation.Key, session.Selection{After: after}) {
		if err != nil {
			return fmt.Errorf("cannot read the log: %w", err)
		}
		if e.Seq > r.last || !f(e) {
			return nil
		}
	}
	return nil
}

// A search finds the events that have the most and the rarest words of a query.
type search struct {
	words  []string
	counts []int // for each word, how many events have it
	events int
	hits   []hit
}

// A hit is an event that has words of the query.
type hit struct {
	seq  int64
	mask uint64 // bit i is set if the event has words[i]
}

// newSearch returns a search for the words of a query, each once, in lower case.
func newSearch(query string) *search {
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	slices.Sort(words)
	words = slices.Compact(words)
	words = words[:min(len(words), maxTerms)]
	return &search{words: words, counts: make([]int, len(words))}
}

// add takes in an event. If the query has no words, each event is a hit.
func (s *search) add(seq int64, text string) {
	h := hit{seq: seq}
	text = strings.ToLower(text)
	for i, w := range s.words {
		if strings.Contains(text, w) {
			h.mask |= 1 << i
			s.counts[i]++
		}
	}
	s.events++
	if h.mask != 0 || len(s.words) == 0 {
		s.hits = append(s.hits, h)
	}
}

// best returns the positions of the best hits, at most so many, and of other hits that are as good as the last of them.
// Both are in ascending order.
func (s *search) best(most int) (chosen, left []int64) {
	score := func(h hit) (sum float64) {
		for i := range s.words {
			if h.mask&(1<<i) != 0 {
				sum += math.Log(1 + float64(s.events)/float64(s.counts[i]))
			}
		}
		return sum
	}
	slices.SortStableFunc(s.hits, func(a, b hit) int { return cmp.Compare(score(b), score(a)) })
	for i, h := range s.hits {
		if i < most {
			chosen = append(chosen, h.seq)
		} else if score(h) == score(s.hits[most-1]) {
			left = append(left, h.seq)
		}
	}
	slices.Sort(chosen)
	slices.Sort(left)
	return chosen, left
}
