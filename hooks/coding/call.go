package coding

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/hooks/dialect"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// call offers a tool call. Some agents tell a call twice, the second time without an id: then what has become of
// it counts.
func (j *judgement) call(ctx context.Context) (dialect.Verdict, error) {
	call := j.functionCall()
	if j.event.Phase == "permission" {
		told, err := j.find(ctx, call)
		if err != nil {
			return dialect.Verdict{}, err
		}
		if told != nil {
			v := callVerdict(*told)
			if sameCall(told.Args, call.Args) {
				v = approved(v, told.Event)
			}
			return v, nil
		}
	}
	return j.offerCall(ctx, call)
}

func (j *judgement) offerCall(ctx context.Context, call *genai.FunctionCall) (dialect.Verdict, error) {
	e := j.agentEvent(genai.RoleModel, &genai.Part{FunctionCall: call})
	if j.event.Call != "" {
		e.ID = "call:" + j.event.Call + ":" + digest(call.Name+string(j.event.Input))
	}
	before := maps.Clone(call.Args)
	offered, err := j.outside.Offer(ctx, e)
	if err != nil {
		return dialect.Verdict{}, err
	}
	v := j.verdict(offered)
	if v.Answer != dialect.Allow && v.Answer != dialect.AddContext || len(offered.Calls) == 0 {
		return v, nil
	}
	if told := callVerdict(offered.Calls[0]); told.Answer != dialect.Allow {
		return told, nil
	}
	if after := offered.Calls[0].Args; !reflect.DeepEqual(before, after) {
		input, unsaid := changedInput(j.event.Input, before, after)
		if unsaid != "" {
			return dialect.Verdict{Answer: dialect.Deny, Reason: unsaid}, nil
		}
		return dialect.Verdict{Answer: dialect.ChangeInput, Input: input, Reason: changeReason(offered.Event)}, nil
	}
	return approved(v, offered.Event), nil
}

// approved returns the verdict on a call that passes, or that the agent need ask nobody about it, if a plugin says so.
func approved(v dialect.Verdict, call *session.Event) dialect.Verdict {
	if why, ok := plugin.Approved(call); ok && v.Answer == dialect.Allow {
		return dialect.Verdict{Answer: dialect.Approve, Reason: why}
	}
	return v
}

// changeReason says who has changed a call, and why.
func changeReason(e *session.Event) string {
	changes := plugin.NotesOf(e).Changed
	if len(changes) == 0 {
		return "A plugin has changed this call."
	}
	last := changes[len(changes)-1]
	if last.Reason == "" {
		return "The plugin " + last.Plugin + " has changed this call."
	}
	return last.Reason
}

// callVerdict returns what to tell the agent about a call, by what has become of it.
func callVerdict(c session.Call) dialect.Verdict {
	switch {
	case c.Result != nil:
		reason := text(c.Result.Response)
		name, _ := c.Response.Plugin()
		return dialect.Verdict{Answer: dialect.Deny, Reason: why(reason, name)}
	case c.Held != nil && !c.Approved():
		hint := c.Held.Actions.RequestedToolConfirmations[c.ID].Hint
		if hint == "" {
			hint = "Please confirm this call of " + c.Name + "."
		}
		return dialect.Verdict{Answer: dialect.Ask, Reason: hint}
	}
	return dialect.Verdict{Answer: dialect.Allow}
}

// result offers what a tool returned.
func (j *judgement) result(ctx context.Context) (dialect.Verdict, error) {
	call := j.functionCall()
	told, err := j.find(ctx, call)
	if err != nil {
		return dialect.Verdict{}, err
	}
	switch {
	case told == nil && j.event.Denied:
		return dialect.Verdict{Answer: dialect.Allow}, nil
	case told == nil:
		// The hook was installed meanwhile, or the agent does not tell its calls.
		v, err := j.offerCall(ctx, call)
		passes := []dialect.Answer{dialect.Allow, dialect.Approve, dialect.AddContext, dialect.ChangeInput}
		if err != nil || !slices.Contains(passes, v.Answer) {
			return v, err
		}
		if told, err = j.find(ctx, call); err != nil {
			return dialect.Verdict{}, err
		}
	case told.Result != nil && j.event.Denied:
		return dialect.Verdict{Answer: dialect.Allow}, nil // our own denial comes back
	case told.Result != nil:
		if told.Response.ID == j.resultID(told) {
			break // it is told again
		}
		v := callVerdict(*told)
		v.Reason = "The call was denied, and was made all the same. " + v.Reason
		return v, nil
	case told.Held != nil && told.Decision == nil:
		// The human has said yes in the agent's own dialog.
		yes := &session.Event{ID: "yes:" + told.ID, Author: session.User}
		yes.Actions.Confirm(told.ID, session.Confirmation{Confirmed: true})
		if _, err := j.outside.Offer(ctx, yes); err != nil {
			return dialect.Verdict{}, err
		}
	}
	if told != nil {
		call = told.FunctionCall
	}
	key := "result"
	if j.event.Error {
		key = "error"
	}
	e := session.Respond(call, map[string]any{key: j.event.Text})
	e.Author, e.Branch, e.ID = j.event.Kit, j.branch(), j.resultID(told)
	offered, err := j.outside.Offer(ctx, e)
	if err != nil {
		if errors.Is(err, runner.ErrNotWaiting) {
			return dialect.Verdict{Answer: dialect.Deny, Reason: "The call of this result was answered already."}, nil
		}
		return dialect.Verdict{}, err
	}
	v := j.verdict(offered)
	if v.Answer != dialect.Allow || offered.Event == nil {
		return v, nil
	}
	for _, r := range offered.Event.FunctionResponses() {
		if now := text(r.Response); now != j.event.Text {
			v = dialect.Verdict{Answer: dialect.ReplaceResult, Instead: now}
		}
	}
	return v, nil
}

// resultID returns the ID of the event with the result of a call that was told. Agents' ids of calls repeat.
func (j *judgement) resultID(told *session.Call) string {
	if told == nil {
		return ""
	}
	return "result:" + told.Event.ID
}

// find returns the call of the session that the event is about: the latest with its id, or else the oldest open one with
// the same arguments. It returns nil if there is none.
func (j *judgement) find(ctx context.Context, call *genai.FunctionCall) (*session.Call, error) {
	live, err := j.live(ctx)
	if err != nil {
		return nil, err
	}
	calls := session.Calls(live)
	if j.event.Call != "" {
		slices.Reverse(calls)
	}
	for i := range calls {
		c := &calls[i]
		if j.event.Call != "" && c.ID == call.ID {
			return c, nil
		}
		if j.event.Call == "" && c.Result == nil && j.sameTool(c.Name, call.Name) && sameCall(c.Args, call.Args) {
			return c, nil
		}
	}
	return nil, nil
}

// sameTool reports whether two names are of one tool. Some agents name the server of an MCP tool in one event of a
// call and not in the other.
func (j *judgement) sameTool(a, b string) bool {
	if j.event.Kind != dialect.KindMCP {
		return a == b
	}
	return strings.HasPrefix(a, "mcp__") && strings.HasSuffix(a, "__"+j.event.ServerTool)
}

// sameCall reports whether two calls of one tool are about the same: the same command, paths and address, or if
// they have none the same arguments. Agents tell a call with more arguments here than there.
func sameCall(a, b map[string]any) bool {
	about := []string{"command", "path", "paths", "url"}
	compared := false
	for _, key := range about {
		if a[key] == nil && b[key] == nil {
			continue
		}
		compared = true
		if !reflect.DeepEqual(a[key], b[key]) {
			return false
		}
	}
	return compared || reflect.DeepEqual(a, b)
}

// functionCall returns the call that the event is about, in names that all agents share.
func (j *judgement) functionCall() *genai.FunctionCall {
	e := j.event
	call := &genai.FunctionCall{ID: e.Call, Name: string(e.Kind), Args: map[string]any{}}
	switch e.Kind {
	case dialect.KindOther:
		call.Name = e.Tool
	case dialect.KindMCP:
		call.Name = "mcp__" + e.Server + "__" + e.ServerTool
	}
	if args, err := session.DecodeValue(e.Input); e.Input != nil { // it keeps long numbers
		var isObject bool
		if call.Args, isObject = args.(map[string]any); err != nil || !isObject {
			call.Args = map[string]any{"input": e.Text}
		}
	}
	add := func(key string, value any, there bool) {
		if _, taken := call.Args[key]; there && !taken {
			call.Args[key] = value
		}
	}
	add("command", e.Command, e.Command != "")
	add("cwd", e.Cwd, e.Cwd != "")
	add("path", e.Path, e.Path != "")
	if len(e.Paths) > 0 { // all of them, whatever the agent has under this name
		call.Args["paths"] = list(e.Paths)
	}
	add("url", e.URL, e.URL != "")
	if call.ID == "" {
		call.ID = session.NewID()
	}
	return call
}

func list(texts []string) []any {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return values
}

// changedInput returns the agent's arguments with the changes that plugins made. What nobody changed stays as it came,
// to the byte. A change of an argument that was added here goes to the agent's own argument of the same value. If the
// agent cannot be told a change, unsaid says why.
func changedInput(input jsontext.Value, before, after map[string]any) (changed jsontext.Value, unsaid string) {
	var own map[string]jsontext.Value
	if json.Unmarshal(input, &own, jsontext.AllowInvalidUTF8(true)) != nil || own == nil {
		return nil, "A plugin has changed this call, whose arguments are no object, so the change cannot be made."
	}
	for key := range own {
		if _, there := after[key]; !there {
			delete(own, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if reflect.DeepEqual(before[key], after[key]) {
			continue
		}
		target := key
		if _, added := before[key]; added && own[key] == nil {
			i := slices.IndexFunc(slices.Sorted(maps.Keys(own)), func(k string) bool { return reflect.DeepEqual(before[k], before[key]) })
			if i < 0 {
				return nil, "A plugin has changed the " + key + " of this call, which is none of its arguments."
			}
			target = slices.Sorted(maps.Keys(own))[i]
		}
		value, err := stdjson.Marshal(after[key]) // it writes long numbers as they are
		if err != nil {
			return nil, "A plugin has put into the " + key + " of this call what JSON cannot have."
		}
		own[target] = value
	}
	changed, err := json.Marshal(own, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, "The changed arguments of this call cannot be written."
	}
	return changed, ""
}

// text returns the text of a response.
func text(response map[string]any) string {
	for _, key := range []string{"result", "error", "output"} {
		if s, ok := response[key].(string); ok {
			return s
		}
	}
	if len(response) == 0 {
		return ""
	}
	out, err := json.Marshal(response, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(out)
}

func quoted(text string) jsontext.Value {
	v, _ := jsontext.AppendQuote(nil, text)
	return v
}
