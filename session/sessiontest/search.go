package sessiontest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
)

// searchCases are the cases about Search. Those that look into events are there twice: a store that is an
// session.Indexer makes its index before the second, amid the appends.
var searchCases = slices.Concat(searchPlainCases, searchEventCases(false), searchEventCases(true))

var searchPlainCases = []testCase{
	{
		Name: "search/all",
		Rule: "The zero Query finds every session, and its Limit and Order hold: the latest update first.",
		Run: func(t *tester) {
			keys := t.threeOfAge()
			t.found(session.Query{}, keys[1], keys[2], keys[0])
			t.found(session.Query{Order: session.Newest, Limit: 2}, keys[1], keys[2])
			t.found(session.Query{Order: session.Oldest, Limit: 2}, keys[0], keys[2])
			t.found(session.Query{Order: session.Stored}, keys...)
			t.found(session.Query{Order: session.Stored, Limit: 1}, keys[0])
		},
	},
	{
		Name: "search/one time",
		Rule: "Sessions that were updated at one time are ordered by app, user and ID.",
		Run: func(t *tester) {
			at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
			var keys []session.Key
			for _, name := range []string{"bob b", "ann b", "Bob a", "ann B"} {
				user, id, _ := strings.Cut(name, " ")
				keys = append(keys, t.createKey(t.Key(user, id), nil))
				t.Must(t.SetTimes(t.Context(), keys[len(keys)-1], at, at))
			}
			t.found(session.Query{}, keys[2], keys[3], keys[1], keys[0])
			t.found(session.Query{Order: session.Oldest}, keys[0], keys[1], keys[3], keys[2])
		},
	},
	{
		Name: "search/times",
		Rule: "Since and Until select by the time of the last update: from Since on, before Until.",
		Run: func(t *tester) {
			keys := t.threeOfAge()
			day := func(n int) time.Time { return time.Date(2024, 1, n, 0, 0, 0, 0, time.UTC) }
			t.found(session.Query{Since: day(2)}, keys[1], keys[2])
			t.found(session.Query{Since: day(2).Add(1)}, keys[1])
			t.found(session.Query{Until: day(2)}, keys[0])
			t.found(session.Query{Until: day(2).Add(1)}, keys[2], keys[0])
			t.found(session.Query{Since: day(2), Until: day(3)}, keys[2])
			t.found(session.Query{Since: day(4)})
			t.put(keys[0], say("now"))
			t.found(session.Query{Since: day(4)}, keys[0])
		},
	},
	{
		Name: "search/app and user",
		Rule: "App and User each narrow the sessions, together and alone.",
		Run: func(t *tester) {
			ann := t.createKey(t.Key("ann", "s"), nil)
			bob := t.createKey(t.Key("bob", "s"), nil)
			other := t.createKey(session.Key{App: t.App + "x", User: "bob", ID: "s"}, nil)
			t.found(session.Query{User: "ann"}, ann)
			t.found(session.Query{User: "bob"}, bob)
			list := t.search(session.Query{App: other.App})
			t.equal("of the other app", keysOf(list), []string{other.String()})
			byUser := keysOf(t.search(session.Query{User: "bob"}))
			for _, key := range []session.Key{bob, other} {
				if !slices.Contains(byUser, key.String()) {
					t.Fatalf("bob's sessions of every app are without %s", key)
				}
			}
			t.equal("of nobody", len(t.search(session.Query{App: t.App, User: "nobody"})), 0)
		},
	},
	{
		Name: "search/what it tells",
		Rule: "A hit's session is as List has it; without conditions on events it has no event.",
		Run: func(t *tester) {
			key := t.createKey(t.Key("ann", "s"), map[string]any{"k": 1, "user:u": 2})
			t.put(key, says(3)...)
			hit := t.search(session.Query{App: t.App})[0]
			if hit.Session.State != nil || hit.Event != nil {
				t.Fatalf("a hit has state %v, event %v", hit.Session.State, hit.Event)
			}
			want := t.get(key)
			want.State = nil
			t.equal("the session", hit.Session, want)
		},
	},
	{
		Name: "search/waiting",
		Rule: "Waiting finds sessions with a call that waits for an answer from outside, and no other.",
		Run: func(t *tester) {
			held, open, deferred := t.create("held"), t.create("open"), t.create("deferred")
			for _, key := range []session.Key{held, open, deferred} {
				t.put(key, callTo("call", "c", "book"))
			}
			ask := &session.Event{ID: "ask", Author: "plugin/guard"}
			ask.Actions.RequestedToolConfirmations = map[string]session.Confirmation{"c": {Hint: "May it?"}}
			t.put(held, ask)
			later := callTo("later", "d", "wait")
			later.LongRunningToolIDs = []string{"d"}
			t.put(deferred, later)
			t.found(session.Query{Waiting: true}, deferred, held)
			t.found(session.Query{Waiting: true, Limit: 1}, deferred)
			yes := session.Decision(true, "c")
			t.put(held, yes)
			t.put(deferred, answerOf("answer", "d", "wait", map[string]any{"result": 1}))
			t.found(session.Query{Waiting: true})
			t.put(held, rewind("back", 2))
			t.found(session.Query{Waiting: true}, held)
		},
	},
	{
		Name: "search/bad queries",
		Rule: "A query that Query.Check refuses is ErrInvalid.",
		Run: func(t *tester) {
			at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
			for _, q := range []session.Query{
				{Match: "?!"}, {Limit: -1}, {Order: "best"}, {Since: at, Until: at}, {Since: at.AddDate(1000, 0, 0)},
			} {
				for hit, err := range t.Search(t.Context(), q) {
					t.Is(err, session.ErrInvalid)
					if hit != nil {
						t.Fatalf("a hit with an error")
					}
				}
			}
		},
	},
	{
		Name: "search/left early",
		Rule: "The caller may leave a search early, and use the store while it is open; a session that is deleted " +
			"meanwhile is left out or there.",
		Run: func(t *tester) {
			for i := range 5 {
				t.put(t.create(fmt.Sprint(i)), say("a"))
			}
			n := 0
			for hit, err := range t.Search(t.Soon(), session.Query{App: t.App, Author: session.User}) {
				t.Must(err)
				t.Must(t.Delete(t.Soon(), hit.Session.Key))
				if n++; n == 3 {
					break
				}
			}
			t.equal("what is left", len(t.list(t.App, "")), 2)
		},
	},
}

// script is a sentence that is found by words and not by others.
type script struct{ name, text, found, not string }

var scripts = []script{
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

// searchEventCases returns the cases that look into events.
func searchEventCases(index bool) []testCase {
	prefix := "search/"
	begin := func(*tester) {}
	if index {
		prefix = "search with an index/"
		begin = (*tester).index
	}
	return []testCase{
		{
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
		},
		{
			Name: prefix + "where words are",
			Rule: "Match looks at texts, thoughts, names, arguments and responses of functions, code and its output, " +
				"names of files, outputs, error messages and summaries; not at keys, ids, state, metadata and bytes.",
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
		},
		{
			Name: prefix + "all words",
			Rule: "All words of Match stand in one event, in any order.",
			Run: func(t *tester) {
				one, two := t.create("one"), t.create("two")
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
		},
		{
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
		},
		{
			Name: prefix + "conditions",
			Rule: "Author, Tool, Error, Denied and Match are met by one event together.",
			Run: func(t *tester) {
				desk, guard, failed := t.create("desk"), t.create("guard"), t.create("failed")
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
		},
		{
			Name: prefix + "deleted",
			Rule: "A deleted session is not found, nor is one that is made again under its key by the old one's words.",
			Run: func(t *tester) {
				one, two := t.create("one"), t.create("two")
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
		},
		{
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
				if index {
					ix, ok := t.Service.(session.Indexer)
					if ok {
						t.Must(ix.DropIndex(t.Context()))
						t.foundAt(session.Query{Match: "needle"}, key, 1, true)
						t.index()
						t.foundAt(session.Query{Match: "needle"}, key, 1, true)
					}
				}
			},
		},
		{
			Name: prefix + "random",
			Rule: "What Search finds of random events is what a look at each event finds, whatever is appended, " +
				"rewound, deleted and indexed in between.",
			Run: func(t *tester) {
				begin(t)
				rapid.Check(t.T, func(r *rapid.T) {
					one := *t
					one.Tester = contract.NewTester(r, t.T)
					one.random(r, index)
				})
			},
		},
	}
}

// random does random things, and compares searches with looks at each event.
func (t *tester) random(r *rapid.T, index bool) {
	vocabulary := []string{"refund", "ORDER", "Élan", "退款", "退", "คืนเงิน", "деньги", "4711", "환불을", "x_y"}
	authors := []string{"agent", "user", "plugin/guard"}
	words := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 4)
	var keys []session.Key
	made := 0 // sessions
	n := 0    // events
	event := func() *session.Event {
		n++
		e := text(fmt.Sprint(n), strings.Join(words.Draw(r, "text"), " "))
		e.Author = rapid.SampledFrom(authors).Draw(r, "author")
		switch rapid.IntRange(0, 5).Draw(r, "kind") {
		case 0:
			e.ErrorCode = session.Denied
		case 1:
			e.ErrorCode = "BROKEN"
		case 2:
			e.Content.Parts[0] = &genai.Part{FunctionCall: &genai.FunctionCall{Name: "book",
				Args: map[string]any{"text": e.Content.Parts[0].Text}}}
		}
		return e
	}
	for range rapid.IntRange(1, 12).Draw(r, "steps") {
		switch do := rapid.IntRange(0, 9).Draw(r, "step"); {
		case do < 2 || len(keys) == 0:
			made++
			keys = append(keys, t.create(fmt.Sprint("s", made)))
		case do < 7:
			var batch []*session.Event
			for range rapid.SampledFrom([]int{1, 1, 2, 3, 70}).Draw(r, "batch") {
				batch = append(batch, event())
			}
			t.put(rapid.SampledFrom(keys).Draw(r, "session"), batch...)
		case do == 7:
			key := rapid.SampledFrom(keys).Draw(r, "session")
			if last := t.get(key).Position; last > 0 {
				n++
				t.put(key, rewind(fmt.Sprint(n), rapid.Int64Range(0, last).Draw(r, "to")))
			}
		case do == 8:
			i := rapid.IntRange(0, len(keys)-1).Draw(r, "session")
			t.Must(t.Delete(t.Context(), keys[i]))
			keys = slices.Delete(keys, i, i+1)
		case index:
			t.index()
		}
		q := session.Query{
			App:    t.App,
			Author: rapid.SampledFrom([]string{"", "", "user", "agent"}).Draw(r, "by"),
			Tool:   rapid.SampledFrom([]string{"", "", "", "book"}).Draw(r, "tool"),
			Error:  rapid.IntRange(0, 9).Draw(r, "error") == 0,
			Denied: rapid.IntRange(0, 9).Draw(r, "denied") == 0,
			Match:  strings.Join(words.Draw(r, "match"), " "),
			Order:  rapid.SampledFrom([]session.Order{"", session.Oldest, session.Stored}).Draw(r, "order"),
		}
		t.equal(fmt.Sprintf("what %+v finds", q), found(t.search(q)), t.expected(q))
	}
}

// expected returns what a query finds, by a look at each event.
func (t *tester) expected(q session.Query) []string {
	t.Helper()
	plain := q
	plain.Author, plain.Tool, plain.Error, plain.Denied, plain.Match = "", "", false, false, ""
	var list []string
	for _, hit := range t.search(plain) {
		log := t.log(hit.Session.Key)
		live := session.Live(log)
		for _, e := range slices.Backward(log) {
			if q.OfEvents() && !meets(e, q) {
				continue
			}
			if q.OfEvents() {
				hit.Event = e
				hit.Live = slices.ContainsFunc(live, func(l *session.Event) bool { return l.Seq == e.Seq })
			}
			break
		}
		if hit.Event != nil || !q.OfEvents() {
			list = append(list, found([]*session.Hit{hit})...)
		}
	}
	return list
}

// meets says in the plainest way whether an event of random meets the conditions.
func meets(e *session.Event, q session.Query) bool {
	said := e.Text()
	tool := false
	for _, c := range e.FunctionCalls() {
		tool = tool || c.Name == q.Tool
		said = "book " + c.Args["text"].(string)
	}
	for _, word := range strings.Fields(q.Match) {
		has := slices.Contains(strings.Fields(said), word)
		switch word { // in a script without spaces, a part is found
		case "退":
			has = strings.Contains(said, word)
		}
		if !has {
			return false
		}
	}
	return (q.Author == "" || q.Author == e.Author) && (q.Tool == "" || tool) &&
		(!q.Denied || e.ErrorCode == session.Denied) && (!q.Error || e.ErrorCode == "BROKEN")
}

// index makes the index, if the store can have one.
func (t *tester) index() {
	t.Helper()
	ix, ok := t.Service.(session.Indexer)
	if !ok {
		return
	}
	t.Must(ix.Index(t.Context(), nil))
}

// search returns what a query finds.
func (t *tester) search(q session.Query) []*session.Hit {
	t.Helper()
	var list []*session.Hit
	for hit, err := range t.Search(t.Soon(), q) {
		t.Must(err)
		list = append(list, hit)
	}
	return list
}

// found expects the sessions that a query finds in the tester's app.
func (t *tester) found(q session.Query, want ...session.Key) {
	t.Helper()
	q.App = t.App
	var keys []string
	for _, key := range want {
		keys = append(keys, key.String())
	}
	t.equal(fmt.Sprintf("what %+v finds", q), keysOf(t.search(q)), keys)
}

// foundAt expects one session that a query finds, and the event.
func (t *tester) foundAt(q session.Query, key session.Key, seq int64, live bool) {
	t.Helper()
	q.App = t.App
	list := t.search(q)
	want := fmt.Sprintf("%s at %d, live %v", key, seq, live)
	t.equal(fmt.Sprintf("what %+v finds", q), found(list), []string{want})
	t.equal("the event", list[0].Event, t.log(key)[seq-1])
}

// found says which sessions and events were found.
func found(list []*session.Hit) []string {
	var all []string
	for _, hit := range list {
		seq := int64(0)
		if hit.Event != nil {
			seq = hit.Event.Seq
		}
		all = append(all, fmt.Sprintf("%s at %d, live %v", hit.Session.Key, seq, hit.Live))
	}
	return all
}

func keysOf(list []*session.Hit) []string {
	var keys []string
	for _, hit := range list {
		keys = append(keys, hit.Session.Key.String())
	}
	return keys
}

// threeOfAge makes three sessions that were updated on the first, third and second of January 2024.
func (t *tester) threeOfAge() []session.Key {
	t.Helper()
	var keys []session.Key
	for i, day := range []int{1, 3, 2} {
		key := t.create(fmt.Sprint(i))
		t.put(key, say("a"))
		t.Must(t.SetTimes(t.Context(), key, time.Time{}, time.Date(2024, 1, day, 0, 0, 0, 0, time.UTC)))
		keys = append(keys, key)
	}
	return keys
}

// text returns an agent's event with a text.
func text(id, said string) *session.Event {
	return &session.Event{ID: id, Author: "agent", Content: genai.NewContentFromText(said, genai.RoleModel)}
}

// callTo returns an event with a call of a function, and answerOf one with its response.
func callTo(id, call, name string) *session.Event {
	e := text(id, "")
	e.Content.Parts = []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: call, Name: name, Args: map[string]any{}}}}
	return e
}

func answerOf(id, call, name string, response map[string]any) *session.Event {
	e := session.Respond(&genai.FunctionCall{ID: call, Name: name}, response)
	e.ID = id
	e.Author = "agent"
	return e
}
