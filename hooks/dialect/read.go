package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/hooks/forward"
	"github.com/plughook/plughook/internal/lazyregexp"
)

// MaxInput is how many bytes of standard input an event may have: 10 MiB.
const MaxInput = forward.MaxInput

// ErrInput is the error of a payload that cannot be read as one event.
var ErrInput = errors.New("the hook's input is not an event")

// Read returns the event that an agent's hook was started for.
//
// agent is the name in Agents whose file names the hook, event the name of the event in the command's
// arguments (empty if there is none), getenv the environment, payload all of standard input.
//
// With an error the event is not nil if the agent is known: Reply of it with Failed fails closed as far
// as the event allows. The error is ErrInput if the payload is empty, too long, broken, more than one
// document, or has a key twice.
func Read(agent, event string, getenv func(string) string, payload []byte) (*Event, error) {
	t, err := load(agent)
	if err != nil {
		return nil, err
	}
	e := &Event{Kit: agent, Name: event, Meaning: Notice, Unknown: true, replies: t.Replies[t.Unreadable]}
	if r, ok := t.row(event); ok {
		e.Meaning, e.Unknown, e.replies = r.Means, false, t.Replies[r.Replies]
	}
	all, err := document(payload)
	if err != nil {
		return e, fmt.Errorf("%w: %w", ErrInput, err)
	}

	// An agent that reads another one's file speaks its own dialect.
	sets := t.Replies
	for _, f := range t.Foreign {
		if !f.matches(all, getenv) {
			continue
		}
		if t, err = load(f.Kit); err != nil {
			return e, err
		}
		e.Kit = f.Kit
		break
	}

	// The payload knows the event best, except in a dialect that does not name it there.
	if name := all.text("hook_event_name"); name != "" && (event == "" || !t.EventArgument) {
		e.Name = name
	}
	if e.Name == "" {
		return e, fmt.Errorf("%w: nothing names the event; start the hook with --event NAME", ErrInput)
	}
	k, err := loadTools()
	if err != nil {
		return e, err
	}
	r, known := t.row(e.Name)
	if !known {
		r = row{Means: Notice, Replies: t.Unknown}
	}
	e.read(t, k, r, all)
	if e.Unknown = !known; e.Unknown {
		e.Tool = scalar(all.first(t.Fields["tool"]))
	}
	e.replies = t.Replies[r.Replies]
	switch {
	case e.Kit != agent && (!known || e.Meaning == ToolCall || e.Meaning == Prompt):
		e.replies = sets["foreign_"+e.Kit]
	case e.Kit != agent:
		e.replies = t.Replies["observed"]
	case e.Kind == KindMCP && r.RepliesOfMCP != "":
		e.replies = t.Replies[r.RepliesOfMCP]
	case r.RepliesInBackground != "" && e.Background:
		e.replies = t.Replies[r.RepliesInBackground]
	}
	return e, nil
}

func (t *table) row(event string) (row, bool) {
	if name, ok := t.Aliases[event]; ok {
		event = name
	}
	r, ok := t.Events[event]
	return r, ok
}

func (f foreign) matches(all object, getenv func(string) string) bool {
	if getenv(f.Env) != "" {
		return true
	}
	has := func(key string) bool { return all[key] != nil }
	return !slices.ContainsFunc(f.Has, func(key string) bool { return !has(key) }) && !slices.ContainsFunc(f.Lacks, has)
}

// document returns the one object that a payload is.
func document(payload []byte) (object, error) {
	if len(payload) > MaxInput {
		return nil, fmt.Errorf("it has %d bytes; %d are read at most", len(payload), MaxInput)
	}
	payload = bytes.TrimPrefix(payload, []byte("\ufeff"))
	if len(bytes.TrimSpace(payload)) == 0 {
		return nil, errors.New("it is empty")
	}
	return members(payload)
}

// read fills an event from its payload.
func (e *Event) read(t *table, k *kinds, r row, all object) {
	field := func(name string) jsontext.Value { return all.first(t.Fields[name]) }
	e.Meaning, e.Phase, e.Branch, e.Error = r.Means, r.Phase, r.Branch, r.Error
	e.Sensitive, e.Thought, e.Interrupted = r.Sensitive, r.Thought, r.Interrupted
	e.Session, e.Turn, e.Call = scalar(field("session")), scalar(field("turn")), scalar(field("call"))
	e.Agent, e.Cwd, e.Server = scalar(field("agent")), firstOf(t.Fields["cwd"], all), scalar(field("server"))
	e.Source, e.Reason, e.Status = all.text("source"), all.text("reason"), all.text("status")
	e.Again = truth(all["stop_hook_active"]) || all.number("loop_count") > 0
	e.Interrupted = e.Interrupted || truth(all["is_interrupt"])
	e.Denied = all.text("failure_type") == "permission_denied"
	e.Error = e.Error || e.Status == "aborted" || e.Status == "error"
	if len(r.Text) > 0 {
		e.Text = textOf(all.first(r.Text), "")
	}
	if form, err := members(all.first(r.Text)); r.Sensitive && err == nil {
		for _, key := range slices.Sorted(maps.Keys(form)) {
			e.Text = strings.TrimPrefix(e.Text+"\n"+scalar(form[key]), "\n")
		}
	}
	if len(r.Final) > 0 {
		final := all.first(r.Final)
		e.Partial = final == nil || string(final) == "false"
	}
	if len(r.Calls) == 2 {
		for _, call := range elements(all[r.Calls[0]]) {
			e.Calls = append(e.Calls, scalar(follow(call, r.Calls[1])))
		}
	}

	// What the call is about stands in its arguments; some events have them in the payload itself.
	input := unquoted(field("input"))
	about := all
	if fields, err := members(input); err == nil {
		about = fields
	}
	if r.Means == ToolCall || r.Means == ToolResult {
		e.readTool(t, k, r, scalar(field("tool")))
		e.Input, e.Result = input, unquoted(field("result"))
	}
	e.readArguments(k, about, all)
	if r.Means == ToolResult {
		e.readResult()
	}
}

// readTool finds out what the tool does.
func (e *Event) readTool(t *table, k *kinds, r row, tool string) {
	e.Tool, e.Kind = tool, r.Kind
	if e.Tool == "" {
		e.Tool = r.Tool
	}
	e.Network, e.Deletes = slices.Contains(k.Network, e.Tool), slices.Contains(k.Deletes, e.Tool)
	if e.Kind == KindMCP {
		e.ServerTool = e.Tool
	}
	if e.Kind != "" {
		return
	}
	e.Kind = KindOther
	for kind, names := range k.Kinds {
		if slices.Contains(names, e.Tool) {
			e.Kind = kind
			return
		}
	}
	if server, tool, ok := t.MCP.split(e.Tool); ok {
		e.Kind, e.ServerTool = KindMCP, tool
		if e.Server == "" {
			e.Server = server
		} else if rest, ok := strings.CutPrefix(e.Tool, t.MCP.Prefix+e.Server+t.MCP.Split); ok {
			e.ServerTool = rest
		}
	}
}

// split takes the name of an MCP tool apart.
func (m mcpNames) split(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, m.Prefix)
	switch {
	case !ok:
		return "", "", false
	case m.SplitLast != "":
		i := strings.LastIndex(rest, m.SplitLast)
		if i <= 0 {
			return "", "", false
		}
		return rest[:i], rest[i+len(m.SplitLast):], true
	case m.Split == "":
		return "", rest, true
	}
	server, tool, ok = strings.Cut(rest, m.Split)
	return server, tool, ok && server != ""
}

var (
	inPrompt = lazyregexp.New(`https?://[^\s"'<>)\]}]+`)
	failed   = lazyregexp.New(`^Exit code:? [1-9]`)
)

// readArguments fills what a call is about: a command, paths, addresses, new content.
func (e *Event) readArguments(k *kinds, about, all object) {
	if e.Kind == KindShell || e.Kind == KindOther {
		e.Command = about.text("command")
	}
	e.Path = firstOf(k.Path, about)
	for _, key := range k.Paths {
		for _, element := range elements(about[key]) {
			path := scalar(element)
			if fields, err := members(element); err == nil {
				path = firstOf(k.Path, fields)
			}
			if path != "" {
				e.Paths = append(e.Paths, path)
			}
		}
	}
	e.Paths = append(e.Paths, decoys(k.Path, about, e.Path)...)
	e.URL = firstOf(k.URL, about)
	if e.URL == "" && e.Kind == KindMCP {
		e.URL = firstOf(k.URL, all)
	}
	if e.Kind == KindFetch && e.URL == "" {
		if e.URLs = inPrompt.FindAllString(about.text("prompt"), -1); len(e.URLs) > 0 {
			e.URL = e.URLs[0]
		}
	}
	e.Background = truth(about["is_background"]) || truth(about["run_in_background"])
	if command := strings.TrimSpace(e.Command); strings.HasSuffix(command, "&") && !strings.HasSuffix(command, "&&") {
		e.Background = true
	}
	if e.Text == "" && e.Meaning == ToolCall {
		e.Text = textOf(about.first(k.Texts[e.Kind]), "\n")
		if e.Input.Kind() == '"' {
			e.Text = scalar(e.Input)
		}
	}
	if e.Kind == KindEdit {
		e.readPatch(about)
	}
}

// decoys returns all paths that arguments have, if they have other ones than that which counts: only the tool knows which one
// it will take.
func decoys(keys []string, about object, path string) (all []string) {
	for _, key := range keys {
		if other := scalar(about[key]); other != "" && !slices.Contains(all, other) {
			all = append(all, other)
		}
	}
	if len(all) == 1 && all[0] == path {
		return nil
	}
	return all
}

// readPatch reads a patch of the form "*** Begin Patch": the files that it names, and the lines that it adds.
func (e *Event) readPatch(about object) {
	patch := scalar(e.Input)
	for _, value := range about {
		if text := scalar(value); patch == "" && strings.HasPrefix(text, "*** Begin Patch") {
			patch = text
		}
	}
	if !strings.HasPrefix(patch, "*** Begin Patch") {
		return
	}
	var added []string
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if path, ok := strings.CutPrefix(line, head); ok {
				e.Paths = append(e.Paths, path)
				e.Deletes = e.Deletes || head == "*** Delete File: "
			}
		}
		if text, ok := strings.CutPrefix(line, "+"); ok {
			added = append(added, text)
		}
	}
	e.Path, e.Text = "", strings.Join(added, "\n")
	if len(e.Paths) == 1 {
		e.Path = e.Paths[0]
	}
}

// readResult fills what a tool returned, and whether it failed.
func (e *Event) readResult() {
	if e.Text = textOf(e.Result, "\n"); e.Text == "" && e.Result.Kind() == '"' {
		e.Text = scalar(e.Result)
	}
	result, err := members(e.Result)
	if err != nil {
		e.Error = e.Error || failed.MatchString(e.Text)
		return
	}
	e.Error = e.Error || truth(result["isError"]) || truth(result["is_error"]) || result.number("exitCode") != 0 ||
		result.text("resultType") == "failure" || result["error"] != nil && result["error"].Kind() != 'n'
	e.Interrupted = e.Interrupted || truth(result["interrupted"])
	if result.text("status") == "async_launched" {
		e.Background, e.Branch = true, result.text("agentId")
	}
}
