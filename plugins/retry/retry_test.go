package retry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model/script"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/retry"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
	"github.com/plughook/plughook/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var key = session.Key{App: "a", User: "u", ID: "s"}

// caller returns an agent that makes the calls "tool arg" of one answer after the other, and
// executes those that are open: a tool fails if its argument begins with "bad".
func caller(answers ...[]string) agent.Agent {
	return agent.New(
		"bot",
		"",
		func(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				for i, calls := range answers {
					said, done := &genai.Content{
						Role: genai.RoleModel,
					}, &genai.Content{
						Role: genai.RoleUser,
					}
					for n, c := range calls {
						name, arg, _ := strings.Cut(c, " ")
						said.Parts = append(said.Parts, &genai.Part{
							FunctionCall: &genai.FunctionCall{
								ID:   fmt.Sprintf("%d.%d", i, n),
								Name: name,
								Args: map[string]any{"arg": arg},
							},
						})
					}
					if !yield(&session.Event{Content: said}, nil) {
						return
					}
					inv := host.Now()
					for _, c := range session.Calls(inv.Live) {
						if c.Response != nil || c.Event.InvocationID != inv.ID {
							continue
						}
						response := map[string]any{"ran": c.Args["arg"]}
						if arg := fmt.Sprint(c.Args["arg"]); strings.HasPrefix(arg, "bad") {
							response = map[string]any{"error": arg}
						}
						done.Parts = append(done.Parts, &genai.Part{
							FunctionResponse: &genai.FunctionResponse{
								ID:       c.ID,
								Name:     c.Name,
								Response: response,
							},
						})
					}
					if len(done.Parts) > 0 && !yield(&session.Event{Content: done}, nil) {
						return
					}
				}
			}
		},
	)
}

func runs(
	t testing.TB,
	sessions session.Service,
	a agent.Agent,
	input *session.Event,
	plugins ...*plugin.Plugin,
) (log []*session.Event) {
	t.Helper()
	r, err := runner.New(runner.Options{Agent: a, Sessions: sessions, Plugins: plugins})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(t.Context())) }()
	for e, err := range r.Run(t.Context(), key, input, session.RunConfig{Create: true}) {
		require.NoError(t, err)
		log = append(log, e)
	}
	return log
}

// became says what became of the calls of a log: "tool arg: ran", "tool arg: failed 1 of 3" or "…
// last", "tool arg: refused by AUTHOR", "tool arg: ERROR" for an error that nothing was added to.
func became(t testing.TB, log []*session.Event) (list []string) {
	t.Helper()
	for _, c := range session.Calls(log) {
		what := "open"
		if c.Response != nil {
			for _, p := range c.Response.Content.Parts {
				if p.FunctionResponse != nil && p.FunctionResponse.ID == c.ID {
					what = outcome(t, c, p.FunctionResponse.Response)
				}
			}
		}
		list = append(list, fmt.Sprintf("%s %v: %s", c.Name, c.Args["arg"], what))
	}
	return list
}

func outcome(t testing.TB, c session.Call, response map[string]any) string {
	note, noted := response[retry.Key].(map[string]any)
	switch {
	case noted:
		require.Equal(t, c.Args, note["args"])
		require.Equal(t, c.Args["arg"], response["error"], "the error stays as it was")
		last := ""
		if strings.Contains(note["guidance"].(string), "do not call "+c.Name+" again") {
			last = " last"
		} else {
			require.Contains(t, note["guidance"], "call "+c.Name+" again with better ones")
		}
		return fmt.Sprintf("failed %v of %v%s", note["attempt"], note["max"], last)
	case response["error"] == nil:
		return "ran"
	case strings.HasPrefix(response["error"].(string), "not executed: "+c.Name+" has failed"):
		require.Equal(t, "plugin/retry", c.Response.Author)
		return "refused"
	}
	return response["error"].(string)
}

func with(t testing.TB, c retry.Config) *plugin.Plugin {
	t.Helper()
	p, err := retry.New(c)
	require.NoError(t, err)
	return p
}

func Example() {
	p, err := retry.New(retry.Config{Max: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := runner.New(runner.Options{
		Agent:    caller([]string{"book bad date"}, []string{"book bad seat"}, []string{"book 12A"}),
		Sessions: memory.New(),
		Plugins:  []*plugin.Plugin{p},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range r.Run(context.Background(), key, session.Message("book me a seat"), session.RunConfig{Create: true}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if len(e.FunctionResponses()) > 0 {
			response := e.Content.Parts[0].FunctionResponse.Response
			note, _ := response["retry"].(map[string]any)
			fmt.Println(e.Author, note["attempt"], response["error"])
		}
	}
	// Output:
	// bot 1 bad date
	// bot 2 bad seat
	// plugin/retry <nil> not executed: book has failed 2 times in this run, and may not be called again in it; go on without it, and say what could not be done
}

func TestAttempts(t *testing.T) {
	for name, tc := range map[string]struct {
		config  retry.Config
		answers [][]string
		want    []string
	}{
		"no failure":          {retry.Config{}, [][]string{{"f 1"}}, []string{"f 1: ran"}},
		"three are the usual": {retry.Config{}, [][]string{{"f bad1"}, {"f bad2"}, {"f bad3"}, {"f 4"}}, []string{"f bad1: failed 1 of 3", "f bad2: failed 2 of 3", "f bad3: failed 3 of 3 last", "f 4: refused"}},
		"max":                 {retry.Config{Max: 1}, [][]string{{"f bad1"}, {"f 2"}, {"f 3"}}, []string{"f bad1: failed 1 of 1 last", "f 2: refused", "f 3: refused"}},
		"each tool has its own": {retry.Config{Max: 1}, [][]string{{"f bad1"}, {"g bad1"}, {"f 2"}, {"h 2"}},
			[]string{"f bad1: failed 1 of 1 last", "g bad1: failed 1 of 1 last", "f 2: refused", "h 2: ran"}},
		"a success in between does not forgive": {retry.Config{Max: 2}, [][]string{{"f bad1"}, {"f 2"}, {"f bad3"}, {"f 4"}},
			[]string{"f bad1: failed 1 of 2", "f 2: ran", "f bad3: failed 2 of 2 last", "f 4: refused"}},
		"parallel calls count one each": {retry.Config{Max: 2}, [][]string{{"f bad1", "g 1", "f bad2"}, {"f 3", "g 3"}},
			[]string{"f bad1: failed 1 of 2", "g 1: ran", "f bad2: failed 2 of 2 last", "f 3: refused", "g 3: ran"}},
		"parallel calls beyond the limit": {retry.Config{Max: 1}, [][]string{{"f bad1", "f bad2"}},
			[]string{"f bad1: failed 1 of 1 last", "f bad2: failed 2 of 1 last"}},
		"only these": {retry.Config{Max: 1, Tools: []string{"g"}}, [][]string{{"f bad1", "g bad1"}, {"f bad2", "g 2"}},
			[]string{"f bad1: bad1", "g bad1: failed 1 of 1 last", "f bad2: bad2", "g 2: refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			log := runs(t, memory.New(), caller(tc.answers...), session.Message("go"),
				with(t, tc.config))
			require.Equal(t, tc.want, became(t, log))
		})
	}
}

// A model reads what went wrong, and does better; or it reads that it has to stop.
func TestAModelReadsIt(t *testing.T) {
	m, err := script.Parse("f.yaml", []byte(`
- {user: ^seat, call: {name: book, args: {seat: 99Z}}}
- {user: ^plane, call: {name: book, args: {seat: 98Z}}}
- user: ^seat
  error: book
  call: {name: book, args: {seat: 12A, instead: '{{.response.book.retry.args.seat}}'}}
- user: ^plane
  error: book
  say: '{{.response.book.retry.guidance}}'
- {response: book, say: booked}
`))
	require.NoError(t, err)
	type seat struct {
		Seat    string `json:"seat"`
		Instead string `json:"instead,omitempty"`
	}
	var tried []seat
	book, err := tool.New(
		"book",
		"",
		func(_ context.Context, _ *tool.Call, in seat) (string, error) {
			if tried = append(tried, in); in.Seat != "12A" {
				return "", errors.New("no such seat")
			}
			return "done", nil
		},
	)
	require.NoError(t, err)
	bot, err := llm.New(llm.Config{Name: "bot", Model: m, Tools: []*tool.Tool{book}})
	require.NoError(t, err)
	sessions := memory.New()
	log := runs(t, sessions, bot, session.Message("seat"), with(t, retry.Config{}))
	require.Equal(t, "booked", log[len(log)-1].Text())
	require.Equal(t, []seat{{"99Z", ""}, {"12A", "99Z"}}, tried)
	log = runs(t, sessions, bot, session.Message("plane"), with(t, retry.Config{Max: 1}))
	require.Equal(
		t,
		"This was the last attempt: do not call book again now. Go on without it, and say what could not be done.",
		log[len(log)-1].Text(),
	)
}

func TestTheNextInvocationBeginsAtZero(t *testing.T) {
	sessions := memory.New()
	for range 2 {
		log := runs(t, sessions, caller([]string{"f bad"}, []string{"f 2"}), session.Message("go"),
			with(t, retry.Config{Max: 1}))
		require.Equal(t, []string{"f bad: failed 1 of 1 last", "f 2: refused"}, became(t, log))
	}
}

// What was counted is in the log: another process goes on with the invocation, and with the count.
func TestItCountsInTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	var log []*session.Event
	for i, answers := range [][][]string{{{"f bad1"}, {"f bad2"}}, {{"f bad3"}, {"f 4"}}} {
		sessions, err := sqlite.Open(t.Context(), path)
		require.NoError(t, err)
		input := session.Message("go")
		input.InvocationID = "one"
		runs(t, sessions, caller(answers...), input, with(t, retry.Config{}))
		log = nil
		for e, err := range sessions.Read(t.Context(), key, session.Selection{}) {
			require.NoError(t, err)
			log = append(log, e)
		}
		require.NoError(t, sessions.Close())
		if i == 0 {
			require.Equal(t, []string{"f bad1: failed 1 of 3", "f bad2: failed 2 of 3"},
				became(t, log))
		}
	}
	require.Equal(
		t,
		[]string{
			"f bad1: failed 1 of 3",
			"f bad2: failed 2 of 3",
			"f bad3: failed 3 of 3 last",
			"f 4: refused",
		},
		became(t, log),
	)
}

// Two failures were voided by a rewind: they do not count.
func TestARewindTakesBackTheCount(t *testing.T) {
	rewind := &plugin.Plugin{
		Name: "rewind",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Text() != "undo" {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{
				Emit: []*session.Event{
					{Actions: session.Actions{Rewind: &session.Rewind{To: 1}}},
				},
				Withhold: true,
				Stop:     true,
			}, nil
		},
	}
	sessions := memory.New()
	input := func(text string) *session.Event {
		in := session.Message(text)
		in.InvocationID = "one"
		return in
	}
	runs(t, sessions, caller([]string{"f bad1"}, []string{"f bad2"}), input("go"),
		with(t, retry.Config{}))
	runs(t, sessions, caller(), input("undo"), rewind)
	log := runs(t, sessions, caller([]string{"f bad3"}), input("go"), with(t, retry.Config{}))
	require.Equal(t, []string{"f bad3: failed 1 of 3"}, became(t, log))
}

func TestWhatIsNoFailure(t *testing.T) {
	respond := func(author, code string, response map[string]any) *session.Event {
		e := session.Respond(&genai.FunctionCall{ID: "1", Name: "f"}, response)
		e.Author, e.ErrorCode, e.InvocationID, e.ID = author, code, "one", "e"
		return e
	}
	partial := respond("bot", "", map[string]any{"error": "no"})
	partial.Partial = true
	for name, tc := range map[string]struct {
		event *session.Event
		want  bool
	}{
		"a failure":                    {respond("bot", "", map[string]any{"error": "no"}), true},
		"an error of another form":     {respond("bot", "", map[string]any{"error": map[string]any{"code": 5.0}}), true},
		"an answer that came later":    {respond("user", "", map[string]any{"error": "no"}), true},
		"a success":                    {respond("bot", "", map[string]any{"result": "no"}), false},
		"no error after all":           {respond("bot", "", map[string]any{"error": nil}), false},
		"nothing":                      {respond("bot", "", nil), false},
		"a partial event":              {partial, false},
		"an event without content":     {&session.Event{Author: "bot"}, false},
		"a plugin's":                   {respond("plugin/policy", "", map[string]any{"error": "no"}), false},
		"a denial in a response's way": {respond("bot", session.Denied, map[string]any{"error": "no"}), false},
		"a human's no":                 {respond("bot", "", map[string]any{"error": "declined: no", "declined": true}), false},
		"an interruption":              {respond("bot", "", map[string]any{"error": "the run ended", "interrupted": true}), false},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := with(t,
				retry.Config{Max: 1}).OnEvent(t.Context(), &session.Invocation{ID: "one"}, tc.event)
			require.NoError(t, err)
			require.Equal(t, tc.want, out.Replace != nil)
			require.NoError(t, out.Check(plugin.OnEvent))

			call := &session.Event{
				ID:           "c",
				Author:       "bot",
				InvocationID: "one",
				Content: &genai.Content{
					Role:  "model",
					Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: "2", Name: "f"}}},
				},
			}
			if !tc.event.Partial {
				out, err = with(
					t,
					retry.Config{Max: 1},
				).OnEvent(t.Context(), &session.Invocation{ID: "one", Live: []*session.Event{tc.event}}, call)
				require.NoError(t, err)
				require.Equal(t, tc.want, len(out.Emit) == 1, "it counts if it is a failure")
			}
		})
	}
}

// A denial by a plugin is final, and is answered by who has denied.
func TestADenialIsNotRetried(t *testing.T) {
	deny := &plugin.Plugin{
		Name: "policy",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (out plugin.Outcome, _ error) {
			for _, c := range session.Calls([]*session.Event{e}) {
				r := session.Respond(c.FunctionCall, map[string]any{"error": "not allowed"})
				r.ErrorCode = session.Denied
				out.Emit = append(out.Emit, r)
			}
			return out, nil
		},
	}
	log := runs(t, memory.New(), caller([]string{"f 1"}, []string{"f 2"}), session.Message("go"),
		deny, with(t, retry.Config{Max: 1}))
	require.Equal(t, []string{"f 1: not allowed", "f 2: not allowed"}, became(t, log))
}

// What else the event has stays as it is, to the byte, and who has changed it is noted.
func TestTheRestStaysVerbatim(t *testing.T) {
	var e session.Event
	require.NoError(t, json.Unmarshal(
		[]byte(`{"id":"e","invocationId":"one","author":"bot","content":{"role":"user","parts":[
		{"functionResponse":{"id":"1","name":"f","response":{"n":9007199254740993},"x-unknown":1}},
		{"text":"beside","thoughtSignature":"c2ln"},
		{"functionResponse":{"id":"2","name":"f","response":{"error":"no","detail":{"deep":[1]}}}}]},"actions":{"stateDelta":{"k":1}}}`),
		&e,
	))
	before := e.Clone()
	out, err := with(t, retry.Config{}).OnEvent(t.Context(), &session.Invocation{ID: "one"}, &e)
	require.NoError(t, err)
	require.Equal(t, before, &e, "the event at hand is not changed")
	require.Equal(t, "f has failed, attempt 1 of 3", out.Reason)
	changed := out.Replace.Content.Parts[2].FunctionResponse.Response
	require.Equal(t, map[string]any{"deep": []any{1.0}}, changed["detail"])
	require.NotContains(t, changed[retry.Key], "args", "the call is not in the live view")
	delete(changed, retry.Key)
	require.Equal(t, before.Content.Parts, out.Replace.Content.Parts)
	require.Equal(t, before.Actions, out.Replace.Actions)
}

// An event that was played from a record is not changed again.
func TestOnceIsEnough(t *testing.T) {
	sessions := memory.New()
	log := runs(t, sessions, caller([]string{"f bad1"}), session.Message("go"),
		with(t, retry.Config{}))
	out, err := with(
		t,
		retry.Config{},
	).OnEvent(t.Context(), &session.Invocation{ID: log[0].InvocationID, Live: log[:2]}, log[2])
	require.NoError(t, err)
	require.True(t, out.IsZero())
	require.Equal(t, []plugin.Note{{Plugin: "retry", Reason: "f has failed, attempt 1 of 3"}},
		plugin.NotesOf(log[2]).Changed)
}

func TestRefused(t *testing.T) {
	_, err := retry.New(retry.Config{Max: -1})
	require.EqualError(t, err, "retry: max is -1; it must be how often a tool may fail, at least 1")
	_, err = retry.New(retry.Config{Tools: []string{"f", ""}})
	require.EqualError(t, err, "retry: tools has an empty name")
}

// What a workflow calls for a node is left alone, however often it has failed: no model reads the
// response.
func TestAWorkflowsOwnCallsAreLeftAlone(t *testing.T) {
	p, err := retry.New(retry.Config{Max: 1})
	require.NoError(t, err)
	call := &genai.FunctionCall{ID: "c", Name: "price"}
	of := func(author string, e *session.Event) *session.Event {
		e.Author = author
		e.InvocationID = "i"
		e.ID = session.NewID()
		e.NodeInfo = &session.NodeInfo{Path: "desk@i/price@1"}
		return e
	}
	called := func(author string) *session.Event {
		return of(author, &session.Event{
			Content: &genai.Content{
				Role:  genai.RoleModel,
				Parts: []*genai.Part{{FunctionCall: call}},
			},
		})
	}
	failed := func(author string) *session.Event {
		return of(author, session.Respond(call, map[string]any{"error": "no luck"}))
	}
	inv := &session.Invocation{ID: "i", Live: []*session.Event{called("desk"), failed("desk")}}
	for _, e := range []*session.Event{called("desk"), failed("desk"), called("writer")} {
		out, err := p.OnEvent(t.Context(), inv, e)
		require.NoError(t, err)
		require.Zero(t, out)
	}
	inv.Live = []*session.Event{called("writer"), failed("writer")}
	out, err := p.OnEvent(t.Context(), inv, called("writer"))
	require.NoError(t, err)
	require.Len(t, out.Emit, 1, "an agent's call is one")
}
