package policy

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// promptReader has a policy's rules about prompts judge the conversation before each answer of a
// model, for no recording has the prompt itself.
type promptReader struct {
	guards []*plugin.Plugin // one for each rule: without the others

	mu    sync.Mutex
	event judgedEvent // whose prompt is judged
}

// promptsOf makes the plugin, which takes part in a replay under a policy, judge prompts, too.
func (j *judgedEvents) promptsOf(p *plugin.Plugin, pol *policy.Policy, key []byte) error {
	r := &promptReader{}
	for _, rule := range pol.Rules() {
		if !slices.Contains(rule.Stages, policy.Prompt) {
			continue
		}
		guard, err := guardrail.New(guardrail.Config{
			Policy: pol.Only(rule.ID).InShadow(),
			Key:    key,
			Log:    j.log(),
			Found: func(_ *session.Invocation, _ *session.Event, stage policy.Stage, f policy.Finding, text string) {
				j.add(r.event, stage, f, text)
			},
		})
		if err != nil {
			return exit.Usage.As(err)
		}
		r.guards = append(r.guards, guard)
	}
	if len(r.guards) == 0 {
		return nil
	}
	event := p.OnEvent
	p.OnEvent = func(ctx context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
		if err := r.judge(ctx, inv, e); err != nil {
			return plugin.Outcome{}, err
		}
		return event(ctx, inv, e)
	}
	return nil
}

// judge judges the prompt of an event, if that is a model's answer.
func (r *promptReader) judge(ctx context.Context, inv *session.Invocation, e *session.Event) error {
	if e.Content == nil || e.Content.Role != genai.RoleModel || !e.FromAgent() {
		return nil
	}
	req := &model.Request{Agent: e.Author, Branch: e.Branch, Contents: conversation(inv, e.Branch)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.event = judgedEvent{inv.Key, e.ID}
	for _, guard := range r.guards {
		if _, err := guard.BeforeModel(ctx, inv, req.Clone()); err != nil {
			return err
		}
		if _, err := guard.AfterRun(ctx, inv, plugin.End{Kind: plugin.EndDone}); err != nil {
			return err
		}
	}
	return nil
}

// conversation is what an agent of a branch can have been shown: what the live events say, and what
// stands for others.
func conversation(inv *session.Invocation, branch string) (list []*genai.Content) {
	for _, e := range inv.Live {
		content := e.Content
		if e.Marker() && e.Actions.Compaction != nil {
			content = e.Actions.Compaction.Content
		}
		if content != nil && agent.Sees(branch, e.Branch) {
			list = append(list, content)
		}
	}
	return list
}
