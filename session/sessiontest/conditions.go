package sessiontest

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
)

// scripts has, for each script, a sentence, words that find it, and words that do not.
var scripts = []struct{ name, text, found, not string }{
	{"Latin", "Ich möchte die Rückerstattung für Łódź, Straße 7.", "RUCKERSTATTUNG strasse lodz 7", "erstattung"},
	{"Greek", "Θέλω επιστροφή χρημάτων στην ΟΔΟΣ", "χρηματων οδός", "χρημα"},
	{"Cyrillic", "Ещё раз: верните деньги, пожалуйста", "ЕЩЕ деньги", "деньга"},
	{"Arabic", "أُرِيدُ اِسْتِرْدَادَ المَال", "استرداد المال", "مال"},
	{"Hebrew", "אֲנִי רוֹצֶה הֶחְזֵר", "החזר אני", "חזר"},
	{"Devanagari", "मुझे पैसे वापस चाहिए", "पैसे चाहिए", "पैस"},
	{"Tamil", "எனக்கு பணம் திரும்ப வேண்டும்", "பணம்", "பண"},
	{"Georgian", "მინდა თანხის დაბრუნება", "ᲗᲐᲜᲮᲘᲡ", "თანხა"},
	{"Armenian", "Ուզում եմ գումարի վերադարձ", "ԳՈՒՄԱՐԻ", "գումար"},
	{"Han", "我想要退款，谢谢", "退款", "款退"},
	{"Japanese", "航空券の払い戻しをお願いします。ｷｬﾝｾﾙ", "払い戻し キャンセル", "戻払"},
	{"Korean", "항공권 환불을 원해요", "환불", "불환"},
	{"Thai", "ขอคืนเงินค่าตั๋วเครื่องบิน", "คืนเงิน", "เงินคืน"},
}

// conditionCases returns the cases about conditions on events. If index is true, each case makes the store's index after
// some of its appends.
func conditionCases(index bool) []testCase {
	prefix := "search/"
	begin := func(*tester) {}
	if index {
		prefix = "search with an index/"
		begin = (*tester).index
	}
	return []testCase{{
		Name: prefix + "scripts",
		Rule: "Match finds words in any script, whatever their case and accents, and no parts of words.",
		Run: func(t *tester) {
			keys := map[string]session.Key{}
			for i, s := range scripts {
				if i == len(scripts)/2 {
					begin(t)
				}
				keys[s.name] = t.create(s.name)
				t.put(keys[s.name], say("before"), text("e", s.text), say("after"))
			}
			for _, s := range scripts {
				t.found(session.Query{Match: s.found}, keys[s.name])
				t.found(session.Query{Match: s.text}, keys[s.name])
				t.found(session.Query{Match: s.not})
			}
		},
	}, {
		Name: prefix + "where words are",
		Rule: "Match looks at texts, thoughts, names, arguments and responses of functions, code and its " +
			"output, names of files, outputs, error messages and summaries; not at keys, ids, state, " +
			"metadata and bytes.",
		Run: func(t *tester) {
			key := t.create("s")
			e := text("e", "alpha")
			e.Content.Parts = append(e.Content.Parts,
				&genai.Part{Text: "bravo", Thought: true},
				&genai.Part{FunctionCall: &genai.FunctionCall{ID: "nocall", Name: "charlie_delta",
					Args: map[string]any{"nokey": []any{"echo", 4711, map[string]any{"nokey": 0.5}}}}},
				&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "nocall", Name: "golf",
					Response: map[string]any{"result": "hotel"}}},
				&genai.Part{ExecutableCode: &genai.ExecutableCode{Code: "print(india)"}},
				&genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Output: "juliett"}},
				&genai.Part{InlineData: &genai.Blob{DisplayName: "kilo.txt", MIMEType: "text/plain", Data: []byte("nobytes")}},
			)
			e.ErrorMessage = "lima"
			e.Output = map[string]any{"nokey": "mike"}
			e.InvocationID = "noinvocation"
			e.Branch = "nobranch"
			e.CustomMetadata = map[string]any{"nometa": "nometa"}
			e.Actions.StateDelta = map[string]any{"nostate": "nostate"}
			t.put(key, e)
			begin(t)
			c := compact("c", 1, 0)
			c.Actions.Compaction.Content = genai.NewContentFromText("november", genai.RoleUser)
			t.put(key, c)
			for _, word := range strings.Fields("alpha bravo charlie delta echo 4711 0.5 golf hotel india juliett kilo lima mike") {
				t.foundAt(session.Query{Match: word}, key, 1, false)
			}
			t.foundAt(session.Query{Match: "november"}, key, 2, true)
			for _, word := range strings.Fields("nocall nokey nobytes noinvocation nobranch nometa nostate plain agent") {
				t.found(session.Query{Match: word})
			}
		},
	}, {
		Name: prefix + "all words",
		Rule: "All words of Match stand in one event, in any order.",
		Run: func(t *tester) {
			one := t.create("one")
			two := t.create("two")
			t.put(one, text("a", "the refund of the order"))
			begin(t)
			t.put(two, text("a", "the refund"), text("b", "of the order"))
			t.found(session.Query{Match: "order, refund!"}, one)
			t.found(session.Query{Match: "refund"}, two, one)
			t.found(session.Query{Match: "refund", Order: session.Stored}, one, two)
			t.found(session.Query{Match: "refund", Limit: 1}, two)
			t.found(session.Query{Match: "refund", Order: session.Oldest, Limit: 1}, one)
			t.found(session.Query{Match: "refund flight"})
		},
	}, {
		Name: prefix + "the newest event",
		Rule: "A hit has the newest event that meets the conditions, and says whether it is live.",
		Run: func(t *tester) {
			key := t.create("s")
			q := session.Query{Match: "refund"}
			t.put(key, text("a", "refund"), text("b", "no"))
			t.foundAt(q, key, 1, true)
			begin(t)
			t.put(key, text("c", "refund"))
			t.foundAt(q, key, 3, true)
			t.put(key, rewind("d", 2))
			t.foundAt(q, key, 3, false)
			t.put(key, text("e", "refund"))
			t.foundAt(q, key, 5, true)
			t.put(key, compact("f", 5, 4))
			t.foundAt(q, key, 5, false)
		},
	}, {
		Name: prefix + "conditions",
		Rule: "Author, Tool, Error, Denied and Match are met by one event together.",
		Run: func(t *tester) {
			desk := t.create("desk")
			guard := t.create("guard")
			failed := t.create("failed")
			t.put(desk, callTo("a", "1", "book"), answerOf("b", "1", "book", map[string]any{"result": "ok"}))
			refused := callTo("a", "1", "book")
			refused.Author = "plugin/guard"
			t.put(guard, refused)
			denied := answerOf("b", "1", "book", map[string]any{"error": "not today"})
			denied.ErrorCode = session.Denied
			t.put(guard, denied)
			begin(t)
			t.put(failed, callTo("a", "1", "pay"), answerOf("b", "1", "pay", map[string]any{"error": "no money"}))
			t.put(desk, callTo("c", "2", "ask"), answerOf("d", "2", "ask", map[string]any{"error": "no", "declined": true}))
			broken := text("c", "")
			broken.ErrorCode = "MODEL"
			long := strings.Repeat("ä", 300)
			broken.Author = long
			t.put(failed, broken)

			t.found(session.Query{Author: "agent"}, failed, desk, guard)
			t.foundAt(session.Query{Author: "plugin/guard"}, guard, 1, true)
			t.foundAt(session.Query{Author: long}, failed, 3, true)
			t.found(session.Query{Author: long + "ä"})
			t.found(session.Query{Author: "Agent"})
			t.found(session.Query{Tool: "book"}, desk, guard)
			t.found(session.Query{Tool: "boo"})
			t.foundAt(session.Query{Error: true}, failed, 3, true)
			t.foundAt(session.Query{Error: true, Tool: "pay"}, failed, 2, true)
			t.found(session.Query{Error: true, Tool: "book"})
			t.foundAt(session.Query{Denied: true}, guard, 2, true)
			t.found(session.Query{Denied: true, Match: "today"}, guard)
			t.found(session.Query{Denied: true, Tool: "pay"})
			t.found(session.Query{Denied: true, Error: true})
			t.found(session.Query{Tool: "book", Author: "plugin/guard"}, guard)
			t.found(session.Query{Tool: "book", User: "bob"})
			t.found(session.Query{Tool: "book", Since: time.Now().Add(time.Hour)})
		},
	}, {
		Name: prefix + "deleted",
		Rule: "A deleted session is not found, nor is one that is made again under its key by the old one's words.",
		Run: func(t *tester) {
			one := t.create("one")
			two := t.create("two")
			for _, key := range []session.Key{one, two} {
				t.put(key, text("a", "refund"))
			}
			begin(t)
			t.put(one, text("b", "order"))
			t.Must(t.Delete(t.Context(), one))
			t.found(session.Query{Match: "refund"}, two)
			t.found(session.Query{Match: "order"})
			t.put(t.create("one"), text("a", "flight"))
			t.found(session.Query{Match: "refund"}, two)
			t.found(session.Query{Match: "flight"}, one)
		},
	}, {
		Name: prefix + "many events",
		Rule: "Search finds what is behind many other events, and in many sessions.",
		Run: func(t *tester) {
			key := t.create("long")
			t.put(key, text("first", "needle"))
			begin(t)
			var batch []*session.Event
			for i := range 700 {
				batch = append(batch, text(fmt.Sprint(i), fmt.Sprintf("straw %d", i)))
			}
			t.put(key, batch...)
			for i := range 40 {
				t.put(t.create(fmt.Sprint(i)), text("a", "straw here"), text("b", "straw there"))
			}
			t.foundAt(session.Query{Match: "needle"}, key, 1, true)
			t.foundAt(session.Query{Match: "straw 699"}, key, 701, true)
			t.equal("sessions with straw", len(t.search(session.Query{App: t.App, Match: "straw"})), 41)
			ix, ok := t.Service.(session.Indexer)
			if index && ok {
				t.Must(ix.DropIndex(t.Context()))
				t.foundAt(session.Query{Match: "needle"}, key, 1, true)
				t.index()
				t.foundAt(session.Query{Match: "needle"}, key, 1, true)
			}
		},
	}, {
		Name: prefix + "random",
		Rule: "What Search finds of random events is what a look at each event finds, whatever is " +
			"appended, rewound, deleted and indexed in between.",
		Run: func(t *tester) {
			begin(t)
			rapid.Check(t.T, func(r *rapid.T) {
				one := *t
				one.Tester = contract.NewTester(r, t.T)
				one.random(r, index)
			})
		},
	}}
}

// index makes the index, if the store can have one.
func (t *tester) index() {
	t.Helper()
	ix, ok := t.Service.(session.Indexer)
	if ok {
		t.Must(ix.Index(t.Context(), nil))
	}
}

// text returns an agent's event with a text.
func text(id, said string) *session.Event {
	return &session.Event{ID: id, Author: "agent", Content: genai.NewContentFromText(said, genai.RoleModel)}
}

// callTo returns an agent's event with a call of a function.
func callTo(id, call, name string) *session.Event {
	e := text(id, "")
	e.Content.Parts = []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: call, Name: name, Args: map[string]any{}}}}
	return e
}

// answerOf returns an agent's event with the response to a call.
func answerOf(id, call, name string, response map[string]any) *session.Event {
	e := session.Respond(&genai.FunctionCall{ID: call, Name: name}, response)
	e.ID = id
	e.Author = "agent"
	return e
}
