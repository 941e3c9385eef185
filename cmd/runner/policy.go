package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// maxPolicy is how long a policy's file may be, in bytes.
const maxPolicy = 4 << 20

const (
	policyUsage = "the policy's `file` (default: the rules that hold without one)"
	jsonUsage   = "write JSON, on one line (as --jsonl does)"
)

func (p *program) policyCommand() *cobra.Command {
	return group(&cobra.Command{Use: "policy", Short: "Check, test, explain and measure a guardrail's policy",
		Long: `A policy says what the plugin guardrail blocks, redacts, asks about and flags. These commands work with its file, and
need no configuration, no agent and no store. A change goes through them in this order: check, test, replay.`},
		p.policyCheckCommand(),
		p.policyTestCommand(),
		p.policyExplainCommand(),
		p.policyScanCommand(),
		p.policyReplayCommand(),
		p.policyBenchCommand(),
	)
}

func (p *program) policyCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE…", Short: "Check the form of policies",
		Long: `Check the form of policies, and say for each how many rules and tests it has, and its revision, which is in all records
of what it did. What is wrong is told with file, line and column, one a line, and the exit code is 2 then: keys,
stages, actions and types that are not known, expressions that are none, ids that are taken, and rules that can
never decide anything. The tests of a policy are not run. With --jsonl there is an object a line for each file, with
file, revision, rules and tests, or file and error.`,
		Example: "  runner policy check policies/*.yaml",
		Args:    arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error {
			wrong := 0
			for _, file := range files {
				c := checkedPolicy{File: file}
				pol, err := readPolicy(cmd.Context(), file)
				if err == nil {
					c = checkedPolicy{file, pol.Revision(), len(pol.Rules()), len(pol.Tests()), ""}
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

// checkedPolicy is what policy check says of a file.
type checkedPolicy struct {
	File     string `json:"file"`
	Revision string `json:"revision,omitzero"`
	Rules    int    `json:"rules,omitzero"`
	Tests    int    `json:"tests"`
	Error    string `json:"error,omitzero"` // why it cannot be used
}

func (p *program) writeChecked(c checkedPolicy) (err error) {
	switch {
	case p.jsonl:
		err = p.writeJSON(c)
	case c.Error == "":
		_, err = fmt.Fprintf(p.out, "%s: ok, %d rules, %d tests, revision %s\n", printable(c.File), c.Rules, c.Tests, c.Revision)
	}
	return err
}

// badPolicy tells what is wrong with a policy, so that the others have their turn. It returns an error if that is
// nothing about the policy.
func (p *program) badPolicy(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if e := p.out.Flush(); e != nil { // what was said of the policies before stands first
		return e
	}
	_, err = fmt.Fprintln(p.err, printable(err.Error()))
	return err
}

func wrongPolicies(wrong, all int) error {
	if wrong == 0 {
		return nil
	}
	return exitUsage.errorf("%d of %d policies cannot be used", wrong, all)
}

// policyOf returns the policy of a file, that without one if it is "".
func policyOf(ctx context.Context, file string) (*policy.Policy, error) {
	if file == "" {
		return policy.Default(), nil
	}
	return readPolicy(ctx, file)
}

// local returns the policy without the rules that ask somebody else, and says which those are.
func (p *program) local(pol *policy.Policy) *policy.Policy {
	var ids []string
	for _, j := range pol.Judges() {
		ids = append(ids, j.Rule)
	}
	if len(ids) > 0 {
		p.note("%s: nobody is asked about a text here, so these rules decide nothing: %s", pol.Name(), strings.Join(ids, ", "))
	}
	return pol.Local()
}

func readPolicy(ctx context.Context, file string) (*policy.Policy, error) {
	data, err := readFile(ctx, file, maxPolicy)
	if err != nil {
		return nil, exitUsage.as(err)
	}
	pol, err := policy.Parse(file, data)
	if err != nil { // an editor finds the place by what a line begins with
		return nil, exitUsage.as(errors.New(strings.TrimPrefix(err.Error(), "guardrail: ")))
	}
	return pol, nil
}
