package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/words"
	"github.com/plughook/plughook/session"
)

// What stands before the terms that are no words. It is no letter, so no word has it; and it is beyond ASCII,
// so that a database which parts words by ASCII's characters leaves the term whole.
const (
	mark       = "·"
	authorTerm = mark + "a" // and the author: see nameTerm
	toolTerm   = mark + "t" // and the function's name
	errorTerm  = mark + "e"
	deniedTerm = mark + "d"
)

// Terms returns the terms by which a search finds an event: its words, and one term each for its author, for
// each function, for an error and for a denial. A term has letters, digits and marks; those that are no words
// begin with "·". The terms have no order, and each is there once.
func Terms(e *session.Event) []string {
	set := map[string]struct{}{}
	marks(e, func(term string) { set[term] = struct{}{} })
	texts(e, func(text string) { words.Add(set, text) })
	return slices.Collect(maps.Keys(set))
}

// Conditions are a query's conditions on events.
type Conditions struct {
	// Terms are those that an event must have: it meets the conditions exactly if Terms of it has all of
	// them.
	Terms []string
	match bool // some of them are words
}

// ConditionsOf returns a query's conditions on events.
func ConditionsOf(q session.Query) Conditions {
	c := Conditions{match: q.Match != ""}
	if q.Author != "" {
		c.Terms = append(c.Terms, nameTerm(authorTerm, q.Author))
	}
	if q.Tool != "" {
		c.Terms = append(c.Terms, nameTerm(toolTerm, q.Tool))
	}
	if q.Error {
		c.Terms = append(c.Terms, errorTerm)
	}
	if q.Denied {
		c.Terms = append(c.Terms, deniedTerm)
	}
	c.Terms = append(c.Terms, words.Wanted(q.Match)...)
	return c
}

// Met reports whether a stored event meets the conditions. It costs less than Terms.
func (c Conditions) Met(e *session.Event) bool {
	missing := make(map[string]struct{}, len(c.Terms))
	for _, term := range c.Terms {
		missing[term] = struct{}{}
	}
	marks(e, func(term string) { delete(missing, term) })
	for term := range missing {
		if !c.match || strings.HasPrefix(term, mark) {
			return false
		}
	}
	if len(missing) > 0 {
		has := map[string]struct{}{}
		texts(e, func(text string) { words.Add(has, text) })
		for term := range missing {
			if _, ok := has[term]; !ok {
				return false
			}
		}
	}
	return true
}

// nameTerm returns the term for a name of that kind: short, and of ASCII's letters and digits, whatever the
// name is.
func nameTerm(kind, name string) string {
	if len(name) <= 64 {
		return kind + hex.EncodeToString([]byte(name))
	}
	return kind + fmt.Sprintf("x%x", sha256.Sum256([]byte(name)))
}

// marks yields the terms of an event that are no words.
func marks(e *session.Event, yield func(term string)) {
	if e.Author != "" {
		yield(nameTerm(authorTerm, e.Author))
	}
	denied := e.ErrorCode == session.Denied
	if denied {
		yield(deniedTerm)
	} else if e.ErrorCode != "" {
		yield(errorTerm)
	}
	for _, c := range e.FunctionCalls() {
		yield(nameTerm(toolTerm, c.Name))
	}
	for _, r := range e.FunctionResponses() {
		yield(nameTerm(toolTerm, r.Name))
		refused := denied || r.Response["declined"] == true || r.Response["interrupted"] == true
		if r.Response["error"] != nil && !refused {
			yield(errorTerm)
		}
	}
}

// texts yields the texts of an event that have its words: see session.Query.Match.
func texts(e *session.Event, yield func(text string)) {
	contentTexts(e.Content, yield)
	if c := e.Actions.Compaction; c != nil {
		contentTexts(c.Content, yield)
	}
	valueTexts(e.Output, yield)
	yield(e.ErrorMessage)
}

func contentTexts(c *genai.Content, yield func(text string)) {
	if c == nil {
		return
	}
	for _, p := range c.Parts {
		if p == nil {
			continue
		}
		yield(p.Text)
		if f := p.FunctionCall; f != nil {
			yield(f.Name)
			valueTexts(f.Args, yield)
		}
		if f := p.FunctionResponse; f != nil {
			yield(f.Name)
			valueTexts(f.Response, yield)
		}
		if p.ExecutableCode != nil {
			yield(p.ExecutableCode.Code)
		}
		if p.CodeExecutionResult != nil {
			yield(p.CodeExecutionResult.Output)
		}
		if p.InlineData != nil {
			yield(p.InlineData.DisplayName)
		}
		if p.FileData != nil {
			yield(p.FileData.DisplayName)
		}
	}
}

// valueTexts yields the texts and numbers in a JSON value, without the keys of objects.
func valueTexts(value any, yield func(text string)) {
	switch v := value.(type) {
	case string:
		yield(v)
	case float64:
		yield(strconv.FormatFloat(v, 'f', -1, 64))
	case stdjson.Number:
		yield(v.String())
	case map[string]any:
		for _, inner := range v {
			valueTexts(inner, yield)
		}
	case []any:
		for _, inner := range v {
			valueTexts(inner, yield)
		}
	}
}

// Search answers a query from candidates, which come in the query's order: the sessions that App, User, Since
// and Until leave in. Where the query has conditions on events, a candidate has the event that an index
// found, or none: Search then reads the session's log for it. Search looks at Waiting and CutOff, and ends at the limit.
// A session that is not there any more is left out.
func Search(ctx context.Context, svc session.Reader, q session.Query,
	candidates iter.Seq2[*session.Hit, error]) iter.Seq2[*session.Hit, error] {
	return func(yield func(*session.Hit, error) bool) {
		if err := q.Check(); err != nil {
			yield(nil, err)
			return
		}
		conditions := ConditionsOf(q)
		found := 0
		for hit, err := range candidates {
			is := false
			if err == nil {
				err = context.Cause(ctx)
			}
			if err == nil {
				is, err = look(ctx, svc, q, conditions, hit)
			}
			if err != nil && !errors.Is(err, session.ErrNotFound) {
				yield(nil, err)
				return
			}
			if err != nil || !is {
				continue
			}
			found++
			if !yield(hit, nil) || found == q.Limit {
				return
			}
		}
	}
}

// look reports whether a candidate is a hit. It fills in the event that is looked for in the log.
func look(ctx context.Context, svc session.Reader, q session.Query, conditions Conditions, hit *session.Hit) (bool, error) {
	if q.CutOff {
		s, err := svc.Get(ctx, hit.Session.Key)
		if err != nil || s.CutOff == "" {
			return false, err
		}
		hit.Session.CutOff = s.CutOff
	}
	if q.Waiting {
		waits, err := waits(ctx, svc, hit.Session.Key)
		if err != nil || !waits {
			return false, err
		}
	}
	if hit.Event != nil || !q.OfEvents() {
		return true, nil
	}
	var statuses session.EventStatuses
	for e, err := range svc.Read(ctx, hit.Session.Key, session.Selection{}) {
		if err != nil {
			return false, err
		}
		statuses.Add(e)
		if conditions.Met(e) {
			hit.Event = e
		}
	}
	if hit.Event == nil {
		return false, nil
	}
	hit.Live = statuses.Of(hit.Event).Live
	return true, nil
}

// waits reports whether a session has a call that waits for an answer from outside.
func waits(ctx context.Context, svc session.Reader, key session.Key) (bool, error) {
	live, err := session.ReadAll(ctx, svc, key, session.Selection{Live: true})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(session.Calls(live), func(c session.Call) bool { return c.Waits() }), nil
}

// Compare compares two sessions by a query's order, which is not session.Stored: what Search's candidates
// come in.
func Compare(o session.Order, a, b *session.Session) int {
	n := cmp.Or(
		b.Updated.Compare(a.Updated),
		cmp.Compare(a.App, b.App), cmp.Compare(a.User, b.User), cmp.Compare(a.ID, b.ID),
	)
	if o == session.Oldest {
		return -n
	}
	return n
}
