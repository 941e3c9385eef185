package rewind_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/replay"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var key = session.Key{App: "a", User: "u", ID: "s"}

// bot answers a text, and counts in the state.
var bot = agent.New(
	"bot",
	"",
	func(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			inv := host.Now()
			n, _ := inv.State["n"].(float64)
			e := session.Reply("to " + inv.Input.Text())
			e.Actions.StateDelta = map[string]any{"n": n + 1}
			yield(e, nil)
		}
	},
)

// compact is a plugin that covers up to a position when it is told "compact N", keeping what is
// told then.
var compact = &plugin.Plugin{
	Name: "compact",
	OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
		c := session.Compaction{
			Frontier: inv.Frontier,
			Content:  genai.NewContentFromText("summary", "user"),
		}
		var keep int64
		if n, _ := fmt.Sscanf(e.Text(), "compact %d keep %d", &c.Through, &keep); n == 0 {
			return plugin.Outcome{}, nil
		} else if n == 2 {
			c.Keep = []int64{keep}
		}
		return plugin.Outcome{
			Emit:     []*session.Event{{Actions: session.Actions{Compaction: &c}}},
			Withhold: true,
			Stop:     true,
		}, nil
	},
}

type scene struct {
	t        require.TestingT
	sessions session.Service
	runner   *runner.Runner
}

func stage(t require.TestingT) *scene { return on(t, memory.New()) }

func on(t require.TestingT, sessions session.Service) *scene {
	return with(t, sessions, rewind.New(sessions))
}

func with(t require.TestingT, sessions session.Service, p *plugin.Plugin) *scene {
	r, err := runner.New(
		runner.Options{Agent: bot, Sessions: sessions, Plugins: []*plugin.Plugin{p, compact}})
	require.NoError(t, err)
	return &scene{t, sessions, r}
}

func (s *scene) run(input *session.Event) (events []*session.Event, err error) {
	for e, err := range s.runner.Run(context.Background(), key, input, session.RunConfig{Create: true}) {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

// say runs texts, each as an invocation named like it.
func (s *scene) say(texts ...string) *scene {
	for _, text := range texts {
		in := session.Message(text)
		in.InvocationID = text
		_, err := s.run(in)
		require.NoError(s.t, err)
	}
	return s
}

// do runs a command and returns the position that it rewinds to, or what is wrong with it.
func (s *scene) do(c session.Command) (to int64, wrong string) {
	return s.answer(c.Event())
}

func (s *scene) answer(input *session.Event) (to int64, wrong string) {
	before := len(s.read(false))
	events, err := s.run(input)
	require.NoError(s.t, err)
	require.Len(s.t, events, 1, "the command is not kept, and no agent runs")
	require.Equal(s.t, "plugin/rewind", events[0].Author)
	require.Len(s.t, s.read(false), before+1)
	if events[0].ErrorCode != "" {
		require.Equal(s.t, rewind.Invalid, events[0].ErrorCode)
		require.Nil(s.t, events[0].Actions.Rewind)
		return -1, events[0].ErrorMessage
	}
	return events[0].Actions.Rewind.To, ""
}

func (s *scene) read(live bool) (events []*session.Event) {
	for e, err := range s.sessions.Read(context.Background(), key, session.Selection{Live: live}) {
		require.NoError(s.t, err)
		events = append(events, e)
	}
	return events
}

// live is what counts: the user's texts, and the state.
func (s *scene) live() string {
	var texts []string
	for _, e := range s.read(true) {
		switch {
		case e.Marker():
			texts = append(texts, "summary")
		case e.Author == session.User:
			texts = append(texts, e.Text())
		}
	}
	was, err := s.sessions.Get(context.Background(), key)
	require.NoError(s.t, err)
	n, _ := was.State["n"].(float64)
	return fmt.Sprintf("%s n=%v", strings.Join(texts, " "), n)
}

func Example() {
	sessions := memory.New()
	r, err := runner.New(runner.Options{
		Agent:    bot,
		Sessions: sessions,
		Plugins:  []*plugin.Plugin{rewind.New(sessions)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, input := range []*session.Event{session.Message("a"), session.Message("b"), rewind.Turns(1).Event(), session.Message("c"), rewind.Turns(5).Event()} {
		for e, err := range r.Run(context.Background(), key, input, session.RunConfig{Create: true}) {
			switch {
			case err != nil:
				fmt.Println(err)
			case e.Actions.Rewind != nil:
				fmt.Println(e.Seq, e.Author, "to", e.Actions.Rewind.To)
			default:
				fmt.Println(e.Seq, e.Author, e.Text()+e.ErrorMessage)
			}
		}
	}
	// Output:
	// 1 user a
	// 2 bot to a
	// 3 user b
	// 4 bot to b
	// 5 plugin/rewind to 2
	// 6 user c
	// 7 bot to c
	// 8 plugin/rewind rewind: only 2 turns can be undone
}

func TestCommands(t *testing.T) {
	for name, tc := range map[string]struct {
		say  []string
		do   session.Command
		want string // what counts afterwards, or what is wrong
	}{
		"to":                                 {[]string{"a", "b"}, rewind.To(2), "a n=1"},
		"to the middle of an invocation":     {[]string{"a", "b"}, rewind.To(3), "a b n=1"},
		"to the beginning":                   {[]string{"a", "b"}, rewind.To(0), " n=0"},
		"to where it is":                     {[]string{"a", "b"}, rewind.To(4), "rewind: there is nothing to rewind: the session is at position 4"},
		"to what is ahead":                   {[]string{"a", "b"}, rewind.To(5), "rewind: there is no position 5 yet: the last event is at 4"},
		"to less than nothing":               {[]string{"a"}, rewind.To(-1), "rewind: to cannot be -1; the command takes"},
		"to in an empty session":             {nil, rewind.To(0), "rewind: there is nothing to rewind"},
		"before":                             {[]string{"a", "b", "c"}, rewind.Before("b"), "a n=1"},
		"before the last":                    {[]string{"a", "b", "c"}, rewind.Before("c"), "a b n=2"},
		"before the first":                   {[]string{"a", "b", "c"}, rewind.Before("a"), " n=0"},
		"before what is unknown":             {[]string{"a"}, rewind.Before("x"), `rewind: there is no invocation "x"`},
		"before what is kept":                {[]string{"a", "b", "c", "compact 4 keep 3"}, rewind.Before("b"), "a n=1"},
		"before what is covered":             {[]string{"a", "b", "c", "compact 4"}, rewind.Before("b"), "a n=1"},
		"before what is covered in part":     {[]string{"a", "b", "c", "compact 3"}, rewind.Before("b"), "a n=1"},
		"before the first that is uncovered": {[]string{"a", "b", "c", "compact 4"}, rewind.Before("c"), "a b n=2"},
		"before the compaction's own":        {[]string{"a", "b", "compact 2"}, rewind.Before("compact 2"), "rewind: there is no invocation"},
		"a turn":                             {[]string{"a", "b", "c"}, rewind.Turns(1), "a b n=2"},
		"two turns":                          {[]string{"a", "b", "c"}, rewind.Turns(2), "a n=1"},
		"all turns":                          {[]string{"a", "b", "c"}, rewind.Turns(3), " n=0"},
		"more turns":                         {[]string{"a", "b", "c"}, rewind.Turns(4), "rewind: only 3 turns can be undone"},
		"no turns":                           {[]string{"a"}, rewind.Turns(0), "rewind: turns cannot be 0; the command takes"},
		"a turn of an empty session":         {nil, rewind.Turns(1), "rewind: there are no turns to undo"},
		"turns after a compaction":           {[]string{"a", "b", "c", "compact 2"}, rewind.Turns(2), "a n=1"},
		"turns that are covered":             {[]string{"a", "b", "c", "compact 2"}, rewind.Turns(3), " n=0"},
		"turns that are covered in part":     {[]string{"a", "b", "c", "compact 3"}, rewind.Turns(2), "a n=1"},
		"turns that are kept":                {[]string{"a", "b", "c", "compact 4 keep 1"}, rewind.Turns(2), "a n=1"},
		"to what is covered":                 {[]string{"a", "b", "c", "compact 4"}, rewind.To(2), "a n=1"},
		"to after the compaction":            {[]string{"a", "b", "compact 2", "c"}, rewind.To(5), "summary b n=2"},

		"no argument":        {[]string{"a"}, session.Command{Name: "rewind"}, "rewind: the command takes one argument, not 0"},
		"two arguments":      {[]string{"a"}, session.Command{Name: "rewind", Args: map[string]any{"to": 0, "turns": 1}}, "rewind: the command takes one argument, not 2"},
		"another argument":   {[]string{"a"}, session.Command{Name: "rewind", Args: map[string]any{"back": 1}}, "rewind: back cannot be 1; the command takes"},
		"a text":             {[]string{"a"}, session.Command{Name: "rewind", Args: map[string]any{"to": "1"}}, "rewind: to cannot be 1; the command takes"},
		"a number":           {[]string{"a"}, session.Command{Name: "rewind", Args: map[string]any{"before": 1}}, "rewind: before cannot be 1; the command takes"},
		"a fraction":         {[]string{"a"}, session.Command{Name: "rewind", Args: map[string]any{"to": 0.5}}, "rewind: to cannot be 0.5; the command takes"},
		"an endless number":  {[]string{"a"}, session.Command{Name: "rewind", Args: map[string]any{"to": json.Number("1e999")}}, "rewind: to cannot be 1e999; the command takes"},
		"numbers of Go":      {[]string{"a"}, session.Command{Name: "rewind", Args: map[string]any{"turns": 1}}, " n=0"},
		"more numbers of Go": {[]string{"a"}, session.Command{Name: "rewind", Args: map[string]any{"to": int64(1)}}, "a n=0"},
		"numbers of JSON":    {[]string{"a"}, session.Command{Name: "rewind", Args: map[string]any{"to": json.Number("1")}}, "a n=0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage(t).say(tc.say...)
			if len(tc.say) == 0 {
				_, err := s.sessions.Create(t.Context(), key, nil)
				require.NoError(t, err)
			}
			before := s.live()
			if _, wrong := s.do(tc.do); wrong != "" {
				require.Contains(t, wrong, tc.want)
				require.Equal(t, before, s.live())
				return
			}
			require.Equal(t, tc.want, s.live())
		})
	}
}

// A turn that answers a human's question, and one without input, go with the message before them.
func TestTurnsBeginWithMessages(t *testing.T) {
	s := stage(t).say("a", "b")
	verdict := &session.Event{
		Actions: session.Actions{
			RequestedToolConfirmations: map[string]session.Confirmation{"c": {Confirmed: true}},
		},
	}
	late := session.Respond(&genai.FunctionCall{ID: "c", Name: "f"}, map[string]any{"ok": true})
	log := s.read(false)
	last := log[len(log)-1]
	held := &session.Event{
		Author:       last.Author,
		InvocationID: last.InvocationID,
		Content: &genai.Content{
			Role:  genai.RoleModel,
			Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: "c", Name: "f"}}},
		},
		Actions: session.Actions{
			RequestedToolConfirmations: map[string]session.Confirmation{"c": {Hint: "sure?"}},
		},
	}
	s.put(held)
	for _, input := range []*session.Event{verdict, late} {
		_, err := s.run(input)
		require.NoError(t, err)
	}
	to, wrong := s.do(rewind.Turns(1))
	require.Empty(t, wrong)
	require.EqualValues(t, 2, to)
}

// A turn in which the conversation was compacted begins with its message, not with the compaction.
func TestATurnThatCompacts(t *testing.T) {
	event := func(seq int64, author string) *session.Event {
		return &session.Event{
			Seq:          seq,
			Author:       author,
			InvocationID: "b",
			Content:      session.Message("b").Content,
		}
	}
	head := &session.Event{
		Seq:          5,
		Author:       "plugin/compact",
		InvocationID: "b",
		Actions:      session.Actions{Compaction: &session.Compaction{Through: 2}},
	}
	inv := &session.Invocation{
		Live:     []*session.Event{head, event(3, session.User), event(4, "bot"), event(6, "bot")},
		Position: 6,
	}
	for _, c := range []session.Command{rewind.Turns(1), rewind.Before("b")} {
		input := c.Event()
		input.ID = "in"
		out, err := rewind.New(memory.New()).OnEvent(t.Context(), inv, input)
		require.NoError(t, err)
		require.Equal(
			t,
			[]*session.Event{
				{
					ID: "rewind:in", Actions: session.Actions{Rewind: &session.Rewind{To: 2}},
					CustomMetadata: map[string]any{"rewind": c.Args},
				},
			},
			out.Emit,
		)
	}
}

func TestARewindGoesOnAndIsTakenBack(t *testing.T) {
	s := stage(t).say("a", "b", "c") // 1 to 6
	s.do(rewind.Before("b"))         // 7
	require.Equal(t, "a n=1", s.live())
	_, wrong := s.do(rewind.Before("c")) // 8: it was taken back
	require.Contains(t, wrong, `invocation "c" was taken back, by the rewind at position 7`)
	s.say("d") // 9, 10
	require.Equal(t, "a d n=2", s.live())

	s.do(rewind.To(6)) // 11: the rewind and what followed never happened
	require.Equal(t, "a b c n=3", s.live())
	s.do(rewind.To(10)) // 12: they did
	require.Equal(t, "a d n=2", s.live())
	s.do(rewind.To(4)) // 13: into what was voided
	require.Equal(t, "a b n=2", s.live())
	s.do(rewind.Turns(1)) // 14
	s.say("e")
	require.Equal(t, "a e n=2", s.live())
}

func TestTheMessageComesAfterwards(t *testing.T) {
	s := stage(t).say("a", "b")
	both := rewind.Turns(1).Event()
	both.Content = session.Message("c").Content
	_, wrong := s.answer(both)
	require.Contains(t, wrong, "send the message afterwards")
	require.Equal(t, "a b n=2", s.live())
}

// A client whose connection broke sends the command again, and does not lose another turn.
func TestACommandWithAnIDIsCarriedOutOnce(t *testing.T) {
	s := stage(t).say("a", "b", "c")
	command := rewind.Turns(1).Event()
	command.ID = "once"
	_, err := s.run(command)
	require.NoError(t, err)
	_, err = s.run(command)
	require.ErrorIs(t, err, session.ErrIDReused)
	require.Equal(t, "a b n=2", s.live())
}

func TestWhatIsNoCommandToRewind(t *testing.T) {
	p := rewind.New(memory.New())
	agents := rewind.To(0).Event()
	agents.Author = "bot"
	for _, e := range []*session.Event{session.Message("rewind"), session.Command{Name: "compact"}.Event(), agents} {
		out, err := p.OnEvent(t.Context(), &session.Invocation{Position: 5}, e)
		require.NoError(t, err)
		require.True(t, out.IsZero())
	}
}

// Whatever is said and taken back: what counts afterwards is what counted at the position.
func TestLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := stage(rt)
		s.say("first")
		for i := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			log, live := s.read(false), s.read(true)
			position := int64(len(log))
			var c session.Command
			want := int64(-1)
			switch rapid.SampledFrom([]string{"say", "say", "compact", "to", "turns", "before"}).Draw(rt, "step") {
			case "say":
				s.say(fmt.Sprint("text", i))
				continue
			case "compact":
				in := session.Message(
					fmt.Sprint("compact ", rapid.Int64Range(1, position).Draw(rt, "through")))
				_, _ = s.run(in) // or it is refused
				continue
			case "to":
				want = rapid.Int64Range(0, position-1).Draw(rt, "position")
				c = rewind.To(want)
			case "turns":
				n := rapid.IntRange(1, 3).Draw(rt, "n")
				c = rewind.Turns(n)
				want = voided(session.Live(log), n)
			case "before":
				id := log[rapid.IntRange(0, len(log)-1).Draw(rt, "event")].InvocationID
				c = rewind.Before(id)
				for _, e := range uncompacted(log) {
					if e.InvocationID == id && want < 0 {
						want = e.Seq - 1
					}
				}
			}
			to, wrong := s.do(c)
			compacted := len(live) > 0 && live[0].Marker()
			if wrong != "" {
				require.True(rt, want < 0 || compacted, "%v: %s", c, wrong)
				require.Equal(rt, seqs(live), seqs(s.read(true)[:len(live)]))
				continue
			}
			if c.Args["turns"] == nil || !compacted {
				require.Equal(rt, seqs(session.Live(log[:want])), seqs(session.Live(log[:to])),
					"%v", c)
			}
			require.Equal(rt, seqs(session.Live(log[:to])), seqs(s.read(true)))
			was, err := s.sessions.Get(context.Background(), key)
			require.NoError(rt, err)
			require.Equal(rt, session.State(nil, log[:to]), was.State)
		}
	})
}

// voided returns the position before the n-th last message of a live view without a compaction, -1
// if there is none.
func voided(live []*session.Event, n int) int64 {
	for i := len(live) - 1; i >= 0; i-- {
		if live[i].Author == session.User {
			if n--; n == 0 {
				return live[i].Seq - 1
			}
		}
	}
	return -1
}

// uncompacted returns what counts of a log, and what compactions stand for.
func uncompacted(log []*session.Event) []*session.Event {
	var raw []*session.Event
	for _, e := range log {
		if c := e.Actions.Compaction; c != nil {
			e = &session.Event{Seq: e.Seq}
		}
		raw = append(raw, e)
	}
	return session.Live(raw)
}

func seqs(events []*session.Event) []int64 {
	list := []int64{}
	for _, e := range events {
		list = append(list, e.Seq)
	}
	return list
}

// The log of a session with rewinds is played as it was, with the plugin and without, from a
// database.
func TestReplay(t *testing.T) {
	sessions, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, sessions.Close()) }()
	s := on(t, sessions).say("a", "b", "c", "compact 2")
	s.do(rewind.Turns(1))
	s.say("d")
	s.do(rewind.To(6))
	s.do(rewind.Before("unknown"))
	want := s.live()
	require.Equal(t, "a b c n=3", want)
	var file strings.Builder
	require.NoError(t, session.Export(t.Context(), sessions, key, &file))
	for rec, err := range session.ReadRecordings("f", strings.NewReader(file.String())) {
		require.NoError(t, err)
		for _, withPlugin := range []bool{false, true} {
			a, err := replay.New("bot", rec)
			require.NoError(t, err)
			again := memory.New()
			var plugins []*plugin.Plugin
			if withPlugin {
				plugins = append(plugins, rewind.New(again))
			}
			_, err = again.Create(t.Context(), key, rec.State)
			require.NoError(t, err)
			r, err := runner.New(
				runner.Options{Agent: a, Sessions: again, Plugins: plugins, Restore: true})
			require.NoError(t, err)
			for input := range a.Inputs(key) {
				for _, err := range r.Run(t.Context(), key, input, session.RunConfig{}) {
					require.NoError(t, err)
				}
			}
			var played strings.Builder
			require.NoError(t, session.Export(t.Context(), again, key, &played))
			require.Equal(t, strings.Split(file.String(), "\n")[1:],
				strings.Split(played.String(), "\n")[1:])
			require.Equal(t, want, (&scene{t: t, sessions: again}).live())
		}
	}
}
