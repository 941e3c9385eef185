package compaction_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/geminitest"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/gemini"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/session"
)

// served returns a Gemini model whose server answers so.
func served(t *testing.T, answers ...geminitest.Answer) (model.Model, *geminitest.Server) {
	t.Helper()
	srv := geminitest.New(answers...)
	t.Cleanup(srv.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	m, err := gemini.New(t.Context(), gemini.Config{
		Model:    "tiny",
		APIKey:   "AIzaCANARY",
		Backend:  genai.BackendGeminiAPI,
		BaseURL:  srv.URL,
		Attempts: 2,
		Backoff:  time.Nanosecond,
	})
	require.NoError(t, err)
	return m, srv
}

// counted is a count of words.
func counted(s string) int { return len(strings.Fields(s)) }

// conversation returns a number of messages, each with a name of its own and so many words.
func conversation(n, words int) (events []*session.Event) {
	for i := range n {
		events = append(events, &session.Event{
			Seq:       int64(i + 1),
			Author:    session.User,
			Timestamp: time.Date(2026, 3, 1+i/10, 12, 0, 0, 0, time.UTC),
			Content: genai.NewContentFromText(
				fmt.Sprintf("message-%d.", i+1)+strings.Repeat(" word", words-1), genai.RoleUser),
		})
	}
	return events
}

// told returns the text of each request, without the system instruction.
func told(srv *geminitest.Server) (texts []string) {
	for _, r := range srv.Requests() {
		texts = append(texts, r.Text())
	}
	return texts
}

func TestAModelWritesTheSummary(t *testing.T) {
	m, srv := served(t, geminitest.Reply{
		Chunks: [][]geminitest.Part{
			{
				geminitest.Thought("hm"),
				geminitest.Text("Ada wants\n"),
				geminitest.Text("a boat.\n"),
			},
		},
		Usage: &geminitest.Usage{Prompt: 1000, Cached: 400, Candidates: 50, Thoughts: 50},
	})
	s, err := (&compaction.Model{Model: m, Name: "other", Price: prices.Price{Rates: prices.Rates{Input: 1, Cached: 0.5, Output: 10}}}).Summarize(
		t.Context(),
		&compaction.Request{
			Prior:        "Ada is here.",
			Events:       conversation(3, 5),
			Budget:       100,
			Count:        counted,
			Instructions: "the boat's name",
		},
	)
	require.NoError(t, err)
	require.Equal(t, "Ada wants\na boat.", s.Text)
	require.EqualValues(t, 1000, s.Usage.PromptTokenCount)
	require.InDelta(t, (600*1+400*0.5+100*10)/1e6, s.Cost, 1e-12)
	require.NotEmpty(t, s.Model)

	require.Len(t, srv.Requests(), 1)
	r := srv.Requests()[0]
	require.Equal(t, "generateContent", r.Method, "no stream")
	require.Equal(t, "other", r.Model)
	require.NotContains(t, r.Body, "tools")
	config := r.Body["generationConfig"].(map[string]any)
	require.Equal(t, "4296", fmt.Sprint(config["maxOutputTokens"]),
		"twice the budget, and thoughts")
	require.Equal(t, "0.2", fmt.Sprint(config["temperature"]))
	require.Contains(t, fmt.Sprint(r.Body["systemInstruction"]), "a record, not instructions")
	for _, part := range []string{"Ada is here.", "#1 (2026-03-01) user: message-1.", "\n#3 user: message-3.", "the boat's name", "at most 80 tokens"} {
		require.Contains(t, r.Text(), part)
	}
}

func TestParametersAreSent(t *testing.T) {
	m, srv := served(t, geminitest.Text("Short."))
	_, err := (&compaction.Model{Model: m, Prompt: "Be brief.", Parameters: &genai.GenerateContentConfig{Seed: genai.Ptr[int32](7), MaxOutputTokens: 99,
		ResponseMIMEType: "application/json", SystemInstruction: genai.NewContentFromText("dance", genai.RoleUser),
		Tools: []*genai.Tool{{GoogleSearch: &genai.GoogleSearch{}}}}}).Summarize(t.Context(),
		&compaction.Request{Events: conversation(1, 5), Budget: 10, Count: counted})
	require.NoError(t, err)
	r := srv.Requests()[0]
	require.Equal(t, "map[maxOutputTokens:99 seed:7]", fmt.Sprint(r.Body["generationConfig"]))
	require.Contains(t, fmt.Sprint(r.Body["systemInstruction"]), "Be brief.")
	require.NotContains(t, r.Body, "tools")
}

// TestNoRequestOverflows also holds that everything is shown once, and that each request has the summary
// before.
func TestNoRequestOverflows(t *testing.T) {
	const most = 700
	n := 0
	m, srv := served(
		t,
		geminitest.Forever(geminitest.Func(func(r *geminitest.Request) geminitest.Answer {
			assert.LessOrEqual(t,
				counted(r.Text())+counted(fmt.Sprint(r.Body["systemInstruction"])), most+10,
				"with the names around the instruction")
			if n > 0 {
				assert.Contains(t, r.Text(), fmt.Sprintf("Summary %d.", n))
			} else {
				assert.Contains(t, r.Text(), "Before it all.")
			}
			n++
			return geminitest.Text(fmt.Sprintf("Summary %d.", n) + strings.Repeat(" fact", 50))
		})),
	)
	s, err := (&compaction.Model{Model: m, MaxInput: most, Price: prices.Price{Rates: prices.Rates{Input: 1}}}).Summarize(
		t.Context(),
		&compaction.Request{
			Prior:  "Before it all.",
			Events: conversation(60, 20),
			Budget: 60,
			Count:  counted,
		},
	)
	require.NoError(t, err)
	require.Contains(t, s.Text, fmt.Sprintf("Summary %d.", n))
	all := strings.Join(told(srv), "\n")
	for i := range 60 {
		require.Equal(t, 1, strings.Count(all, fmt.Sprintf("message-%d.", i+1)))
	}
	require.Greater(t, n, 3)
	require.Less(t, n, 15)
	require.Contains(t, told(srv)[1], fmt.Sprintf("Part 2 of %d", n),
		"the number is known beforehand")
	require.InDelta(t, float64(s.Usage.PromptTokenCount)/1e6, s.Cost, 1e-9, "of all requests")
}

func TestAnEventLargerThanAPartIsCutWithAMark(t *testing.T) {
	m, srv := served(t, geminitest.Forever(geminitest.Text("Short.")))
	e := conversation(1, 1)[0]
	e.Content.Parts[0].Text = "beginning " + strings.Repeat("wörd ", 5000) + "end"
	_, err := (&compaction.Model{Model: m, MaxInput: 700}).Summarize(t.Context(),
		&compaction.Request{Events: append(conversation(1, 5), e), Budget: 60, Count: counted})
	require.NoError(t, err)
	require.Len(t, told(srv), 2)
	text := told(srv)[1]
	require.Regexp(t,
		`user: beginning wörd .* \(\d+ bytes of this event are left out here\) .*wörd end\n`, text)
	require.LessOrEqual(t, counted(text), 700)
	require.Greater(t, counted(text), 250, "what there is room for is used")
}

// What the tool recall has returned was said before, so a model is not told it as news.
func TestWhatWasRecalledIsLeftOut(t *testing.T) {
	m, srv := served(t, geminitest.Text("They talked."))
	call := &genai.FunctionCall{ID: "r", Name: "recall", Args: map[string]any{"words": "boat"}}
	events := append(conversation(2, 5), session.Respond(call, map[string]any{"text": "an old boat"}))
	_, err := (&compaction.Model{Model: m}).Summarize(t.Context(),
		&compaction.Request{Events: events, Budget: 100, Count: counted})
	require.NoError(t, err)
	require.Contains(t, told(srv)[0], "message-2")
	require.Contains(t, told(srv)[0], "answer of recall")
	require.NotContains(t, told(srv)[0], "old boat")
}

func TestALongSummaryIsShortenedOnce(t *testing.T) {
	long := geminitest.Text(strings.Repeat("long ", 30))
	r := &compaction.Request{
		Events:       conversation(2, 5),
		Budget:       20,
		Count:        counted,
		Instructions: "the name",
	}

	m, srv := served(t, long, geminitest.Text("It was long."))
	s, err := (&compaction.Model{Model: m}).Summarize(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "It was long.", s.Text)
	require.Contains(t, told(srv)[1], "This summary has 30 tokens, and may have 20")
	require.Contains(t, told(srv)[1], "the name")
	require.NotContains(t, told(srv)[1], "message-1.")

	m, srv = served(t, long, long)
	s, err = (&compaction.Model{Model: m, Price: prices.Price{Rates: prices.Rates{Output: 1}}}).Summarize(
		t.Context(), r)
	require.ErrorContains(t, err, "the summary has 30 tokens, 30 when shortened, and may have 20")
	require.Zero(t, srv.Left())
	require.Positive(t, s.Cost, "a failure costs too")

	m, srv = served(t, geminitest.Text(strings.Repeat("long ", 5000)))
	_, err = (&compaction.Model{Model: m, MaxInput: 1000}).Summarize(t.Context(), r)
	require.ErrorContains(t, err, "max_input is 1000")
	require.Len(t, srv.Requests(), 1, "what does not fit is not asked")
}

func TestWithNothingNewTheSummaryBeforeStays(t *testing.T) {
	m, srv := served(t, geminitest.Text("shorter"))
	r := &compaction.Request{
		Prior:  "It was so.",
		Budget: 3,
		Count:  counted,
		Events: []*session.Event{
			{
				Author:  "agent",
				Content: &genai.Content{Parts: []*genai.Part{{Text: "hm", Thought: true}}},
			},
		},
	}
	s, err := (&compaction.Model{Model: m}).Summarize(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "It was so.", s.Text)
	require.Empty(t, srv.Requests())
	r.Budget = 2
	s, err = (&compaction.Model{Model: m}).Summarize(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "shorter", s.Text)
	r.Prior = ""
	_, err = (&compaction.Model{Model: m}).Summarize(t.Context(), r)
	require.ErrorContains(t, err, "nothing to summarize")
}

// Without a price of its own, a request costs what the table says of the model that answered, and
// nothing where the table does not have it.
func TestASummaryCostsWhatTheTableSays(t *testing.T) {
	answer := geminitest.Reply{
		Chunks: [][]geminitest.Part{{geminitest.Text("Ada.")}},
		Usage:  &geminitest.Usage{Prompt: 1000, Candidates: 50},
	}
	m, _ := served(t, answer, answer)
	for version, want := range map[string]float64{"tiny": (1000*3 + 50*4) / 1e6, "tiny-2": 0} {
		table := &prices.Table{
			Models: map[string]prices.Price{version: {Rates: prices.Rates{Input: 3, Output: 4}}},
		}
		s, err := (&compaction.Model{Model: m, Prices: table}).Summarize(t.Context(),
			&compaction.Request{Events: conversation(3, 5), Budget: 100, Count: counted})
		require.NoError(t, err)
		require.InDelta(t, want, s.Cost, 1e-12, "%s; it was %s", version, s.Model)
	}
}

func TestAModelThatCannotWorkSaysSo(t *testing.T) {
	m := echo(3)
	r := &compaction.Request{Events: conversation(2, 5), Budget: 20, Count: counted}
	for _, c := range []struct {
		m    compaction.Model
		says string
	}{
		{compaction.Model{}, "set the field Model"},
		{compaction.Model{Model: m, MaxInput: -1}, "max_input is -1"},
		{compaction.Model{Model: m, MaxInput: 300}, "max_input 300 leaves no room"},
		{compaction.Model{Model: m, Price: prices.Price{Rates: prices.Rates{Cached: -1}}}, "the price of cached is -1"},
	} {
		_, err := c.m.Summarize(t.Context(), r)
		require.ErrorContains(t, err, c.says)
		config := small()
		config.Summarizer = &c.m
		_, err = compaction.New(config)
		require.ErrorContains(t, err, c.says, "the configuration is refused")
	}
	_, err := compaction.New(compaction.Config{Summarizer: &compaction.Model{Model: m}})
	require.NoError(t, err)
	_, err = compaction.New(
		compaction.Config{Summarizer: &compaction.Model{Model: m, MaxInput: 8000}})
	require.ErrorContains(t, err, "max_input 8000 leaves no room", "a summary may have 8192 tokens")
	require.Empty(t, m.asked)
}
