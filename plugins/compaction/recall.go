package compaction

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/plugins/compaction/internal/plan"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// Limits of an answer.
const (
	maxRecallText  = 12_000 // characters
	maxRecallEvent = 3_000  // characters of one event among several that are read by position
	aroundEvent    = 100    // characters of the JSON around an event's text, about
	maxTerms       = 64     // different words of a query
)

// recallQuery is the argument of the tool.
type recallQuery struct {
	Words string `json:"words,omitempty" jsonschema:"words or values to look for; the passages with the most and the rarest of them are returned"`
	From  int64  `json:"from,omitempty" jsonschema:"position of the first event to read; 1 is the first of the conversation"`
	To    int64  `json:"to,omitempty" jsonschema:"position of the last event to read"`
	Skip  int    `json:"skip,omitempty" jsonschema:"how many characters to leave out at the beginning of the first event, to read on in a long one"`
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

// gap stands for what is left out of a text.
const gap = "…"

type recalledEvent struct {
	Position int64  `json:"position"`
	Author   string `json:"author"`
	Time     string `json:"time,omitempty"`
	Text     string `json:"text"`
	// Left is how many characters of the text are left out, at each mark "…".
	Left int `json:"left,omitempty"`
	// Skip reads on in an event that was read by its position: the skip of the next call. It is 0 if the text ends here.
	Skip int `json:"skip,omitempty"`
}

// Recall returns a tool with which an agent reads the events that a summary stands for, by words or by
// positions. The tool reads only the session that it is called in, from the given service, and only what the
// agent's branch sees. It reads events as they are in the log, after plugins have redacted them, and none
// that a rewind has voided. It leaves out thoughts, and finds no words in what it has returned before. An answer
// has at most 12,000 characters, and no more tokens than the prompt has room for, after a compaction if need be.
// Calls that are made at once share the room. The passages that match best are chosen first, as far as there is
// room, and are then shown in the order of the conversation.
//
// The configuration is that of the plugin; the zero Config if the session is not compacted.
func Recall(sessions session.Service, c Config) *tool.Tool {
	completed, err := c.complete()
	if err != nil {
		completed, _ = Config{}.complete() // New refuses the configuration
	}
	k := newCompactor(completed)
	known := new(indexes)
	t, err := tool.New(
		meter.RecallName,
		"Reads earlier parts of this conversation, word for word, of which you are only shown a summary. "+
			"Use it before you say or do something that depends on an exact wording, value or result which the summary leaves out. Give words to look for, or positions.",
		func(ctx context.Context, call *tool.Call, q recallQuery) (*recalled, error) {
			if q.Words == "" && q.From == 0 && q.To == 0 {
				return nil, errors.New("give words to look for, or positions: from, to or both")
			}
			if q.From < 0 || q.To < 0 || q.Skip < 0 || q.To != 0 && q.To < q.From {
				return nil, fmt.Errorf("there are no positions from %d to %d", q.From, q.To)
			}
			r := &recaller{compactor: k, indexes: known, sessions: sessions, toolCall: call, query: q}
			return r.answer(ctx)
		},
	)
	if err != nil {
		panic(err) // its parameters are always the same
	}
	return t
}

// A recaller answers one call of the tool.
type recaller struct {
	*compactor
	indexes  *indexes
	sessions session.Service
	toolCall *tool.Call
	query    recallQuery
}

func (r *recaller) answer(ctx context.Context) (*recalled, error) {
	// Find out what a summary stands for, and what is cleared.
	inv := r.toolCall.Invocation
	log, err := r.indexes.of(ctx, r.sessions, inv)
	if err != nil {
		return nil, err
	}
	covered := log.covered(func(branch string) bool { return agent.Sees(r.toolCall.Branch, branch) })
	answer := &recalled{Events: []recalledEvent{}}
	if len(covered) == 0 {
		return answer, nil
	}
	answer.First = covered[0].seq
	answer.Last = covered[len(covered)-1].seq

	// Find the passages that match.
	matches := newSearch(r.query, r.room())
	var asked []int64
	for _, text := range covered {
		isAsked := text.seq >= r.query.From && (r.query.To == 0 || text.seq <= r.query.To)
		if isAsked && !(len(matches.terms) > 0 && text.recalled) {
			asked = append(asked, text.seq)
		}
	}
	unread := len(asked)
	beyond := 0 // the length of the event that Skip leaves out whole
	err = r.read(ctx, asked, func(e *session.Event) bool {
		unread--
		text := extract.Render(e)
		if size := utf8.RuneCountInString(text); e.Seq == r.query.From && size <= r.query.Skip {
			beyond = size
		}
		return matches.add(e.Seq, text)
	})
	switch {
	case err != nil:
		return nil, err
	case beyond > 0 && r.query.Skip > 0:
		return nil, fmt.Errorf("the event at position %d has %d characters: skip %d leaves none of them", r.query.From, beyond, r.query.Skip)
	}
	if len(matches.terms) > 0 {
		err = r.read(ctx, matches.shortlist(), func(e *session.Event) bool {
			matches.measure(e.Seq, extract.Render(e))
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	chosen, left := matches.best()
	left = append(left, asked[len(asked)-unread:]...)
	answer.More = len(left)
	if len(left) > 0 {
		answer.Next = slices.Min(left)
	}

	// Read the text of those that are chosen.
	err = r.read(ctx, slices.Sorted(maps.Keys(chosen)), func(e *session.Event) bool {
		text := extract.Render(e)
		found := newRecalledEvent(e, text, chosen[e.Seq])
		if len(matches.terms) == 0 && r.query.From == r.query.To {
			found.Skip = readOnFrom(text, chosen[e.Seq])
		}
		answer.Events = append(answer.Events, found)
		return true
	})
	return answer, err
}

// room returns what an answer may have, so that the prompt shows it whole: as much as the plugin would leave of
// a very long one.
func (r *recaller) room() room {
	inv := *r.toolCall.Invocation
	m := r.meter(inv.Live)

	// The prompt has the instruction and the tools, too. The model has reported how many tokens these are, or the
	// last compaction has counted them, or the tools tell. A sixteenth is for what is new.
	fixed := m.Beside
	if inv.Offered != nil {
		fixed = max(fixed, m.Tools(inv.Offered(r.toolCall.Agent)))
	}
	for _, e := range inv.Live {
		if n := meter.NoteOf(e); n != nil {
			fixed = max(fixed, n.Fixed)
		}
	}
	limit := r.Budget - r.Budget/16

	// The calls of one event are answered by one event, and share the room.
	answer := &session.Event{
		Seq:          inv.Position + 1,
		InvocationID: inv.ID,
		Author:       r.toolCall.Agent,
		Branch:       r.toolCall.Branch,
		Content:      &genai.Content{Role: genai.RoleUser},
	}
	long := func(call *genai.FunctionCall) {
		answer.Content.Parts = append(answer.Content.Parts, session.Respond(call,
			map[string]any{"text": strings.Repeat("a word\n", maxRecallText/7)}).Content.Parts...)
	}
	for _, e := range inv.Live {
		here := e.FunctionCalls()
		if slices.ContainsFunc(here, func(c *genai.FunctionCall) bool { return c.ID == r.toolCall.ID }) {
			answer.Content.Parts = nil
			for _, call := range here {
				long(call)
			}
		}
	}
	if len(answer.Content.Parts) == 0 { // the call is not in the live view
		long(&genai.FunctionCall{ID: r.toolCall.ID, Name: meter.RecallName})
	}
	inv.Live = append(slices.Clip(inv.Live), answer)
	shown := m
	if m.View(inv.Live, r.toolCall.Branch)+fixed > limit {
		p := plan.Make(r.settings, m, &inv, plan.Task{
			Trigger:     "budget",
			Running:     true,
			Branch:      r.toolCall.Branch,
			Limit:       limit,
			FixedTokens: fixed,
		})
		shown = p.Meter
	}
	count := func(response map[string]any) int {
		return m.Content(&genai.Content{Parts: []*genai.Part{{
			FunctionResponse: &genai.FunctionResponse{Name: meter.RecallName, Response: response},
		}}})
	}
	around := count(map[string]any{
		"author":   r.toolCall.Agent,
		"left":     inv.Position,
		"position": inv.Position,
		"time":     time.Now().UTC().Format(time.RFC3339),
	})
	beside := count(map[string]any{"first": inv.Position, "last": inv.Position, "more": inv.Position, "next": inv.Position})
	return room{
		characters: maxRecallText,
		tokens:     max(1, shown.Event(answer)/len(answer.Content.Parts)-beside),
		around:     around,
		count:      func(text string) int { return count(map[string]any{"text": text}) },
	}
}

// newRecalledEvent returns an event with those spans of its text, which are ascending.
func newRecalledEvent(e *session.Event, text string, spans []span) recalledEvent {
	r := recalledEvent{
		Position: e.Seq,
		Author:   e.Author,
		Left:     utf8.RuneCountInString(text),
	}
	if !e.Timestamp.IsZero() {
		r.Time = e.Timestamp.UTC().Format(time.RFC3339)
	}
	var b strings.Builder
	end := 0 // of what is written
	for _, s := range spans {
		if s.from > end {
			b.WriteString(gap)
		}
		b.WriteString(text[s.from:s.to])
		r.Left -= s.runes
		end = s.to
	}
	if end < len(text) {
		b.WriteString(gap)
	}
	r.Text = b.String()
	return r
}

// readOnFrom returns how many characters of a text come before the end of the last span, 0 if that is the text's end.
func readOnFrom(text string, spans []span) int {
	end := spans[len(spans)-1].to
	if end == len(text) {
		return 0
	}
	return utf8.RuneCountInString(text[:end])
}

// nearby is how many events are read over, rather than asking the store anew.
const nearby = 100

// read calls f with the events at some positions, which are ascending, until f returns false.
func (r *recaller) read(ctx context.Context, positions []int64, f func(*session.Event) bool) error {
	for next := true; next && len(positions) > 0; {
		next = false
		from := session.Selection{After: positions[0] - 1}
		for e, err := range r.sessions.Read(ctx, r.toolCall.Invocation.Key, from) {
			if err != nil {
				return fmt.Errorf("cannot read the log: %w", err)
			}
			if e.Seq < positions[0] {
				continue
			}
			if e.Seq == positions[0] && !f(e) {
				return nil
			}
			passed, _ := slices.BinarySearch(positions, e.Seq+1)
			positions = positions[passed:]
			if len(positions) == 0 || positions[0] > e.Seq+nearby {
				next = true
				break
			}
		}
	}
	return nil
}
