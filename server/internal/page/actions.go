package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server/internal/page/visible"
	"github.com/plughook/plughook/session"
)

// A planView is the page that asks before an action: what it would do.
type planView struct {
	Key          session.Key
	Path         string // of the session
	Action       string // of the form
	What, Button string
	Busy         string // what the button says while it works
	Fields       map[string]string
	Lines        []keyValue
	ID           string // asks for the new session's id, with this one
	Instructions bool   // asks how to summarize
}

// rewind says what a rewind would do, or does it.
func (x *page) rewind(q *request) (any, error) {
	args := map[string]any{}
	what := "Take back the last rewind"
	to := q.FormValue("to")
	if to != "" {
		args["to"] = float64(numberOf(to))
		what = "Rewind to " + strconv.FormatInt(numberOf(to), 10)
	} else {
		args["undo"] = true
	}
	return x.command(q, plugin.Rewind, args, &planView{
		What: what, Button: what, Busy: "Rewinding…", Fields: map[string]string{"to": to},
	})
}

// compact says what a compaction would do, or does it.
func (x *page) compact(q *request) (any, error) {
	args := map[string]any{}
	if text := strings.TrimSpace(q.FormValue("instructions")); text != "" {
		args["instructions"] = text
	}
	return x.command(q, plugin.Compact, args, &planView{
		What: "Compact", Button: "Compact", Busy: "Compacting…", Instructions: true,
	})
}

// command shows a dry run of a command, or carries it out.
func (x *page) command(q *request, action plugin.Action, args map[string]any, v *planView) (any, error) {
	v.Key = q.key
	v.Path = pathOf("/s", q.key)
	v.Action = q.URL.EscapedPath()
	if q.Method == http.MethodPost {
		if _, err := x.Command(q.Context(), q.app, q.key, action, args, q.PostForm.Get("id")); err != nil {
			return nil, err
		}
		return redirect(v.Path), nil
	}
	plan, err := x.DryRun(q.Context(), q.app, q.key, action, args)
	if err != nil {
		return nil, err
	}
	v.Lines = planLines(plan)
	v.Fields = maps.Clone(v.Fields)
	if v.Fields == nil {
		v.Fields = map[string]string{}
	}
	v.Fields["id"] = session.NewID()
	return &view{Template: "plan", Title: v.What, Nav: "sessions", Narrow: true, Data: v}, nil
}

// fork asks for the id of a session that is made of the first events of this one, or makes it.
func (x *page) fork(q *request) (any, error) {
	at := numberOf(q.FormValue("at"))
	if q.Method == http.MethodPost {
		made, err := x.Fork(q.Context(), q.app, q.key, &at, strings.TrimSpace(q.PostForm.Get("name")))
		if err != nil {
			return nil, err
		}
		return redirect(pathOf("/s", made.Key)), nil
	}
	s, err := q.app.Sessions().Get(q.Context(), q.key)
	if err != nil {
		return nil, err
	}
	if at == 0 || at > s.Position {
		at = s.Position
	}
	return &view{Template: "plan", Title: "Fork", Nav: "sessions", Narrow: true, Data: &planView{
		Key:    q.key,
		Path:   pathOf("/s", q.key),
		Action: q.URL.EscapedPath(),
		What:   fmt.Sprintf("Fork after event %d", at),
		Button: "Fork",
		Fields: map[string]string{"at": strconv.FormatInt(at, 10)},
		ID:     fmt.Sprintf("%s-%d", q.key.ID, at),
		Lines: []keyValue{{Key: "Makes", Value: []visible.Piece{{Text: fmt.Sprintf(
			"a session of the first %d events, which goes on by itself; this one stays as it is", at)}}}},
	}}, nil
}

// planned are the keys of dry runs that people are told of, in order, in words.
var planned = [][2]string{
	{"declined", "Would not happen"}, {"why", "Why"}, {"void", "Void"}, {"turns", "Turns"}, {"cut", "Cut off partway"},
	{"back", "Counts again"}, {"summaries", "Summaries that go"}, {"rewinds", "Rewinds taken back"}, {"state", "State"},
	{"shared", "Stays as it is, since sessions share it"}, {"artifacts", "Files that stay saved"},
	{"calls", "Was done, and stays done"}, {"dropped", "Waits, and could not be answered any more"},
	{"waiting", "Waits again"}, {"interrupted", "Open again, and answered as interrupted"},
	{"covers", "Would stand behind a summary"}, {"stays", "Stay"}, {"cleared", "Shown in part"}, {"hidden", "Not shown"},
	{"lines", "First lines alone"}, {"before", "Tokens before"}, {"kept", "Tokens that stay"},
	{"summary", "Tokens of the summary, at most"}, {"text", "The summary, as it would be without a model"},
}

// planLines says a dry run in words.
func planLines(plan any) (list []keyValue) {
	data, err := json.Marshal(plan)
	values := map[string]any{}
	if err == nil {
		err = json.Unmarshal(data, &values)
	}
	if err != nil {
		return nil
	}
	for _, p := range planned {
		value, ok := values[p[0]]
		if text := planText(value); ok && text != "" {
			pieces, _ := visible.Pieces(text, 4000)
			list = append(list, keyValue{Key: p[1], Value: pieces})
		}
	}
	return list
}

func planText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return numberText(v)
	case map[string]any:
		var words []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			words = append(words, planText(v[key])+" as "+key)
		}
		return strings.Join(words, "; ")
	case []any:
		return listText(v)
	}
	return eventtext.JSON(v)
}

// listText says positions as ranges, and other things one after the other.
func listText(list []any) string {
	var words []string
	for i := 0; i < len(list); {
		first, isNumber := list[i].(float64)
		if object, ok := list[i].(map[string]any); ok {
			text := eventtext.JSON(object)
			if key, ok := object["key"].(string); ok {
				text = fmt.Sprintf("%s: %s → %s", key, eventtext.JSON(object["old"]), eventtext.JSON(object["new"]))
			}
			if name, ok := object["name"].(string); ok {
				args, _ := object["args"].(map[string]any)
				text = fmt.Sprintf("%v %s %s", object["seq"], name, eventtext.Object(args))
			}
			words = append(words, text)
			i++
			continue
		}
		if !isNumber {
			words = append(words, cmp.Or(planText(list[i]), "–"))
			i++
			continue
		}
		last := first
		for i++; i < len(list) && list[i] == any(last+1); i++ {
			last++
		}
		text := numberText(first)
		if last > first {
			text += "–" + numberText(last)
		}
		words = append(words, text)
	}
	return strings.Join(words, ", ")
}
