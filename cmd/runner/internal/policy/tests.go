package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/junit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/selftest"
)

// policyTesting is what policy test is asked for.
type policyTesting struct {
	threshold float64
	coverage  float64 // the least share of branches, 0 if they are not counted
	json      bool
	junit     string         // the file of the report, "" for none
	suites    []*policySuite // of the files so far
}

// policySuite is what came of a policy's tests.
type policySuite struct {
	File     string           `json:"file"`
	Revision string           `json:"revision,omitzero"`
	Tests    int              `json:"tests"`
	Passed   int              `json:"passed"`
	Error    string           `json:"error,omitzero"` // why there is nothing to test
	Branches int              `json:"branches,omitzero"`
	Missing  []policy.Branch  `json:"notCovered,omitempty"` // branches that no test comes to
	Results  []policyTestLine `json:"results"`
}

type policyTestLine struct {
	Name    string        `json:"name"`
	Stage   string        `json:"stage"`
	Want    string        `json:"want"`
	Action  policy.Action `json:"action"`
	Rule    string        `json:"rule,omitzero"`
	OK      bool          `json:"ok"`
	Failure string        `json:"failure,omitzero"`
	Millis  float64       `json:"millis"`
}

func (p *commands) testCommand() *cobra.Command {
	t := &policyTesting{}
	cmd := &cobra.Command{
		Use:   "test FILE…",
		Short: "Run policies' own tests",
		Long: `Run the tests that policies have under "tests:". Each says what should become of a
text:

  tests:
    - {name: cards, stage: input, text: "4111 1111 1111 1111", want: block, rule: cards-in}
    - {name: mail, stage: output, text: "to ann@corp.example", want: redact, after: "to [EMAIL_ADDRESS]"}

want: error is for a text that cannot be judged, such as one for which a condition cannot be
computed, or about which a judge gives no valid answer; in a run on_error decides about it. The other keys are app, user, agent,
branch, tool, args, state, before, taint, judge and files. files: [{name: a.zip, type: application/zip, size: 10}] are judged in place of a
text. No judge is asked: judge: {topic: true} says that the judge of the rule topic flags the text, and
judge: {topic: '{"flagged": true, "score": 0.8}'} what it answers, which is read as in a run.
A test fails if a judge would be asked about its text and the test does not have that judge's answer. At tool_args
each text of args is judged with its key before it, as in a run; if the test has no text, after is
what becomes of args, as JSON. Rules in shadow are tested like others: tests are about what rules
would do. The key of hashes and vault tokens is random each time, so after cannot say what these
are.

--coverage names the branches of rules that no test comes to, with their places: that a rule acts (on each type
that its action names), that its condition is false, that an exception lets something pass, each entry of tools:,
and both answers of a judge. Fewer than --coverage=SHARE of them (all, without a share) is a failure.

The exit code is 1 if a smaller share of a file's tests passes than --threshold says, or if a file
has no tests and --threshold is not 0. It is 2 if one of the files cannot be used. With --junit a report
for systems of CI is written, too, with a test suite for each file.`,
		Example: `  runner policy test policy.yaml
  runner policy test --coverage policy.yaml
  runner policy test --threshold 0.95 policies/*.yaml`,
		Args: cli.Args(1, -1, "which policy? Name its file"),
		RunE: func(cmd *cobra.Command, files []string) error { return p.testPolicies(cmd.Context(), t, files) },
	}
	f := cmd.Flags()
	f.Float64Var(&t.threshold, "threshold", 1,
		"the `share` of each file's tests that must pass, from 0 to 1")
	f.Float64Var(&t.coverage, "coverage", 0,
		"say which branches of rules no test comes to; fail if a smaller `share` is covered: --coverage=0.9, 1 if none is given")
	f.Lookup("coverage").NoOptDefVal = "1"
	f.StringVar(&t.junit, "junit", "", "write a report in JUnit's XML to this `file`, too")
	f.BoolVar(&t.json, "json", false, "write a line of JSON for each file (as --jsonl does)")
	return cmd
}

func (p *commands) testPolicies(ctx context.Context, t *policyTesting, files []string) error {
	if !(t.coverage >= 0 && t.coverage <= 1) {
		return exit.Usage.Errorf("--coverage %v: it must be a share from 0 to 1", t.coverage)
	}
	if !(t.threshold >= 0 && t.threshold <= 1) {
		return exit.Usage.Errorf("--threshold %v: it must be a share from 0 to 1", t.threshold)
	}
	wrong := 0
	var short, uncovered []string
	for _, file := range files {
		pol, err := readPolicy(ctx, file)
		if err != nil {
			wrong++
			s := &policySuite{File: file, Error: err.Error(), Results: []policyTestLine{}}
			err = errors.Join(p.badPolicy(ctx, err), p.writeSuite(t, s))
		} else {
			s := suiteOf(file, pol)
			if !t.enough(s) {
				short = append(short, s.String())
			}
			if !t.covered(s) {
				uncovered = append(uncovered, s.coverage())
			}
			err = p.writeSuite(t, s)
		}
		if err != nil {
			return err
		}
	}
	if t.junit != "" {
		if err := t.writeJUnit(); err != nil {
			return err
		}
	}
	if err := wrongPolicies(wrong, len(files)); err != nil || short == nil && uncovered == nil {
		return err
	}
	if short == nil {
		return exit.Other.Errorf("%s; --coverage asks for %.4g %%", strings.Join(uncovered, ", "), 100*t.coverage)
	}
	return exit.Other.Errorf("%s; --threshold asks for %.4g %%", strings.Join(short, ", "),
		100*t.threshold)
}

// suiteOf runs a policy's tests.
func suiteOf(file string, pol *policy.Policy) *policySuite {
	s := &policySuite{File: file, Revision: pol.Revision(), Results: []policyTestLine{}}
	pol, coverage := pol.Covered()
	for _, r := range selftest.Run(pol) {
		l := policyTestLine{
			Name:    r.Test.Name,
			Stage:   r.Test.Stage,
			Want:    r.Test.Want,
			Action:  r.Verdict.Action,
			Rule:    r.Verdict.Rule,
			OK:      r.Failure == "",
			Failure: r.Failure,
			Millis:  float64(r.Verdict.Took.Microseconds()) / 1000,
		}
		s.Results = append(s.Results, l)
		if l.OK {
			s.Passed++
		}
	}
	s.Tests = len(s.Results)
	s.Branches, s.Missing = coverage.Branches()
	if s.Tests == 0 {
		s.Error = "the policy has no tests; write some under tests:"
	}
	return s
}

func (s *policySuite) String() string {
	if s.Tests == 0 {
		return s.File + ": no tests"
	}
	return fmt.Sprintf("%s: %s", s.File, phrase.Of(s.Passed, s.Tests, "test", "passed", "passed"))
}

// coverage says how much of the policy its tests exercise.
func (s *policySuite) coverage() string {
	return fmt.Sprintf("%s: coverage %.4g %%: %s", s.File, 100*s.share(),
		phrase.Of(s.Branches-len(s.Missing), s.Branches, "branch", "is covered", "are covered"))
}

func (s *policySuite) share() float64 {
	return float64(s.Branches-len(s.Missing)) / float64(max(s.Branches, 1))
}

// covered reports whether enough of the branches are covered.
func (t *policyTesting) covered(s *policySuite) bool {
	return t.coverage == 0 || s.share() >= t.coverage
}

// enough reports whether enough of the tests passed.
func (t *policyTesting) enough(s *policySuite) bool {
	if s.Tests == 0 {
		return t.threshold == 0
	}
	return float64(s.Passed)/float64(s.Tests) >= t.threshold
}

func (p *commands) writeSuite(t *policyTesting, s *policySuite) error {
	t.suites = append(t.suites, s)
	if t.coverage == 0 {
		s.Branches, s.Missing = 0, nil
	}
	if t.json || p.JSONL {
		return errors.Join(p.WriteJSON(s), p.Out.Flush())
	}
	if s.Revision == "" {
		return nil // why it cannot be used is said
	}
	st := p.Style()
	for _, r := range s.Results {
		line := eventtext.Printable(fmt.Sprintf("ok    %s: %s", s.File, r.Name))
		if !r.OK {
			line = st.Red(eventtext.Printable(fmt.Sprintf("FAIL  %s: %s: %s", s.File, r.Name, r.Failure)))
		}
		fmt.Fprintln(p.Out, line)
	}
	fmt.Fprintln(p.Out, eventtext.Printable(s.String()))
	if t.coverage > 0 {
		fmt.Fprintln(p.Out, eventtext.Printable(s.coverage()))
		for _, b := range s.Missing {
			fmt.Fprintln(p.Out, eventtext.Printable(fmt.Sprintf("  %s: not covered: %s", b.At, b)))
		}
	}
	return p.Out.Flush()
}

// writeJUnit writes a report with a suite for each policy. One that cannot be used, or has no tests although
// some must pass, is a case with an error: who reads only the report would miss it.
func (t *policyTesting) writeJUnit() error {
	report := []junit.Suite{}
	for _, s := range t.suites {
		suite := junit.Suite{Name: s.File, Tests: s.Tests, Failures: s.Tests - s.Passed}
		for _, r := range s.Results {
			suite.Cases = append(suite.Cases,
				junit.Case{Class: s.File, Name: r.Name, Time: fmt.Sprintf("%.6f", r.Millis/1000), Failure: r.Failure})
		}
		if s.Error != "" && !(s.Revision != "" && t.enough(s)) {
			suite.Tests = 1
			suite.Errors = 1
			suite.Cases = []junit.Case{{Class: s.File, Name: "policy", Time: "0", Error: s.Error}}
		}
		if s.Revision != "" && !t.covered(s) {
			suite.Tests++
			suite.Failures++
			suite.Cases = append(suite.Cases, junit.Case{Class: s.File, Name: "coverage", Time: "0", Failure: s.coverage()})
		}
		report = append(report, suite)
	}
	return junit.Write(t.junit, report)
}
