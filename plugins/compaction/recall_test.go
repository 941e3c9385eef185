package compaction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// recollection is an answer of the tool.
type recollection struct {
	Events []struct {
		Position     int64
		Author, Text string
		Left, Skip   int
	}
	First, Last, Next int64
	More              int
}

func (r *recollection) positions() (list []int64) {
	for _, e := range r.Events {
		list = append(list, e.Position)
	}
	return list
}

// ask calls the tool as an agent of a branch does.
func ask(
	t require.TestingT,
	svc session.Service,
	branch string,
	args map[string]any,
) (*recollection, error) {
	return askOf(t, compaction.Recall(svc, compaction.Config{}), svc, branch, args)
}

// askOf calls a tool that may have been called before.
func askOf(
	t require.TestingT,
	recall *tool.Tool,
	svc session.Service,
	branch string,
	args map[string]any,
) (*recollection, error) {
	s, err := svc.Get(ctx, key)
	require.NoError(t, err)
	check, err := recall.Check()
	require.NoError(t, err)
	require.NoError(t, check(ctx, args))
	resp, err := recall.Run(ctx, &tool.Call{
		Name:       meter.RecallName,
		Args:       args,
		Branch:     branch,
		Invocation: &session.Invocation{Key: s.Key, Number: s.Number, Position: s.Position},
	})
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(resp)
	require.NoError(t, err)
	var r recollection
	require.NoError(t, json.Unmarshal(data, &r))
	return &r, nil
}

// logged returns a service with one session of these events.
func logged(t require.TestingT, events ...*session.Event) session.Service {
	svc := memory.New()
	_, err := svc.Create(ctx, key, nil)
	require.NoError(t, err)
	for i, e := range events {
		_, err := svc.Append(ctx, session.AppendTarget{Key: key, After: int64(i)}, e)
		require.NoError(t, err)
	}
	return svc
}

func says(author, branch, text string) *session.Event {
	return &session.Event{
		Author:  author,
		Branch:  branch,
		Content: genai.NewContentFromText(text, genai.RoleModel),
	}
}

func summary(through, frontier int64, keep ...int64) *session.Event {
	return &session.Event{
		Author: "plugin/compaction",
		Actions: session.Actions{
			Compaction: &session.Compaction{
				Through:  through,
				Keep:     keep,
				Frontier: frontier,
				Content:  genai.NewContentFromText("a summary", genai.RoleUser),
			},
		},
	}
}

func TestRecall(t *testing.T) {
	svc := logged(
		t,
		says("user", "", "My order is K7Q2, please move it"),
		says("desk", "", "Which day?"),
		says("left", "left", "left works on K7Q2"),
		says("right", "right", "right works on K7Q2"),
		says("inner", "desk@c1", "a conversation of its own about K7Q2"),
		says("user", "", "Forget K7Q2"),
		&session.Event{
			Author:  "plugin/rewind",
			Actions: session.Actions{Rewind: &session.Rewind{To: 5}},
		},
		says("desk", "", "K7Q2 leaves on Friday"), // 8
		&session.Event{
			Author: "desk",
			Content: &genai.Content{
				Parts: []*genai.Part{
					{Text: "K7Q2 secretly", Thought: true},
					{
						FunctionCall: &genai.FunctionCall{
							ID:   "c",
							Name: "book",
							Args: map[string]any{"id": "K7Q2"},
						},
					},
				},
			},
		},
		session.Respond(&genai.FunctionCall{ID: "c", Name: "book"},
			map[string]any{"fee": "25 EUR"}), // 10
		summary(8, 7, 2), // 11
		says("user", "", "What of K7Q2?"),
		summary(10, 11), // 13
		says("desk", "", "K7Q2 is still here"),
	)
	for _, c := range []struct {
		name   string
		branch string
		args   map[string]any
		want   []int64
	}{
		{"by words: what is covered, not what is void, live, or of other branches", "", map[string]any{"words": "k7q2"}, []int64{1, 3, 4, 8, 9}},
		{"a branch sees its own and everyone's", "left", map[string]any{"words": "k7q2"}, []int64{1, 3, 8, 9}},
		{"an agent that is a tool sees its own conversation", "desk@c1", map[string]any{"words": "k7q2"}, []int64{5}},
		{"by positions", "", map[string]any{"from": 2, "to": 8}, []int64{2, 3, 4, 8}},
		{"from one on", "", map[string]any{"from": 9}, []int64{9, 10}},
		{"both", "", map[string]any{"words": "friday", "from": 4}, []int64{8}},
		{"values of responses", "", map[string]any{"words": "25 EUR"}, []int64{10}},
		{"nothing", "", map[string]any{"words": "zebra"}, nil},
		{"no word at all", "", map[string]any{"words": "?", "from": 10}, []int64{10}},
	} {
		got, err := ask(t, svc, c.branch, c.args)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got.positions(), c.name)
		require.Zero(t, got.More, c.name)
	}
	got, err := ask(t, svc, "", map[string]any{"from": 9, "to": 9})
	require.NoError(t, err)
	require.Equal(t, `book {"id":"K7Q2"}`, got.Events[0].Text) // and no thought
	require.Equal(t, [2]int64{1, 10}, [2]int64{got.First, got.Last})

	for _, args := range []map[string]any{{}, {"from": 3, "to": 2}, {"from": -1}} {
		_, err := ask(t, svc, "", args)
		require.Error(t, err)
	}
	_, err = compaction.Recall(svc, compaction.Config{}).
		Run(ctx, &tool.Call{Args: map[string]any{"words": "K7Q2"}, Invocation: &session.Invocation{Key: session.Key{App: "app", User: "eve", ID: "s"}, Position: 99}})
	require.ErrorIs(t, err, session.ErrNotFound) // its own session, and no other
}

// An answer is bounded, and says how to go on.
func TestRecallIsBounded(t *testing.T) {
	var events []*session.Event
	for i := range 60 {
		events = append(events,
			says("desk", "", fmt.Sprintf("number %d %s", i+1, strings.Repeat("ä", i*100))))
	}
	svc := logged(t, append(events, summary(60, 0))...)
	var all []int64
	for from := int64(1); from != 0; {
		got, err := ask(t, svc, "", map[string]any{"from": from})
		require.NoError(t, err)
		size := 0
		for _, e := range got.Events {
			n := len([]rune(e.Text))
			require.LessOrEqual(t, n, 3001)
			require.Equal(t, e.Left > 0, strings.HasSuffix(e.Text, "…"))
			size += n
		}
		require.LessOrEqual(t, size, 12_000)
		all = append(all, got.positions()...)
		require.Equal(t, 60-len(all), got.More)
		from = got.Next
	}
	require.Len(t, all, 60)
	require.True(t, slices.IsSorted(all))

	got, err := ask(t, svc, "", map[string]any{"words": "number 7"})
	require.NoError(t, err)
	require.Contains(t, got.positions(), int64(7)) // the rarest word leads
}

// What the tool returns has room in the prompt that the model is asked with next, and fills it. It is not
// summarized afterwards: what it returned was said before.
func TestRecallFillsTheRoomThatIsLeft(t *testing.T) {
	for _, window := range []int{2500, 5000, 8000} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			shown := "" // of the last answer, in the prompt
			m := &speaker{}
			m.answer = func(n int, req *model.Request) (*model.Response, error) {
				last := req.Contents[len(req.Contents)-1]
				for _, p := range last.Parts {
					if p.FunctionResponse != nil {
						data, err := json.Marshal(p.FunctionResponse.Response)
						require.NoError(t, err)
						shown = string(data)
					}
				}
				if n > 40 && n%2 == 0 {
					return called("", meter.RecallName, map[string]any{"words": "harbour parcel"}), nil
				}
				return said("answer %d: the parcel %d is at the harbour, %s", n, n, filler(60)), nil
			}
			s := newScene(t)
			c := compaction.Config{Window: window, Foreground: true, Log: slog.New(s.records)}
			a, err := llm.New(
				llm.Config{Name: "agent", Model: m, Tools: []*tool.Tool{compaction.Recall(s.sessions, c)}})
			require.NoError(t, err)
			p, err := compaction.New(c)
			require.NoError(t, err)
			s.start(a, p)
			answers := 0
			for i := range 70 {
				shown = ""
				s.say("question %d %s", i, filler(40))
				if shown == "" {
					continue
				}
				answers++
				var got recollection
				require.NoError(t, json.Unmarshal([]byte(shown), &got), "it is whole")
				require.NotContains(t, shown, "reads on")
				require.NotContains(t, shown, "reads them")
				require.Greater(t, len(shown), min(window/3, 6000), "it fills the room")
			}
			require.Greater(t, answers, 20)
			for _, e := range s.compactions() {
				for _, part := range e.Actions.Compaction.Content.Parts {
					require.NotContains(t, part.Text, "position")
				}
			}
		})
	}
}

// What a query asks for is shown, wherever in however long a text it stands, and however much else has
// some of the words.
func TestRecallShowsWhatIsAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prose := func() string {
			words := rapid.SliceOfN(rapid.SampledFrom([]string{"the mortgage", "was paid", "in March.", "A bank", "lends", "money,\n", "and so", "it goes."}), 0, 900).
				Draw(t, "prose")
			return strings.Join(words, " ")
		}
		var events []*session.Event
		n := rapid.IntRange(1, 40).Draw(t, "events")
		at := rapid.IntRange(1, n).Draw(t, "position of the answer")
		for i := 1; i <= n; i++ {
			text := prose() + " mortgage "
			if i == at {
				text += "The Halvorsen rate is 4.25 percent. " + prose()
			}
			events = append(events, says("desk", "", text))
		}
		svc := logged(t, append(events, summary(int64(n), 0))...)
		got, err := ask(t, svc, "", map[string]any{"words": "what was Halvorsen's mortgage rate?"})
		require.NoError(t, err)
		shown := 0
		found := false
		for _, e := range got.Events {
			shown += len([]rune(e.Text))
			found = found ||
				e.Position == int64(at) &&
					strings.Contains(e.Text, "Halvorsen rate is 4.25 percent")
		}
		require.True(t, found, "the answer at %d is not shown: %v", at, got.positions())
		require.LessOrEqual(t, shown, 12_000)
		require.True(t, slices.IsSorted(got.positions()))
	})
}

// A long event can be read to its end, part by part.
func TestRecallReadsALongEventWhole(t *testing.T) {
	whole := strings.Repeat("0123456789 äöü ", 3000)
	svc := logged(t, says("desk", "", whole), summary(1, 0))
	var read string
	for skip := 0; ; {
		got, err := ask(t, svc, "", map[string]any{"from": 1, "to": 1, "skip": skip})
		require.NoError(t, err)
		require.Len(t, got.Events, 1)
		read += strings.Trim(got.Events[0].Text, "…")
		if skip = got.Events[0].Skip; skip == 0 {
			break
		}
		require.Equal(t, len([]rune(read)), skip)
	}
	require.Equal(t, whole, read)
	_, err := ask(t, svc, "", map[string]any{"from": 1, "to": 1, "skip": 45_000})
	require.ErrorContains(t, err, "has 45000 characters: skip 45000 leaves none of them")
}

// What the tool returns is what a summary in force stands for, whatever the log, and whatever it was asked before.
func TestRecallIsWhatIsCovered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log []*session.Event
		frontier := int64(0)
		svc := logged(t)
		recall := compaction.Recall(svc, compaction.Config{})
		for i := range rapid.IntRange(1, 18).Draw(t, "events") {
			var e *session.Event
			switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case kind == 4 && i > 0:
				e = summary(int64(rapid.IntRange(1, i).Draw(t, "through")), frontier)
			case kind == 5 && i > 0:
				e = &session.Event{
					Author: "plugin/rewind",
					Actions: session.Actions{
						Rewind: &session.Rewind{To: int64(rapid.IntRange(0, i).Draw(t, "to"))},
					},
				}
			default:
				e = says("desk", "", fmt.Sprint("said ", i))
			}
			if _, err := svc.Append(ctx, session.AppendTarget{Key: key, After: int64(len(log))}, e); err != nil {
				require.ErrorIs(t, err, session.ErrInvalid)
				continue
			}
			if log = append(log, e); e.Marker() {
				frontier = e.Seq
			}
			if !rapid.Bool().Draw(t, "is asked") {
				continue
			}
			want := coveredBy(log)
			got, err := askOf(t, recall, svc, "", map[string]any{"from": 1})
			require.NoError(t, err)
			require.Equal(t, want, got.positions())
			if len(want) > 0 {
				require.Equal(t, []int64{want[0], want[len(want)-1]}, []int64{got.First, got.Last})
				got, err = askOf(t, recall, svc, "", map[string]any{"words": "said"})
				require.NoError(t, err)
				require.Equal(t, want, got.positions())
			}
		}
	})
}

// coveredBy returns the positions of what the summaries in force of a log stand for.
func coveredBy(log []*session.Event) (want []int64) {
	live := map[int64]bool{}
	for _, e := range session.Live(log) {
		live[e.Seq] = true
	}
	for _, e := range notVoid(log) {
		if !live[e.Seq] && !e.Marker() {
			want = append(want, e.Seq)
		}
	}
	slices.Sort(want)
	return want
}

// A call does not read the whole log: what became of the events is known from the call before, and a
// page is read from where it begins.
func TestRecallReadsLittle(t *testing.T) {
	var log []*session.Event
	for i := range 1000 {
		log = append(log, says("desk", "", fmt.Sprintf("said %d %s", i, strings.Repeat("word ", 100))))
	}
	svc := &readCounter{Service: logged(t, append(log, summary(1000, 0))...)}
	recall := compaction.Recall(svc, compaction.Config{})
	read := func(args map[string]any) (int, *recollection) {
		svc.events = 0
		got, err := askOf(t, recall, svc, "", args)
		require.NoError(t, err)
		return svc.events, got
	}
	_, _ = read(map[string]any{"from": 1, "to": 1})

	events, got := read(map[string]any{"from": 700, "to": 700})
	require.Equal(t, []int64{700}, got.positions())
	require.LessOrEqual(t, events, 2)

	events, got = read(map[string]any{"from": 300})
	require.NotEmpty(t, got.Events)
	require.Equal(t, 701-len(got.Events), got.More)
	require.Equal(t, int64(300+len(got.Events)), got.Next)
	require.LessOrEqual(t, events, 60, "a page that does not fit is tried")

	_, err := svc.Append(ctx, session.AppendTarget{Key: key, After: 1001}, says("desk", "", "more"))
	require.NoError(t, err)
	events, got = read(map[string]any{"words": "993"})
	require.Equal(t, []int64{994}, got.positions())
	require.LessOrEqual(t, events, 1003, "what is searched, once, and what has come")
}

// readCounter counts the events that are read of a service.
type readCounter struct {
	session.Service
	events int
}

func (c *readCounter) Read(ctx context.Context, key session.Key, sel session.Selection) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		for e, err := range c.Service.Read(ctx, key, sel) {
			c.events++
			if !yield(e, err) {
				return
			}
		}
	}
}

// notVoid returns the events of a log that no rewind voids.
func notVoid(log []*session.Event) (list []*session.Event) {
	for i := len(log) - 1; i >= 0; i-- {
		if r := log[i].Actions.Rewind; r != nil {
			i = int(r.To)
			continue
		}
		list = append(list, log[i])
	}
	return list
}

// What a plugin has redacted stays redacted: for the agent, the summary, and the tool.
func TestRecallAfterRedaction(t *testing.T) {
	cards := &plugin.Plugin{
		Name: "cards",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if !strings.Contains(e.Text(), "4111") {
				return plugin.Outcome{}, nil
			}
			c := e.Clone()
			c.Content.Parts[0].Text = strings.ReplaceAll(e.Text(), "4111", "[card]")
			return plugin.Outcome{Replace: c}, nil
		},
	}
	m := &speaker{answer: func(n int, req *model.Request) (*model.Response, error) {
		if n == 9 {
			return called("r", meter.RecallName, map[string]any{"words": "card"}), nil
		}
		return said("answer %d %s", n, strings.Repeat("word ", 60)), nil
	}}
	svc := memory.New()
	a, err := llm.New(
		llm.Config{Name: "agent", Model: m, Tools: []*tool.Tool{compaction.Recall(svc, compaction.Config{})}})
	require.NoError(t, err)
	c := small()
	c.Log = slog.New(slog.DiscardHandler)
	p, err := compaction.New(c)
	require.NoError(t, err)
	s := &scene{t: t, sessions: svc}
	s.runner, err = runner.New(
		runner.Options{Agent: a, Sessions: svc, Plugins: []*plugin.Plugin{p, cards}, Log: c.Log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.runner.Close(context.Background())) })
	for i := range 9 {
		s.say("message %d: my card is 4111", i)
	}
	require.NotEmpty(t, s.compactions())
	var response map[string]any
	for _, e := range s.events(session.Selection{}) {
		for _, r := range e.FunctionResponses() {
			response = r.Response
		}
	}
	data, err := json.Marshal(response)
	require.NoError(t, err)
	require.Contains(t, string(data), "my card is [card]")
	require.NotContains(t, string(data), "4111")
}
