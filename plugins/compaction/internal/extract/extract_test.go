package extract_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

func say(author, text string) *session.Event {
	role := genai.RoleModel
	if author == session.User {
		role = genai.RoleUser
	}
	return &session.Event{
		Author:    author,
		Content:   genai.NewContentFromText(text, genai.Role(role)),
		Timestamp: time.Date(2024, 5, 20, 15, 0, 0, 0, time.UTC),
	}
}

func call(name string, args map[string]any) *session.Event {
	return &session.Event{
		Author: "agent",
		Content: &genai.Content{
			Role: genai.RoleModel,
			Parts: []*genai.Part{
				{FunctionCall: &genai.FunctionCall{ID: "c", Name: name, Args: args}},
			},
		},
	}
}

func respond(name string, result map[string]any) *session.Event {
	return session.Respond(&genai.FunctionCall{ID: "c", Name: name}, result)
}

func added(events ...*session.Event) *extract.State {
	s := new(extract.State)
	s.Add(events)
	return s
}

func TestRender(t *testing.T) {
	e := say("agent", "Let me look.")
	e.Content.Parts = append(
		e.Content.Parts,
		&genai.Part{Text: "secret thought", Thought: true},
		nil,
		&genai.Part{
			FunctionCall: &genai.FunctionCall{Name: "find", Args: map[string]any{"q": "a<b"}},
		},
	)
	require.Equal(t, "Let me look.\nfind {\"q\":\"a<b\"}", extract.Render(e))
	require.Equal(t, `find {"result":"none"}`,
		extract.Render(respond("find", map[string]any{"result": "none"})))
	require.Equal(t, "stop {}", extract.Render(call("stop", nil)))
	require.Equal(t, "", extract.Render(&session.Event{}))
	require.Equal(t, "", extract.Render(nil))
	require.Equal(t, "a\uFFFDb", extract.Render(say("agent", "a\xffb")))
}

// As long as there is room, all that was said is there. Then what tells least is left out first.
func TestProse(t *testing.T) {
	s := added(
		say(session.User, "Hi! Yesterday I adopted a beagle called Biscuit. How are you?"),
		say("agent", "Wow, that is so great! Thanks for telling me."),
		say(session.User, "We are going to the lighthouse of Cape Wrath on Sunday."),
	)
	whole := s.Text(1000, quarter)
	require.Equal(
		t,
		"[20 May 2024]\nuser: Hi!  Yesterday I adopted a beagle called Biscuit.  How are you?\n"+
			"agent: Wow, that is so great!  Thanks for telling me.\n"+
			"u: We are going to the lighthouse of Cape Wrath on Sunday.",
		whole,
	)
	text := reload(t, s, whole).Text(40, quarter)
	require.Contains(t, text, "Yesterday I adopted a beagle called Biscuit.")
	require.Contains(t, text, "We are going to the lighthouse of Cape Wrath on Sunday.")
	require.NotContains(t, text, "Wow")
}

// Of a file, the summary has its name and its address.
func TestFiles(t *testing.T) {
	e := say(session.User, "Have a look.")
	e.Content.Parts = append(
		e.Content.Parts,
		&genai.Part{
			InlineData: &genai.Blob{
				DisplayName: "garden plan.png",
				MIMEType:    "image/png",
				Data:        []byte{1},
			},
		},
		&genai.Part{
			FileData: &genai.FileData{
				FileURI:  "https://files.example/v1/x7k2m9",
				MIMEType: "application/pdf",
			},
		},
	)
	require.Equal(
		t,
		"[20 May 2024]\nuser: Have a look.  (file garden plan.png, image/png)  (file, application/pdf)\n\nValues:\nsaid: https://files.example/v1/x7k2m9",
		added(e).Text(1000, quarter),
	)
	more := added(e)
	for i := range 30 {
		more.Add([]*session.Event{
			say("agent", fmt.Sprintf("Tulip number %d stands beside the pond.", i)),
		})
	}
	require.Contains(t, more.Text(60, quarter), "https://files.example/v1/x7k2m9")
}

// What a text says of its time is not said twice.
func TestDateInFront(t *testing.T) {
	text := added(
		say(session.User, "[3:00 pm on 20 May, 2024] I bought a canoe.")).Text(1000, quarter)
	require.Equal(t, "[20 May 2024]\nuser: I bought a canoe.", text)
	require.Contains(t,
		added(say(session.User, "[3 apples, 20 pears] I bought fruit.")).Text(1000, quarter),
		"apples")
}

func TestInstructionsWeigh(t *testing.T) {
	var events []*session.Event
	for i := range 60 {
		events = append(events, say(session.User, fmt.Sprintf(
			"My neighbour repaired roof%d yesterday with tool%d of Ann%d.", i, i, i)))
	}
	events = append(events, say("agent", "The zebra crossing needs paint."))
	require.NotContains(t, added(events...).Text(24, quarter), "zebra")
	s := new(extract.State)
	s.Stress("everything about the zebra crossing")
	s.Add(events)
	require.Contains(t, s.Text(24, quarter), "zebra")
}

func TestLedger(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []*session.Event
		want   string
	}{
		{"a record has the name of its id", []*session.Event{respond("search", map[string]any{"result": []any{
			map[string]any{"flight": "HX1", "to": "LIS", "price": 152.0, "seats": map[string]any{"economy": 3.0, "business": 1.0}}}})},
			"HX1: price 152, seats.business 1, seats.economy 3, to LIS"},
		{"JSON in a string is JSON", []*session.Event{respond("get", map[string]any{"result": `{"order_id":"ORD-77","total":12345678901234567890}`})}, "ORD-77: 12345678901234567890"},
		{"a response is about what was asked", []*session.Event{call("user", map[string]any{"id": "mia_3668"}), respond("user", map[string]any{"name": "Mia Li", "age": 34.0})}, "user mia_3668: age 34, Mia Li"},
		{"literals in texts", []*session.Event{say(session.User, "Send it to m.li@x.org, code A1-77, for $250.50!")}, "said: m.li@x.org, A1-77, $250.50"},
		{"a changed number replaces the old", []*session.Event{respond("get", map[string]any{"id": "X9Z", "left": 5.0}), respond("get", map[string]any{"id": "X9Z", "left": 4.0})}, "get X9Z: left 4"},
		{"values of Go", []*session.Event{respond("get", map[string]any{"ids": []string{"A1B2", "C3D4"}})}, "get: A1B2, C3D4"},
	} {
		t.Run(
			c.name,
			func(t *testing.T) { require.Equal(t, "Values:\n"+c.want, added(c.events...).Ledger(1000, quarter)) },
		)
	}
}

// What was used goes last, what was only found goes first.
func TestLedgerEviction(t *testing.T) {
	events := append(flights(50),
		call("book", map[string]any{"flight": "HX017", "payment": "card_99812"}))
	for range 30 {
		events = append(events, say("agent", "One moment."))
	}
	events = append(events, flights(50)[1])
	s := added(events...)
	text := s.Ledger(30, quarter)
	require.Contains(t, text, "HX017")
	require.Contains(t, text, "card_99812")
	require.NotContains(t, text, "HX049")
}

// What somebody has taken out of the text does not come back.
func TestRedacted(t *testing.T) {
	s := added(say(session.User, "My reservation is QX7788, and I live in Oslo."),
		respond("user", map[string]any{"id": "mia_3668", "card": "CARD-55512", "name": "Mia Li"}),
		say("agent", "I met Aragorn at the harbour of Bergen."))
	text := s.Text(1000, quarter)
	j, err := json.Marshal(s)
	require.NoError(t, err)
	secrets := []string{"QX7788", "CARD-55512", "Aragorn", "Mia", "Oslo"}
	for _, secret := range secrets {
		require.Contains(t, text, secret)
		require.NotContains(t, string(j), secret)
		text = strings.ReplaceAll(text, secret, "[REDACTED]")
	}
	next := extract.Resume(j, text)
	for range 3 {
		next.Add([]*session.Event{say(session.User, "And what about my dog?")})
		text = next.Text(1000, quarter)
		for _, secret := range secrets {
			require.NotContains(t, text, secret)
		}
		require.Contains(t, text, "mia_3668")
		require.Contains(t, text, "harbour of Bergen")
		next = reload(t, next, text)
	}
}

func TestSplit(t *testing.T) {
	s := added(say(session.User, "I met Aragorn, code QX7788."))
	prose, ledger := extract.Split(s.Text(100, quarter))
	require.NotEmpty(t, prose)
	require.Equal(t, "Values:\nsaid: QX7788", ledger)
	prose, ledger = extract.Split("Values:\nsaid: A1B2")
	require.Equal(t, []string{"", "Values:\nsaid: A1B2"}, []string{prose, ledger})
	prose, ledger = extract.Split("A model's\n\nsummary: of all")
	require.Equal(t, []string{"A model's\n\nsummary: of all", ""}, []string{prose, ledger})
}

// What another wrote, a model or a program before this one, counts too.
func TestResumeForeign(t *testing.T) {
	for _, data := range []string{"", "null", "[]", `{"texts":-5,"events":-1,"lines":"!","values":"AAA","terms":"c3oB"}`} {
		s := extract.Resume([]byte(data),
			"The user wants a canoe: a red one; in [May].\n\nGoal\n\nValues:\nodd, row: , x\nHX017")
		s.Add([]*session.Event{say("agent", "There is one in Bergen.")})
		text := s.Text(1000, quarter)
		for _, kept := range []string{"a red one", "Goal", "HX017", "Bergen"} {
			require.Contains(t, text, kept, "state %q", data)
		}
	}
}

func TestTextsWithoutBlanks(t *testing.T) {
	chinese := strings.Repeat("我昨天在上海见到了李明，他给我看了他的新房子。", 40)
	for _, budget := range []int{5, 50, 500} {
		text := added(say(session.User, chinese),
			say("agent", strings.Repeat("x", 100_000))).Text(budget, quarter)
		require.LessOrEqual(t, quarter(text), budget)
		require.True(t, utf8.ValidString(text))
	}
	require.Contains(t, added(say(session.User, "我昨天在上海见到了李明。")).Text(500, quarter), "上海")
}

// The state does not grow with the session.
func TestStateIsBounded(t *testing.T) {
	s := new(extract.State)
	size := 0
	for i := range 60 {
		s.Add(append(chatter(50, uint64(i)), flights(300)...))
		text := s.Text(1000, quarter)
		j, err := json.Marshal(s)
		require.NoError(t, err)
		size = max(size, len(j))
		require.Less(t, len(j), 9_000, "generation %d, text of %d", i, len(text))
		s = extract.Resume(j, text)
	}
	t.Logf("at most %d bytes", size)
}

func anyEvent() *rapid.Generator[*session.Event] {
	values := rapid.Custom(func(t *rapid.T) any {
		text := rapid.String().Draw(t, "text")
		return rapid.SampledFrom([]any{nil, true, 1.5, 1e300, json.Number("12345678901234567890"), text, "ID" + text, []any{text, map[string]any{"id": "K7" + text, "n": 1.0}},
			map[string]any{
				text: map[string]any{"x_1": text},
			}, `[{"id":"Z9Z","d":"2024-01-01"}]`, `{"broken`, []string{text}, struct{ A int }{1}, func() {}}).
			Draw(t, "value")
	})
	return rapid.Custom(func(t *rapid.T) *session.Event {
		e := &session.Event{
			Author: rapid.SampledFrom([]string{session.User, "agent", "assistant", "plugin/x", "", "ünï\ncode"}).
				Draw(t, "author"),
		}
		if rapid.Bool().Draw(t, "timed") {
			e.Timestamp = time.Unix(rapid.Int64Range(-1e12, 1e12).Draw(t, "time"), 0).UTC()
		}
		if rapid.IntRange(0, 9).Draw(t, "empty") == 0 {
			return e
		}
		e.Content = &genai.Content{
			Role: rapid.SampledFrom([]string{"user", "model", ""}).Draw(t, "role"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "parts") {
			object := rapid.MapOfN(rapid.String(), values, 0, 4).Draw(t, "object")
			var p *genai.Part
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				p = &genai.Part{
					FunctionCall: &genai.FunctionCall{
						Name: rapid.String().Draw(t, "tool"),
						Args: object,
					},
				}
			case 1:
				p = &genai.Part{
					FunctionResponse: &genai.FunctionResponse{
						Name:     rapid.String().Draw(t, "tool"),
						Response: object,
					},
				}
			case 2: // no part at all
			default:
				p = &genai.Part{Text: words(t)}
			}
			e.Content.Parts = append(e.Content.Parts, p)
		}
		return e
	})
}

func words(t *rapid.T) string {
	if rapid.Bool().Draw(t, "free") {
		return rapid.String().Draw(t, "text")
	}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 80).Draw(t, "words"), " ")
}

var vocabulary = strings.Fields(
	"I the and last week Anna Oslo 2024-05-20 HX017 $5 a@b.org ? ! . , [ ] \" ' ( 我们 été \xff photo of lake QX7788 mia_li_3668 12:30 {\"a\":1} because painting running",
)

// For any events, budgets and counts: never over the budget, valid UTF-8, the same from the same, and
// what is in a text is kept as it is while there is room for it.
func TestLaws(t *testing.T) {
	counts := map[string]func(string) int{
		"runes/4": quarter,
		"bytes":   func(s string) int { return len(s) },
		"lines":   func(s string) int { return strings.Count(s, "\n") + 3 },
	}
	rapid.Check(t, func(t *rapid.T) {
		count := counts[rapid.SampledFrom([]string{"runes/4", "bytes", "lines"}).Draw(t, "count")]
		stress := rapid.String().Draw(t, "stress")
		data, text := []byte(nil), ""
		for range rapid.IntRange(1, 4).Draw(t, "generations") {
			events := rapid.SliceOfN(anyEvent(), 0, 8).Draw(t, "events")
			budget := rapid.IntRange(-1, 300).Draw(t, "budget")
			var states [2]*extract.State
			var made [2][3]string
			for i := range states {
				s := extract.Resume(data, text)
				s.Stress(stress)
				s.Add(events)
				states[i] = s
				made[i] = [3]string{
					s.Text(budget, count),
					s.Text(budget, count),
					s.Ledger(budget, count),
				}
			}
			require.Equal(t, made[0], made[1])
			for _, text := range made[0] {
				require.True(t, utf8.ValidString(text), "%q", text)
				if text != "" {
					require.LessOrEqual(t, count(text), budget)
				}
			}
			states[0] = extract.Resume(data, text)
			states[0].Add(events)
			text = states[0].Text(budget, count)
			var err error
			data, err = json.Marshal(states[0])
			require.NoError(t, err)
			require.Equal(t, text, extract.Resume(data, text).Text(budget, count),
				"what was kept is kept again")
		}
	})
}

// A flood of sentences is summarized before long: the time would be minutes if each choice looked at all
// of them again.
func TestAFloodOfSentences(t *testing.T) {
	const flood = 40_000
	var b strings.Builder
	for i := range flood {
		fmt.Fprintf(&b, "Number %d met word%d. ", i%97, i)
	}
	for name, e := range map[string]*session.Event{
		"a tool's":  respond("read", map[string]any{"text": b.String()}),
		"pasted":    say(session.User, b.String()),
		"in a list": say("agent", strings.ReplaceAll(b.String(), ". ", ".\n")),
	} {
		text := added(say(session.User, "Please book the Hotel Adler in Bonn for me."),
			e).Text(2000, quarter)
		require.LessOrEqual(t, quarter(text), 2000, name)
		require.Contains(t, text, "Adler", name)
	}
}

// Counterexamples of the law above that were found once.
func TestKeptAgain(t *testing.T) {
	for name, c := range map[string]struct {
		event  *session.Event
		budget int
	}{
		"a point before a semicolon":        {say(session.User, "I.; A"), 7},
		"what a tool says in a few letters": {respond("", map[string]any{"_": "K7A?ぁA"}), 7},
		"a label that begins in a point":    {respond("f", map[string]any{"!.A": "1", "..A": "1", ".A": "2"}), 100},
	} {
		s := added(c.event)
		text := s.Text(c.budget, quarter)
		data, err := json.Marshal(s)
		require.NoError(t, err)
		require.NotEmpty(t, text, name)
		require.Equal(t, text, extract.Resume(data, text).Text(c.budget, quarter), name)
	}
}

// A value that is in the ledger stays, to the byte, for as many generations as there is room for it.
func TestLiteralsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Z]{2}[0-9]{4}|[a-z]{3}_[a-z]{2}_[0-9]{4}|20[0-9]{2}-1[0-2]-[12][0-9]`), 1, 20, rapid.ID).
			Draw(t, "ids")
		var list []any
		for _, id := range ids {
			list = append(list, map[string]any{"id": id, "qty": 3.0})
		}
		s := added(respond("find", map[string]any{"items": list}))
		for range rapid.IntRange(1, 60).Draw(t, "generations") {
			s.Add([]*session.Event{say("agent", words(t)), say(session.User, "Go on.")})
			text := s.Text(1000, quarter)
			for _, id := range ids {
				require.Contains(t, text, id)
			}
			j, err := json.Marshal(s)
			require.NoError(t, err)
			s = extract.Resume(j, text)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("I adopted a beagle. [x] \"y\"", "2024-05-20", 20)
	f.Add("我们été\xff?!", `{"a":[1,"QX7788"]}`, 5)
	f.Fuzz(func(t *testing.T, text, value string, budget int) {
		s := added(say(session.User, text), respond(value, map[string]any{value: text, "r": value}),
			say("agent", value))
		out := s.Text(budget, quarter)
		require.True(t, utf8.ValidString(out))
		if out != "" {
			require.LessOrEqual(t, quarter(out), budget)
		}
		require.Equal(t, out, reload(t, s, out).Text(budget, quarter),
			"what was kept is kept again")
	})
}

func FuzzResume(f *testing.F) {
	s := added(say(session.User, "I met Anna in Oslo, code QX7788."),
		respond("a", map[string]any{"id": "X9Z", "n": 1.0}))
	text := s.Text(100, quarter)
	data, err := json.Marshal(s)
	require.NoError(f, err)
	f.Add(data, text)
	f.Add([]byte("{}"), "a: b; c\n[1 Jan]\n\nValues:\nx: y, .z 1")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		s := extract.Resume(data, text)
		s.Add([]*session.Event{
			say("agent", "Anna paints."),
			respond("a", map[string]any{"id": "X9Z"}),
		})
		require.LessOrEqual(t, quarter(s.Text(50, quarter)), 50)
	})
}

// One small budget costs what it must, and no more: what fits stays, and the next ones have their room again.
func TestSmallBudgetOnce(t *testing.T) {
	s := new(extract.State)
	var text string
	for i := range 20 {
		s.Add(append(chatter(50, uint64(i)), flights(5)...))
		budget := 2000
		if i == 10 {
			budget = 1000
		}
		before := text
		text = s.Text(budget, quarter)
		require.Less(t, budget*95/100, quarter(text), "generation %d", i)
		for _, id := range []string{"HX000", "HX004", "ABC"} {
			require.Contains(t, text, id)
		}
		had := strings.FieldsFunc(before, func(r rune) bool { return r == '\n' || r == '.' })
		kept := 0
		for _, row := range had {
			if strings.Contains(text, strings.TrimSpace(row)) {
				kept++
			}
		}
		if i == 11 {
			require.Less(t, len(had)/2, kept, "most of what the small one kept is there still")
		}
		s = reload(t, s, text)
	}
}
