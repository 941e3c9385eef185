package policy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/yamlfile"
)

// textScope is where a text is, and whose it is, as flags say.
type textScope struct {
	stage, tool, agent, branch string
	args, state                string // JSON objects
	taint, before              []string
}

func (t *textScope) flags(f *pflag.FlagSet) {
	f.StringVar(&t.stage, "stage", string(policy.Input),
		"where the text is: "+strings.Join(stageNames(), ", "))
	f.StringVar(&t.tool, "tool", "", "the `name` of the tool that is called, or answers")
	f.StringVar(&t.args, "args", "", "what the tool is called with, a JSON `object`")
	f.StringVar(&t.agent, "agent", "", "the `name` of the agent whose text it is")
	f.StringVar(&t.branch, "branch", "", "the agent's `branch`")
	f.StringVar(&t.state, "state", "", "the session's state, a JSON `object`")
	f.StringSliceVar(&t.taint, "taint", nil,
		"`tools` that the policy does not trust, and whose answers are in the session")
	f.StringSliceVar(&t.before, "before", nil,
		"what the session has had, for rules with from: `TOOL`, TOOL=FOUND or =FOUND, where FOUND is a rule or a type")
}

func stageNames() (names []string) {
	for _, s := range policy.Stages() {
		names = append(names, string(s))
	}
	return names
}

// of returns the stage and the scope; app and user are those of the program's flags.
func (t *textScope) of(p *commands) (policy.Stage, policy.Scope, error) {
	s := policy.Scope{
		App:    p.App,
		User:   p.User,
		Agent:  t.agent,
		Branch: t.branch,
		Tool:   t.tool,
		Taint:  t.taint,
	}
	for _, b := range t.before {
		tool, found, _ := strings.Cut(b, "=")
		if tool != "" {
			s.Seen = append(s.Seen, policy.Seen{Tool: tool, Event: "before"})
		}
		if found != "" {
			s.Seen = append(s.Seen, policy.Seen{Tool: tool, Rule: found, Type: found, Event: "before"})
		}
	}
	if names := stageNames(); !slices.Contains(names, t.stage) {
		return "", s, exit.Usage.Errorf("--stage %q: it is one of %s%s", t.stage,
			strings.Join(names, ", "), yamlfile.Guess(t.stage, names))
	}
	for _, flag := range []struct {
		name, text string
		into       *map[string]any
	}{
		{name: "args", text: t.args, into: &s.Args},
		{name: "state", text: t.state, into: &s.State},
	} {
		if flag.text != "" && json.Unmarshal([]byte(flag.text), flag.into) != nil {
			return "", s, exit.Usage.Errorf(`--%s: it is not a JSON object, as in '{"command":"ls"}'`,
				flag.name)
		}
	}
	stage := policy.Stage(t.stage)
	if (t.tool != "" || t.args != "") && stage != policy.ToolArgs && stage != policy.ToolResult {
		return "", s, exit.Usage.Errorf("--tool and --args are about a call, and stage %s has none; use --stage tool_args or tool_result", stage)
	}
	return stage, s, nil
}
