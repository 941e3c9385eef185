// Package coding puts coding agents under the plugins of a runner.
//
// A coding agent runs by itself and starts hooks (see hooks/dialect). Host.Judge takes what a hook was
// told, offers it to the runner as an event of the agent's session (runner.Outside), and says what to
// tell the agent. Prompts, calls, results, answers, compactions and the ends of turns are events.
//
// Policies are written once for all agents, so tools have one name for each kind: "shell", "read",
// "write", "edit", "fetch", "search", "task"; those of MCP servers are "mcp__SERVER__TOOL", and others
// have the name that the agent gives them. The arguments are the agent's, and where they lack them
// "command", "cwd", "path", "paths" and "url".
//
// What a new kind of tool is called belongs into hooks/dialect. What an event becomes is a case of Judge;
// what a plugin's outcome becomes, a case of verdict.
package coding

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/hooks/dialect"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// App is the app of sessions of coding agents, where a Host names none.
const App = "coding"

// ErrSession is the error of an event that names no session, and no directory that could stand for one.
var ErrSession = errors.New("the event belongs to no session")

// A Host judges what coding agents tell their hooks. It is safe for concurrent use.
type Host struct {
	// Runner has the plugins. Its agent is one made by agent.Outside.
	Runner *runner.Runner
	// Sessions is where the Runner keeps the sessions.
	Sessions session.Service
	// App and User are those of the sessions. An empty App is App.
	App, User string
	// AllowUnknown lets calls pass that come with an event which the dialect does not know. They are denied otherwise.
	// Notices that it does not know always pass.
	AllowUnknown bool
}

// Judge offers what an agent told to the plugins, and returns what to tell the agent.
//
// An error says that nobody could decide: a plugin failed, or the session cannot be reached. Then the
// agent is to be told dialect.Failed. The same event may be judged again, at once or after a crash: one
// with an id of the agent's own is in the log once, and the answer is the same.
func (h Host) Judge(ctx context.Context, e *dialect.Event) (dialect.Verdict, error) {
	if e.Session == "" && e.Cwd == "" {
		if e.Meaning == dialect.Notice {
			return dialect.Verdict{Answer: dialect.Allow}, nil
		}
		return dialect.Verdict{}, fmt.Errorf("hooks/coding: %s of %s: %w", e.Name, e.Kit, ErrSession)
	}
	j := &judgement{
		Host:  h,
		event: e,
		outside: runner.Outside{
			Runner: h.Runner,
			Key:    h.key(e),
			Agent:  e.Kit,
		},
	}
	v, err := j.judge(ctx)
	if err != nil {
		return dialect.Verdict{}, fmt.Errorf("hooks/coding: %s of %s: %w", e.Name, e.Kit, err)
	}
	return v, nil
}

// key returns the key of an agent's session. Its id is the agent's own, or a digest: of one that cannot be an id, or
// of the directory in which an agent without session ids works.
func (h Host) key(e *dialect.Event) session.Key {
	key := session.Key{App: h.App, User: h.User, ID: e.Kit + "-" + e.Session}
	if key.App == "" {
		key.App = App
	}
	if e.Session == "" {
		key.ID = e.Kit + "-dir-" + digest(e.Cwd)
	} else if key.Check(false) != nil {
		key.ID = e.Kit + "-" + digest(e.Session)
	}
	return key
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// A judgement is one event of an agent under judgement.
type judgement struct {
	Host
	event   *dialect.Event
	outside runner.Outside
}

func (j *judgement) judge(ctx context.Context) (dialect.Verdict, error) {
	e := j.event
	switch {
	case e.Meaning == dialect.Prompt:
		return j.prompt(ctx)
	case e.Meaning == dialect.ToolCall:
		return j.call(ctx)
	case e.Meaning == dialect.ToolResult:
		return j.result(ctx)
	case e.Meaning == dialect.AgentAnswer && !e.Partial:
		return j.text(ctx)
	case e.Meaning == dialect.End:
		return j.end(ctx)
	case e.Meaning == dialect.SessionEnd:
		_, err := j.outside.End(ctx, plugin.End{Kind: plugin.EndDone})
		return dialect.Verdict{Answer: dialect.Allow}, err
	case e.Meaning == dialect.Compact, e.Unknown:
		return j.notice(ctx)
	}
	return dialect.Verdict{Answer: dialect.Allow}, nil
}

// prompt offers what the user wrote. It begins an invocation.
func (j *judgement) prompt(ctx context.Context) (dialect.Verdict, error) {
	input := session.Message(j.event.Text)
	if j.event.Turn != "" {
		input.ID = strings.TrimSuffix("prompt:"+j.event.Turn+":"+j.event.Phase, ":")
	}
	offered, err := j.outside.Offer(ctx, input)
	if err != nil {
		return dialect.Verdict{}, err
	}
	v := j.verdict(offered)
	if changed := textIn(offered.Event); v.Answer == dialect.Allow && changed != j.event.Text {
		v = dialect.Verdict{Answer: dialect.ChangeInput, Input: quoted(changed), Reason: v.Reason}
	}
	if v.Answer == dialect.Stop {
		v.Answer = dialect.Deny // a prompt that is not sent ends nothing else
	}
	return v, nil
}

// text offers what the model said.
func (j *judgement) text(ctx context.Context) (dialect.Verdict, error) {
	if j.event.Text == "" {
		return dialect.Verdict{Answer: dialect.Allow}, nil
	}
	answer := j.agentEvent(genai.RoleModel, &genai.Part{Text: j.event.Text})
	offered, err := j.outside.Offer(ctx, answer)
	if err != nil {
		return dialect.Verdict{}, err
	}
	v := j.verdict(offered)
	if changed := textIn(offered.Event); v.Answer == dialect.Allow && changed != j.event.Text {
		v = dialect.Verdict{Answer: dialect.ReplaceResult, Instead: changed}
	}
	return v, nil
}

// end offers the last answer of a turn, and ends the invocation. An answer that is denied is sent back, but only
// once: an agent that goes on because we said so, and ends again, may end.
func (j *judgement) end(ctx context.Context) (dialect.Verdict, error) {
	v := dialect.Verdict{Answer: dialect.Allow}
	last, err := j.lastText(ctx)
	if err != nil {
		return v, err
	}
	if last != j.event.Text {
		if v, err = j.text(ctx); err != nil {
			return v, err
		}
	}
	if v.Answer == dialect.Deny && !j.event.Again || j.event.Branch != "" {
		return v, nil
	}
	end := plugin.End{Kind: plugin.EndDone}
	if j.event.Error {
		end.Kind = plugin.EndFailed
	}
	offered, err := j.outside.End(ctx, end)
	if err != nil {
		return dialect.Verdict{}, err
	}
	if offered.Withheld != nil && !j.event.Again {
		return dialect.Verdict{Answer: dialect.Deny, Reason: offered.Withheld.Reason}, nil
	}
	if v.Answer == dialect.Deny || v.Answer == dialect.ReplaceResult {
		v = dialect.Verdict{Answer: dialect.Allow}
	}
	return v, nil
}

// lastText returns what the agent said last in this branch of the session.
func (j *judgement) lastText(ctx context.Context) (string, error) {
	live, err := j.live(ctx)
	if err != nil || len(live) == 0 {
		return "", err
	}
	last := live[len(live)-1]
	if last.Author != j.event.Kit || last.Branch != j.branch() {
		return "", nil
	}
	return textIn(last), nil
}

func (j *judgement) live(ctx context.Context) ([]*session.Event, error) {
	live, err := session.ReadAll(ctx, j.Sessions, j.outside.Key, session.Selection{Live: true})
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil
	}
	return live, err
}

// notice records what is neither a message nor a call. A call in an event that nobody knows is denied.
func (j *judgement) notice(ctx context.Context) (dialect.Verdict, error) {
	e := j.event
	note := j.agentEvent("")
	note.Content = nil
	note.CustomMetadata = map[string]any{"hook": map[string]any{"agent": e.Kit, "event": e.Name, "phase": e.Phase}}
	offered, err := j.outside.Offer(ctx, note)
	if err != nil {
		return dialect.Verdict{}, err
	}
	if e.Unknown && e.Tool != "" && !j.AllowUnknown {
		return dialect.Verdict{
			Answer: dialect.Deny,
			Reason: fmt.Sprintf("The event %s of %s is not known, so the call of %s in it cannot be judged.", e.Name, e.Kit, e.Tool),
		}, nil
	}
	return j.verdict(offered), nil
}

// agentEvent returns an event of the agent, or of its subagent.
func (j *judgement) agentEvent(role string, parts ...*genai.Part) *session.Event {
	return &session.Event{
		Author:  j.event.Kit,
		Branch:  j.branch(),
		Content: &genai.Content{Role: role, Parts: parts},
	}
}

// branch returns the branch of the subagent that acts.
func (j *judgement) branch() string {
	if j.event.Agent == "" {
		return ""
	}
	return j.event.Kit + "." + strings.ReplaceAll(j.event.Agent, ".", "-")
}

// verdict returns what to tell the agent, by what has become of its event.
func (j *judgement) verdict(o *runner.Offered) dialect.Verdict {
	reason := ""
	var context []string
	for _, e := range o.Events {
		name, ours := e.Plugin()
		if !ours || e == o.Event || len(e.FunctionResponses()) > 0 {
			continue
		}
		if _, why, denied := plugin.Denial(e); denied {
			reason = why
		} else if text := textIn(e); text != "" {
			context = append(context, text)
			if reason == "" && o.Withheld != nil && o.Withheld.Plugin == name {
				reason = text
			}
		}
	}
	if o.Withheld != nil && reason == "" {
		reason = o.Withheld.Reason
	}
	stopped := o.End != nil && o.End.Kind == plugin.EndStopped
	switch {
	case stopped && reason == "":
		return dialect.Verdict{Answer: dialect.Stop, Reason: why(o.End.Reason, o.End.Plugin)}
	case stopped:
		return dialect.Verdict{Answer: dialect.Stop, Reason: reason}
	case o.Withheld != nil:
		return dialect.Verdict{Answer: dialect.Deny, Reason: why(reason, o.Withheld.Plugin)}
	case len(context) > 0:
		return dialect.Verdict{Answer: dialect.AddContext, Reason: strings.Join(context, "\n")}
	}
	return dialect.Verdict{Answer: dialect.Allow}
}

// why returns a reason, which is never empty: some agents run a call whose denial has none.
func why(reason, plugin string) string {
	if reason != "" {
		return reason
	}
	return "Denied by the plugin " + plugin + "."
}

// textIn returns the text of an event, without thoughts.
func textIn(e *session.Event) string {
	if e == nil || e.Content == nil {
		return ""
	}
	var texts []string
	for _, part := range e.Content.Parts {
		if part.Text != "" && !part.Thought {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}
