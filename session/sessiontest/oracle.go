package sessiontest

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/session"
)

// random makes, changes and deletes random sessions. After each step it searches with a random query, and
// compares the result with that of expected, which reads each event.
func (t *tester) random(r *rapid.T) {
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
		case t.indexed:
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
		t.equal(fmt.Sprintf("what %+v finds", q), hits(t.search(q)), t.expected(q))
	}
}

// expected returns what a query has to find: it reads each event of each session.
func (t *tester) expected(q session.Query) []string {
	t.Helper()
	var list []*session.Hit
	for _, hit := range t.search(session.Query{App: q.App, Order: q.Order}) {
		if !q.OfEvents() {
			list = append(list, hit)
			continue
		}
		log := t.log(hit.Session.Key)
		for _, e := range slices.Backward(log) {
			if meets(e, q) {
				hit.Event = e
				hit.Live = slices.ContainsFunc(session.Live(log), func(l *session.Event) bool { return l.Seq == e.Seq })
				list = append(list, hit)
				break
			}
		}
	}
	return hits(list)
}

// meets reports whether an event that random has made meets a query's conditions.
func meets(e *session.Event, q session.Query) bool {
	said := e.Text()
	tool := false
	if e.Content != nil && e.Content.Parts[0].FunctionCall != nil { // a rewind has no content
		said = "book " + e.Content.Parts[0].FunctionCall.Args["text"].(string)
	}
	for _, c := range e.FunctionCalls() { // a user's are words, and no calls
		tool = tool || c.Name == q.Tool
	}
	for _, word := range strings.Fields(q.Match) {
		has := slices.Contains(strings.Fields(said), word)
		if word == "退" { // in a script without spaces, a part of a text is found
			has = strings.Contains(said, word)
		}
		if !has {
			return false
		}
	}
	return (q.Author == "" || q.Author == e.Author) && (q.Tool == "" || tool) &&
		(!q.Denied || e.ErrorCode == session.Denied) && (!q.Error || e.ErrorCode == "BROKEN")
}
