package compaction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// An acting session has a model that acts on what its request shows: if the result of a call that it made is
// not in front of it, it makes the call again. No limit of model calls hides that.
type acting struct {
	t      *testing.T
	r      *rand.Rand
	budget int
	store  session.Service
	runner *runner.Runner
	model  *speaker

	wants map[string]want // by the id of a call: what its result must show, until it was seen
	calls int
	turn  int

	// What has happened.
	again     []string // calls that the model had to make again, and why
	refused   int
	most      int // tokens of a prompt
	over      int // prompts above the budget
	readOn    int // cut results that the model has read on in
	followed  int // of these, how often what was read began with the next row
	recalls   int // answers of the tool recall
	cut       int // of these, how many the prompt had no room for
	summaries int
}

// A want is what the model has asked for.
type want struct {
	tool  string
	args  map[string]any
	shows string // stands at the beginning of the result
	next  string // begins what is read on, "" if that is not known
	tries int
}

func newActing(t *testing.T, budget int, seed uint64) *acting {
	s := &acting{
		t:      t,
		r:      rand.New(rand.NewPCG(seed, uint64(budget))),
		budget: budget,
		store:  memory.New(),
		wants:  map[string]want{},
	}
	config := compaction.Config{
		Window: budget,
		Budget: budget,
		Log:    slog.New(slog.DiscardHandler),
	}
	compacts, err := compaction.New(config)
	require.NoError(t, err)
	m := &speaker{answer: s.answer}
	s.model = m
	tools := []*tool.Tool{s.fetch(), s.hold(), s.later(), compaction.Recall(s.store, config)}
	make := func(name string, below ...agent.Agent) agent.Agent {
		a, err := llm.New(llm.Config{
			Name:          name,
			Model:         m,
			Tools:         tools,
			SubAgents:     below,
			MaxModelCalls: 1 << 30,
		})
		require.NoError(t, err)
		return a
	}
	s.runner, err = runner.New(runner.Options{
		Agent:    make("desk", make("depot")),
		Sessions: s.store,
		Plugins:  []*plugin.Plugin{compacts, rewind.New(s.store)},
		Log:      slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.runner.Close(context.Background())) })
	_, err = s.store.Create(ctx, key, nil)
	require.NoError(t, err)
	return s
}

var anyObject = map[string]any{"type": "object"}

// fetch returns rows of text, as many characters as it is asked for.
func (s *acting) fetch() *tool.Tool {
	return &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "fetch", ParametersJsonSchema: anyObject},
		Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
			size, _ := strconv.Atoi(fmt.Sprint(c.Args["size"]))
			return map[string]any{"result": rows(fmt.Sprint(c.Args["page"]), size)}, nil
		},
	}
}

// rows returns a page of numbered rows.
func rows(page string, size int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "page %s begins\n", page)
	for n := 1; b.Len() < size; n++ {
		fmt.Fprintf(&b, "row %d of page %s: the parcel went from the depot to the harbour\n", n, page)
	}
	return b.String()
}

// hold asks a human, and then says yes.
func (s *acting) hold() *tool.Tool {
	return &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "hold", ParametersJsonSchema: anyObject},
		Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
			if c.Confirmation == nil {
				return nil, &tool.Ask{Hint: "may it?"}
			}
			return map[string]any{"result": "page " + fmt.Sprint(c.Args["page"]) + " begins"}, nil
		},
	}
}

// later is answered by a later input, or never.
func (s *acting) later() *tool.Tool {
	return &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "later", ParametersJsonSchema: anyObject},
		LongRunning: true,
		Run:         func(context.Context, *tool.Call) (map[string]any, error) { return nil, nil },
	}
}

// call returns a call of a tool, and remembers what its result must show.
func (s *acting) call(name string, args map[string]any, shows string, tries int) *genai.Part {
	s.calls++
	id := fmt.Sprint("call-", s.calls)
	s.wants[id] = want{tool: name, args: args, shows: shows, tries: tries}
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: args}}
}

// readsOn matches what a cut result says of how to read on, in any of its forms.
var readsOn = regexp.MustCompile(`recall with from (\d+)[^"]*?to (\d+)(?:[^"]*?skip (\d+))?`)

// answer is the model.
func (s *acting) answer(_ int, req *model.Request) (*model.Response, error) {
	s.measure(req)
	require.NoError(s.t, grammar(req.Contents))

	// Look for what was asked for. What is not there is asked for again.
	var parts []*genai.Part
	shown := map[string]string{} // by the id of a call: its result
	text := ""
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			text += p.Text + "\n"
			if p.FunctionResponse != nil {
				data, err := json.Marshal(p.FunctionResponse.Response)
				require.NoError(s.t, err)
				shown[p.FunctionResponse.ID] = string(data)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.wants)) {
		w := s.wants[id]
		result, isThere := shown[id]
		delete(s.wants, id)
		how := readsOn.FindStringSubmatch(result)
		switch {
		case strings.Contains(result, w.shows), strings.Contains(text, w.shows), how != nil:
			if w.tool == meter.RecallName {
				s.recalls++
				s.continued(result, w)
			}
			if w.tool == meter.RecallName && how != nil && strings.Contains(result, " characters; recall with") {
				s.cut++
			}
			if w.tool == "fetch" && how != nil && s.r.IntN(2) == 0 {
				s.readOn++
				parts = append(parts, s.continues(result, how, w))
			}
		case w.tool != "fetch" && w.tool != meter.RecallName &&
			(!isThere && strings.Contains(text, "are not shown") || strings.Contains(result, "pending") ||
				strings.Contains(text, fmt.Sprintf("called %s with", w.tool))):
			s.wants[id] = w // it still waits
		default:
			s.again = append(s.again, fmt.Sprintf("turn %d, %s %v: %.100s", s.turn, w.tool, w.args, result))
			if w.tries > 3 {
				continue
			}
			parts = append(parts, s.call(w.tool, w.args, w.shows, w.tries+1))
		}
	}
	if len(parts) > 0 {
		return &model.Response{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}}, nil
	}

	// Otherwise act on the message, seldom more than once.
	switch s.r.IntN(10) {
	case 0, 1, 2:
		for range 1 + s.r.IntN(3)*s.r.IntN(2) {
			parts = append(parts, s.fetches())
		}
	case 3:
		if s.r.IntN(4) == 0 { // many small results at once
			size := 100 + s.r.IntN(300)
			for range min(s.budget/200, 24) {
				parts = append(parts, s.fetchSized(size))
			}
			break
		}
		parts = append(parts, s.fetches(), s.held("hold"))
	case 4:
		parts = append(parts, s.held("later"))
	case 5:
		to := "depot"
		if req.Agent == to {
			to = "desk"
		}
		parts = append(parts, &genai.Part{FunctionCall: &genai.FunctionCall{
			Name: "transfer_to_agent",
			Args: map[string]any{"agent_name": to},
		}})
	case 6:
		query := map[string]any{"words": fmt.Sprintf("message %d parcel", 1+s.r.IntN(s.turn+1))}
		parts = append(parts, s.call(meter.RecallName, query, "events", 0))
	default:
		return said("answer of turn %d %s", s.turn, filler(1+s.r.IntN(80))), nil
	}
	return &model.Response{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}}, nil
}

// measure holds a prompt to its bound.
func (s *acting) measure(req *model.Request) {
	size := meter.Tokens(req.Config.SystemInstruction)
	for _, c := range req.Contents {
		size += meter.Tokens(c)
	}
	tools, err := json.Marshal(req.Config.Tools)
	require.NoError(s.t, err)
	size += meter.Tokens(genai.NewContentFromText(string(tools), genai.RoleUser))
	s.most = max(s.most, size)
	if size > s.budget {
		s.over++
	}
}

// fetches asks for a page, seldom for a very large one.
func (s *acting) fetches() *genai.Part {
	sizes := []int{100, 1000, 4000, 8000, 20_000, 32_000}
	size := sizes[s.r.IntN(len(sizes))]
	if s.r.IntN(20) == 0 {
		size = 300_000
	}
	return s.fetchSized(size)
}

// fetchSized asks for a page of a size.
func (s *acting) fetchSized(size int) *genai.Part {
	page := fmt.Sprintf("%d-%d", s.turn, s.calls)
	return s.call("fetch", map[string]any{"page": page, "size": size},
		fmt.Sprintf("page %s begins", page), 0)
}

// held makes a call that waits for somebody.
func (s *acting) held(name string) *genai.Part {
	page := fmt.Sprintf("%d-%d", s.turn, s.calls)
	return s.call(name, map[string]any{"page": page, "why": filler(1 + s.r.IntN(60))},
		fmt.Sprintf("page %s begins", page), 0)
}

// lastRow matches the number of a whole row.
var lastRow = regexp.MustCompile(`row (\d+) of page (\S+): [^\\]*?harbour`)

// continues reads on where a cut result ends: the answer must begin with the row after the last one that was
// shown, and does not if that one was cut in the middle.
func (s *acting) continues(result string, how []string, w want) *genai.Part {
	from, _ := strconv.Atoi(how[1])
	to, _ := strconv.Atoi(how[2])
	skip, _ := strconv.Atoi(how[3])
	row := 0
	if found := lastRow.FindAllStringSubmatch(result, -1); len(found) > 0 && strings.Contains(result, "reads on") {
		row, _ = strconv.Atoi(found[len(found)-1][1])
	}
	part := s.call(meter.RecallName, map[string]any{"from": from, "to": to, "skip": skip}, "position", 0)
	if row > 0 {
		on := s.wants[part.FunctionCall.ID]
		on.next = fmt.Sprintf("row %d of page %v:", row+1, w.args["page"])
		s.wants[part.FunctionCall.ID] = on
	}
	return part
}

// recalledText matches the text of the first event that the tool recall has returned, as far as it is shown.
var recalledText = regexp.MustCompile(`text\\*":\\*"…?([^…"\\]*)`)

// continued holds an answer of the tool recall to where it must begin.
func (s *acting) continued(result string, w want) {
	found := recalledText.FindStringSubmatch(result)
	if w.next == "" || found == nil {
		return
	}
	require.True(s.t, strings.HasPrefix(found[1], w.next) || strings.HasPrefix(w.next, found[1]),
		"turn %d: %v begins with %.100q, want %q", s.turn, w.args, found[1], w.next)
	s.followed++
}

// say plays one turn: a message, seldom a very long one or one with images, the answer to a call that waits,
// or a rewind.
func (s *acting) say() {
	s.turn++
	s.model.asked = nil // requests share the memory of what they show
	words := s.r.IntN(60)
	if s.r.IntN(25) == 0 {
		words = 200 + s.r.IntN(6000)
	}
	input := session.Message(fmt.Sprintf("message %d %s", s.turn, filler(words)))
	switch s.r.IntN(20) {
	case 0:
		input = rewind.Turns(1 + s.r.IntN(3)).Event()
		clear(s.wants) // what is rewound was not asked for
	case 1, 2, 3:
		inv, err := session.Snapshot(ctx, s.store, key)
		require.NoError(s.t, err)
		for _, c := range session.Calls(inv.Live) {
			switch {
			case !c.Waits():
			case c.Held != nil && c.Decision == nil:
				input = session.Decision(true, c.ID)
			case c.Deferred != nil && s.r.IntN(2) == 0:
				result := rows(fmt.Sprint(c.Args["page"]), 100+s.r.IntN(20_000))
				input = session.Respond(c.FunctionCall, map[string]any{"result": result})
			}
		}
	case 4:
		for range 1 + s.r.IntN(4) {
			image := &genai.Blob{MIMEType: "image/png", Data: []byte{1, byte(s.turn)}}
			input.Content.Parts = append(input.Content.Parts, &genai.Part{InlineData: image})
		}
	}
	for e, err := range s.runner.Run(ctx, key, input, session.RunConfig{}) {
		require.NoError(s.t, err)
		if e.ErrorCode != "" {
			s.refused++
			s.t.Logf("turn %d: %s %s", s.turn, e.ErrorCode, e.ErrorMessage)
		}
		if e.Actions.Compaction != nil {
			s.summaries++
		}
	}
}

// What a model has asked for is in front of it when it is asked again, in part at least, with how to read
// on; else it asks for the same for ever.
func TestAModelSeesWhatItHasAskedFor(t *testing.T) {
	for _, budget := range []int{1000, 2000, 4000, 6400, 16_000} {
		t.Run(strconv.Itoa(budget), func(t *testing.T) {
			turns := turnsOf(60)
			s := newActing(t, budget, 3)
			for range turns {
				s.say()
			}
			t.Logf("%d turns, %d calls, %d made again, %d read on (%d followed), %d recalls (%d cut), %d refused, %d summaries, at most %d tokens",
				turns, s.calls, len(s.again), s.readOn, s.followed, s.recalls, s.cut, s.refused, s.summaries, s.most)
			require.Empty(t, s.again)
			require.Zero(t, s.over)
			require.LessOrEqual(t, s.cut, max(2, s.recalls/10))
			if budget >= 2000 {
				require.Zero(t, s.refused)
			}
			require.LessOrEqual(t, s.refused, max(1, turns/100))
		})
	}
}
