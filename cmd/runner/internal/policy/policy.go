// Package policy has the commands about policies of the guardrail: runner policy check, test,
// explain, scan, replay, diff, eval, pin, sign.
//
// A new command of policies: a file with its command, and a line in Command.
package policy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// maxPolicy is how long a policy's file may be, in bytes.
const maxPolicy = 4 << 20

const (
	policyUsage = "the policy's `file` (default: the rules that hold without one)"
	jsonUsage   = "write JSON, on one line (as --jsonl does)"
	keyUsage    = "the environment `variable` with the vault's key: conditions see what tokens stand for"
)

// commands are those of policies.
type commands struct{ *cli.Program }

// Command returns the command policy.
func Command(program *cli.Program) *cobra.Command {
	p := &commands{program}
	return cli.Group(&cobra.Command{
		Use:   "policy",
		Short: "Check, test, explain and measure a guardrail's policy, and replay it",
		Long: `A policy says what the plugin guardrail blocks, redacts, asks about and flags. These
commands work with its file. They need no agent and no store, and no configuration, but for pin,
eval of a rule that asks a model, and explain of an event in a store. After a change, run check, test and replay, in this order.`,
	},
		p.checkCommand(),
		p.testCommand(),
		p.explainCommand(),
		p.scanCommand(),
		p.replayCommand(),
		p.diffCommand(),
		p.evalCommand(),
		p.pinCommand(),
		p.signCommand(),
	)
}

func (p *commands) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE…",
		Short: "Check the form of policies",
		Long: `Check the form of policies, and say for each how many rules and tests it has, and
its revision, which is in all records of what it did. Errors are printed with file, line and
column, one a line, and the exit code is 2 then: unknown keys, stages, actions and types,
malformed expressions, ids that are used twice, and rules that can never have an effect. It is
also said which judges are sent texts as they came (sees: original), where pin_tools has no
lockfile, and which models need a price in the configuration because the policy's budget is in
USD. With --config a price that is missing in that configuration is an error. The tests of a
policy are not run. With --jsonl there is one object a line for each file, with file, revision, rules, tests and
notes, or with file and error.`,
		Example: `  runner policy check policies/*.yaml
  runner policy check --config runner.yaml policy.yaml`,
		Args: cli.Args(1, -1, "which policy? Name its file"),
		RunE: func(cmd *cobra.Command, files []string) error {
			settings, err := p.settings(cmd.Context())
			if err != nil {
				return err
			}
			wrong := 0
			for _, file := range files {
				c := checkedPolicy{File: file}
				pol, err := readPolicy(cmd.Context(), file)
				if err == nil && p.ConfigFile != "" {
					err = exit.Usage.As(pol.CheckPrices(settings.Price))
				}
				if err == nil {
					c = checkedPolicy{
						File:     file,
						Revision: pol.Revision(),
						Rules:    len(pol.Rules()),
						Tests:    len(pol.Tests()),
						Notes:    pol.Notes(),
					}
					for _, model := range pol.Unpriced(settings.Price) {
						c.Notes = append(c.Notes, unpriced(model))
					}
				} else {
					c.Error = err.Error()
					if err := p.badPolicy(cmd.Context(), err); err != nil {
						return err
					}
					wrong++
				}
				if err := p.writeChecked(c); err != nil {
					return err
				}
			}
			return wrongPolicies(wrong, len(files))
		},
	}
}

// settings returns the configuration that --config names; without the flag, one that says nothing.
func (p *commands) settings(ctx context.Context) (*config.Config, error) {
	if p.ConfigFile == "" {
		return config.Parse("", nil)
	}
	return p.LoadConfig(ctx)
}

// unpriced says what a policy with a budget in USD needs of a configuration.
func unpriced(model string) string {
	return fmt.Sprintf("judges: the budget in USD needs the price of the model %s, which only a configuration can have: "+
		"prices: {models: {%q: {input: 1, output: 2}}}, in USD for a million tokens; with --config FILE, this command looks whether it is there",
		model, model)
}

// checkedPolicy is what policy check says of a file.
type checkedPolicy struct {
	File     string   `json:"file"`
	Revision string   `json:"revision,omitzero"`
	Rules    int      `json:"rules,omitzero"`
	Tests    int      `json:"tests"`
	Notes    []string `json:"notes,omitempty"` // what its reader should know
	Error    string   `json:"error,omitzero"`  // why it cannot be used
}

func (p *commands) writeChecked(c checkedPolicy) (err error) {
	switch {
	case p.JSONL:
		err = p.WriteJSON(c)
	case c.Error == "":
		_, err = fmt.Fprintf(p.Out, "%s: ok, %s, %s, revision %s\n",
			eventtext.Printable(c.File), phrase.Count(c.Rules, "rule"), phrase.Count(c.Tests, "test"), c.Revision)
		for _, note := range c.Notes {
			_, err = fmt.Fprintf(p.Out, "%s: note: %s\n", eventtext.Printable(c.File), eventtext.Printable(note))
		}
	}
	return err
}

// badPolicy prints what is wrong with a policy, so that the other files are checked too. It returns an
// error if that is nothing about the policy.
func (p *commands) badPolicy(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if e := p.Out.Flush(); e != nil { // what was said of the policies before stands first
		return e
	}
	_, err = fmt.Fprintln(p.Err, eventtext.Printable(err.Error()))
	return err
}

func wrongPolicies(wrong, all int) error {
	if wrong == 0 {
		return nil
	}
	return exit.Usage.Errorf("%s", phrase.Of(wrong, all, "policy", "cannot be used", "cannot be used"))
}

// policyOf returns the policy of a file, that without one if it is "".
func policyOf(ctx context.Context, file string) (*policy.Policy, error) {
	if file == "" {
		return policy.Default(), nil
	}
	return readPolicy(ctx, file)
}

// local returns the policy without the rules that ask somebody else, and says which those are.
func (p *commands) local(pol *policy.Policy) *policy.Policy {
	var ids []string
	for _, j := range pol.Judges() {
		ids = append(ids, j.Rule)
	}
	if len(ids) > 0 {
		p.Note("%s: no judge is asked here, so these rules decide nothing: %s", pol.Name(),
			strings.Join(ids, ", "))
	}
	return pol.Local()
}

// readPolicy returns the policy of a file, or of an address.
func readPolicy(ctx context.Context, file string) (pol *policy.Policy, err error) {
	if strings.Contains(file, "://") {
		pol, err = guardrail.Load(ctx, file)
	} else {
		data, failed := input.ReadFile(ctx, file, maxPolicy)
		if failed != nil {
			return nil, exit.Usage.As(failed)
		}
		pol, err = policy.Parse(file, data)
	}
	if err != nil { // an editor finds the place by what a line begins with
		return nil, exit.Usage.As(errors.New(strings.TrimPrefix(err.Error(), "guardrail: ")))
	}
	return pol, nil
}

// keyOf returns the key that an environment variable has, a random one if none is named.
func keyOf(variable string) ([]byte, error) {
	if variable == "" {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // it never fails
		return key, nil
	}
	key := os.Getenv(variable)
	if key == "" {
		return nil, exit.Usage.Errorf("--key-env %s: the environment variable is not set", variable)
	}
	if _, err := guardrail.NewVault([]byte(key)); err != nil {
		return nil, exit.Usage.Errorf("--key-env %s: %w", variable, err)
	}
	return []byte(key), nil
}
