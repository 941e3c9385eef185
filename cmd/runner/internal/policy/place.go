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

// place is where a text is, and whose it is, as flags say.
type place struct {
	stage, tool, agent, branch string
	args, state                string // JSON objects
	taint                      []string
}

func (pl *place) flags(f *pflag.FlagSet) {
	f.StringVar(&pl.stage, "stage", string(policy.Input),
		"where the text is: "+strings.Join(stageNames(), ", "))
	f.StringVar(&pl.tool, "tool", "", "the `name` of the tool that is called, or answers")
	f.StringVar(&pl.args, "args", "", "what the tool is called with, a JSON `object`")
	f.StringVar(&pl.agent, "agent", "", "the `name` of the agent whose text it is")
	f.StringVar(&pl.branch, "branch", "", "the agent's `branch`")
	f.StringVar(&pl.state, "state", "", "the session's state, a JSON `object`")
	f.StringSliceVar(&pl.taint, "taint", nil,
		"`tools` that the policy does not trust, and whose answers are in the session")
}

func stageNames() (names []string) {
	for _, s := range policy.Stages() {
		names = append(names, string(s))
	}
	return names
}

// of returns the stage and the scope; app and user are those of the program's flags.
func (pl *place) of(p *commands) (policy.Stage, policy.Scope, error) {
	s := policy.Scope{
		App:    p.App,
		User:   p.User,
		Agent:  pl.agent,
		Branch: pl.branch,
		Tool:   pl.tool,
		Taint:  pl.taint,
	}
	if names := stageNames(); !slices.Contains(names, pl.stage) {
		return "", s, exit.Usage.Errorf("--stage %q: it is one of %s%s", pl.stage,
			strings.Join(names, ", "), yamlfile.Guess(pl.stage, names))
	}
	for _, flag := range []struct {
		name, text string
		into       *map[string]any
	}{
		{name: "args", text: pl.args, into: &s.Args},
		{name: "state", text: pl.state, into: &s.State},
	} {
		if flag.text != "" && json.Unmarshal([]byte(flag.text), flag.into) != nil {
			return "", s, exit.Usage.Errorf(`--%s: it is not a JSON object, as in '{"command":"ls"}'`,
				flag.name)
		}
	}
	stage := policy.Stage(pl.stage)
	if (pl.tool != "" || pl.args != "") && stage != policy.ToolArgs && stage != policy.ToolResult {
		return "", s, exit.Usage.Errorf("--tool and --args are about a call, and stage %s has none; use --stage tool_args or tool_result", stage)
	}
	return stage, s, nil
}
