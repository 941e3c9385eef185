package compaction

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// RecallName is the name of the tool that Recall returns.
const RecallName = "recall"

// How much an answer of the tool has, in characters of text, and in events.
const (
	recallText  = 12_000
	recallEvent = 3_000 // of one event; of a longer one its beginning
	recallMost  = 20
)

// recallQuery is what the tool takes.
type recallQuery struct {
	Words string `json:"words,omitempty" jsonschema:"words or values to look for; what has most of them, and the rarest, is returned"`
	From  int64  `json:"from,omitempty" jsonschema:"position to read from; 1 is where the conversation begins"`
	To    int64  `json:"to,omitempty" jsonschema:"last position to read"`
}

// recalled is what it returns.
type recalled struct {
	Events []recalledEvent `json:"events"`
	// First and Last are the positions of what can be recalled, 0 if there is nothing.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	// More is how many events were left out for want of room; Next is where the first of them stands.
	More int   `json:"more,omitempty"`
	Next int64 `json:"next,omitempty"`
}

type recalledEvent struct {
	Position int64  `json:"position"`
	Author   string `json:"author"`
	Time     string `json:"time,omitempty"`
	Text     string `json:"text"`
	// Left is how many characters of the text were left out.
	Left int `json:"left,omitempty"`
}

// Recall returns a tool with which an agent reads the originals that a summary stands for: by words, or by positions. It reads the
// session that it is called in, in that service, and no other; what the agent's branch sees, as plugins have left it in the
// log; nothing that a rewind has voided. Thoughts are left out, and an answer has at most 20 events and 12,000 characters.
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

// recaller answers one call. It reads the log several times, and keeps no text but the answer's.
type recaller struct {
	sessions session.Service
	call     *tool.Call
	query    recallQuery
	fates    session.Statuses
	last     int64 // the log's last position when the call began
}

func (r *recaller) answer(ctx context.Context) (*recalled, error) {
	r.last = r.call.Invocation.Position
	err := r.read(ctx, 0, func(e *session.Event) bool { r.fates.Add(e); return true })
	if err != nil {
		return nil, err
	}
	words := terms(r.query.Words)
	out := &recalled{Events: []recalledEvent{}}
	found := &search{words: words, in: make([]int, len(words))}
	err = r.covered(ctx, 0, func(e *session.Event, text string) bool {
		if out.First == 0 {
			out.First = e.Seq
		}
		out.Last = e.Seq
		if e.Seq >= r.query.From && (r.query.To == 0 || e.Seq <= r.query.To) {
			found.add(e.Seq, text)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	chosen, left := found.best(recallMost)
	if len(chosen) == 0 {
		return out, nil
	}
	room := recallText
	err = r.covered(ctx, chosen[0]-1, func(e *session.Event, text string) bool {
		if len(chosen) == 0 || e.Seq != chosen[0] {
			return len(chosen) > 0
		}
		one := recalledEvent{Position: e.Seq, Author: e.Author, Text: text}
		if !e.Timestamp.IsZero() {
			one.Time = e.Timestamp.UTC().Format(time.RFC3339)
		}
		if n := utf8.RuneCountInString(text); n > recallEvent {
			one.Text, one.Left = string([]rune(text)[:recallEvent])+"…", n-recallEvent
		}
		if room -= utf8.RuneCountInString(one.Text); room < 0 {
			return false
		}
		out.Events, chosen = append(out.Events, one), chosen[1:]
		return true
	})
	out.More = len(chosen) + len(left)
	for _, seq := range append(chosen, left...) {
		if out.Next == 0 || seq < out.Next {
			out.Next = seq
		}
	}
	return out, err
}

// covered passes on the events, with their texts, that a summary in force stands for and the caller's branch sees.
func (r *recaller) covered(ctx context.Context, after int64, f func(*session.Event, string) bool) error {
	return r.read(ctx, after, func(e *session.Event) bool {
		if fate := r.fates.Of(e); fate.Void != 0 || fate.Behind == 0 || e.Marker() || !agent.Sees(r.call.Branch, e.Branch) {
			return true
		}
		text := extract.Render(e)
		return text == "" || f(e, text)
	})
}

// read passes on the log as it was when the call began, until f returns false.
func (r *recaller) read(ctx context.Context, after int64, f func(*session.Event) bool) error {
	for e, err := range r.sessions.Read(ctx, r.call.Invocation.Key, session.Selection{After: after}) {
		if err != nil {
			return fmt.Errorf("the log cannot be read: %w", err)
		}
		if e.Seq > r.last || !f(e) {
			return nil
		}
	}
	return nil
}
