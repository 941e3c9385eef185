package policy

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/internal/wholefile"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/pin"
	"github.com/plughook/plughook/yamlfile"
)

func (p *commands) pinCommand() *cobra.Command {
	check := false
	yes := false
	cmd := &cobra.Command{
		Use:   "pin [TOOL…]",
		Short: "Approve what tools say of themselves, and pin it",
		Long: `Pin starts the servers of tools that the agents of the configuration use, and compares
what the tools say of themselves, which models read, with the lockfile beside the policy:
policy.lock.json for policy.yaml. It does so for the tools that pin_tools of the policy names, and
shows each that is new, changed or gone: - is pinned, + is there now. When you have said yes, or
with --yes, it writes the lockfile. With names, only these tools are pinned anew.

A glob of pin_tools that matches no tool is named, since it may be misspelt. That is no failure.

A model is offered what is pinned. With --check nothing is written, and the exit code is 2 if
something differs. No model is asked, and no key of a model is needed.`,
		Example: `  runner policy pin
  runner policy pin --check
  runner policy pin web_search --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if check && yes {
				return exit.Usage.Errorf("--check and --yes exclude each other")
			}
			return p.pin(cmd.Context(), names, check, yes)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing, and fail if something differs")
	cmd.Flags().BoolVar(&yes, "yes", false, "write the lockfile without asking")
	return cmd
}

// pinLine is a tool's line in policy pin.
type pinLine struct {
	Policy  string   `json:"policy"`
	Tool    string   `json:"tool"`
	State   string   `json:"state"` // same, new, changed or gone
	Changes []string `json:"changes,omitzero"`
}

func (p *commands) pin(ctx context.Context, names []string, check, yes bool) error {
	c, err := p.NeedConfig(ctx)
	if err != nil {
		return err
	}
	list, err := comparePins(ctx, c, p.Err)
	if err != nil {
		return exit.OfConfig(err)
	}
	if len(list) == 0 {
		return exit.Usage.Errorf("no policy that %s names has pin_tools, so there is nothing to pin", c.Name())
	}
	if err := known(list, names); err != nil {
		return err
	}
	outdated := false
	for _, pins := range list {
		differ, err := p.showPins(pins, names)
		if err != nil {
			return err
		}
		if len(pins.idle) > 0 {
			p.Note("%s: these globs of pin_tools match no tool of an agent: %s", pins.policy.Name(), strings.Join(pins.idle, ", "))
		}
		outdated = outdated || len(differ) > 0
		switch {
		case len(differ) == 0:
			continue
		case check:
			p.Note("%s is not up to date", pins.file)
			continue
		case !yes:
			if err := p.Out.Flush(); err != nil { // what is asked about stands first
				return err
			}
			question := "pin " + phrase.Count(len(differ), "tool") + " in " + pins.file + ", as above?"
			if err := p.Confirm(ctx, question, "nothing was pinned"); err != nil {
				return err
			}
		}
		if err := pins.write(differ); err != nil {
			return exit.Other.Errorf("lockfile: %w", err)
		}
		p.Note("%s is written; keep it with %s", pins.file, pins.policy.Name())
	}
	if check && outdated {
		return exit.Usage.Errorf("tools are not as they were pinned; if the changes are right: runner policy pin")
	}
	return nil
}

// toolPins compare the tools of a configuration's agents with the lockfile of a policy that pins tools.
type toolPins struct {
	policy *policy.Policy
	file   string // the lockfile
	tools  []*pin.Tool
	idle   []string // globs of pin_tools that match no tool
}

// comparePins compares the tools of a configuration's agents with the lockfiles of its policies. stderr gets what
// servers that are commands write to standard error.
func comparePins(ctx context.Context, c *config.Config, stderr io.Writer) (list []*toolPins, err error) {
	policies, err := c.PinningPolicies(ctx)
	if err != nil || len(policies) == 0 {
		return nil, err
	}
	declarations, err := c.Declarations(ctx, config.Options{ServerStderr: stderr})
	if err != nil {
		return nil, err
	}
	for _, pol := range policies {
		pins := &toolPins{policy: pol, file: pol.Pins().File(), idle: pol.Pins().Idle(declarations)}
		pins.tools, err = pol.Pins().CompareAll(declarations)
		if err != nil {
			return nil, err
		}
		list = append(list, pins)
	}
	return list, nil
}

// write writes the lockfile once these tools are approved as they are: all of it or nothing. What the lockfile has of
// other tools stays.
func (p *toolPins) write(approved []*pin.Tool) error {
	data, err := p.policy.Pins().Approve(approved)
	if err != nil {
		return err
	}
	return wholefile.Write(p.file, data)
}

// known returns an error if a name is that of no tool.
func known(list []*toolPins, names []string) error {
	var all []string
	for _, pins := range list {
		for _, t := range pins.tools {
			all = append(all, t.Name)
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return exit.Usage.Errorf("no tool that pin_tools names is %q%s", name, yamlfile.Guess(name, all))
		}
	}
	return nil
}

// showPins writes what became of the named tools, all of them if none is named, and returns those that
// differ from their pins.
func (p *commands) showPins(pins *toolPins, names []string) (differ []*pin.Tool, err error) {
	for _, t := range pins.tools {
		if len(names) > 0 && !slices.Contains(names, t.Name) {
			continue
		}
		if t.State != "same" {
			differ = append(differ, t)
		}
		line := pinLine{Policy: pins.policy.Name(), Tool: t.Name, State: t.State, Changes: t.Changes}
		if p.JSONL {
			err = p.WriteJSON(line)
		} else {
			text := strings.Join(append([]string{t.Name + "  " + t.State}, t.Changes...), "\n  ")
			_, err = p.Out.Write([]byte(eventtext.Printable(text) + "\n"))
		}
		if err != nil {
			return nil, err
		}
	}
	return differ, nil
}
