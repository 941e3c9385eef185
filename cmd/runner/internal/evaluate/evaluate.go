// Package evaluate has the command eval: it runs cases, records them from sessions, and compares results.
//
// A new form of output: a file beside report.go, and a flag in Command.
package evaluate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/answers"
	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/eval"
	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/runner"
)

// maxFile is how many bytes a file of cases, or of results, may have.
const maxFile = 64 << 20

// evaluation is what eval is asked for.
type evaluation struct {
	*cli.Program
	tools, model, criteria, judgeModel, answers string
	junit, result, kitResult                    string
	repeat, workers, judgeTokens                int
	passRate                                    float64
	timeout                                     time.Duration
	keep                                        bool
	app                                         string // of the sessions
}

// Command returns the command eval.
func Command(program *cli.Program) *cobra.Command {
	e := &evaluation{Program: program}
	cmd := &cobra.Command{
		Use:   "eval FILE…",
		Short: "Let the agent talk through cases, and compare it with what they expect",
		Long: `Run each case of the files in a session, and with a user (unless --user names one), of its own, with the plugins of the configuration, and compare
what the agent does with what the case expects. A file is

  *.json        an eval set of the Agent Development Kit (*.evalset.json, *.test.json), in all its forms. It is
                judged by the criteria of the file test_config.json beside it, or by the kit's own:
                tool_trajectory_avg_score 1.0 and response_match_score 0.8
  *.csv         a table with the columns input, and id, calls, contains, pattern, reference, denied, state
  *.yaml        cases with all that can be expected: see docs/eval.md. --criteria FILE counts for them, too

The exit code is 0 if all cases pass, and 1 if one fails. Sessions of cases that fail are kept, if the
configuration or --store names a store, and their ids are told: "runner session show ID" shows them. What has ended is
told, and written, also if the program is interrupted; the session of a case that was cut off stays.

With --tools recorded no tool is executed: a call gets the result that the case has for it. A call that the case has
not recorded fails, and so does the case. Tool servers are started all the same, since they declare the tools. With
--model recorded no model is asked: the answers of the case are given in order, which shows what plugins and tools make of them.

Criteria that a model judges (final_response_match_v2, rubric_based_…) ask the model that they name, or that of
--judge-model; --answers keeps what it says, so that a repeat asks nobody again.`,
		Example: `  runner eval evals/*.evalset.json --config runner.yaml --junit out.xml
  runner eval cases.yaml --repeat 5 --pass-rate 0.8 --result after.json
  runner eval record --session ada --file ada.yaml
  runner eval diff before.json after.json`,
		Args: cli.Args(1, -1, "which cases? Name a file, such as an *.evalset.json"),
		RunE: func(cmd *cobra.Command, files []string) error { return e.run(cmd.Context(), files) },
	}
	f := cmd.Flags()
	cli.Choice(cmd, &e.tools, "tools", "live", "how calls of tools are answered: ", []string{"live", "recorded"})
	cli.Choice(cmd, &e.model, "model", "live", "who answers as the agents' models: ", []string{"live", "recorded"})
	f.StringVar(&e.criteria, "criteria", "", "a test_config.json with the criteria of eval sets, in place of the one beside them")
	f.StringVar(&e.judgeModel, "judge-model", "", "the `model` that judges are, as in the configuration or gemini:NAME")
	f.IntVar(&e.judgeTokens, "judge-tokens", 1_000_000, "ask judges nothing more once they have taken so many tokens")
	f.StringVar(&e.answers, "answers", "", "keep the judges' answers in this `file`, and ask nothing that is in it")
	f.StringVar(&e.junit, "junit", "", "write a report in JUnit's XML to this `file`, too")
	f.StringVar(&e.result, "result", "", "write all that came of it to this `file`, as JSON for eval diff")
	f.StringVar(&e.kitResult, "kit-result", "", "write the result as the Agent Development Kit does to this `file` (*.evalset_result.json)")
	f.IntVar(&e.repeat, "repeat", 1, "run each case so often")
	f.Float64Var(&e.passRate, "pass-rate", 1, "the share of a case's runs that has to pass")
	f.IntVar(&e.workers, "workers", 4, "run so many cases at a time")
	f.DurationVar(&e.timeout, "timeout", 0, "end a case whose turns take longer in all, and fail it; 0 is no bound")
	f.BoolVar(&e.keep, "keep", false, "keep the sessions of cases that pass, too")
	cmd.AddCommand(e.recordCommand(), e.diffCommand())
	return cmd
}

// run runs the cases of files.
func (e *evaluation) run(ctx context.Context, files []string) (err error) {
	if err := errors.Join(cli.CheckChoice("tools", e.tools, "live", "recorded"), cli.CheckChoice("model", e.model, "live", "recorded")); err != nil {
		return err
	}
	if e.repeat < 1 || e.workers < 1 || e.judgeTokens < 1 || !(e.passRate > 0 && e.passRate <= 1) || e.timeout < 0 {
		return exit.Usage.Errorf("--repeat, --workers and --judge-tokens are 1 or more, --timeout is 0 or more, --pass-rate is above 0 and at most 1")
	}
	if err := e.checkOutputs(); err != nil {
		return err
	}
	cases, err := e.read(ctx, files)
	if err != nil {
		return err
	}

	// Open the agent with its plugins.
	c, err := e.NeedConfig(ctx)
	if err != nil {
		return err
	}
	e.app = e.Key(c).App
	ev := &eval.Evaluator{
		App:      e.app,
		User:     e.User,
		Recorded: e.tools == "recorded",
		Price:    c.Price,
		Workers:  e.workers,
		Repeat:   e.repeat,
		Keep:     e.keep,
		Timeout:  e.timeout,
	}
	o := config.Options{Log: e.Log, Store: e.StoreName, Tool: ev.Tool}
	if e.model == "recorded" {
		o.Model = eval.RecordedModel
	}
	if e.Verbose {
		o.ServerStderr = e.Err
	}
	opened, err := c.Open(ctx, o)
	if err != nil {
		return exit.OfConfig(err)
	}
	defer func() { err = errors.Join(err, exit.OfConfig(opened.Close(ctx))) }()
	r, closeRunner, err := e.NewRunner(ctx, runner.Options{
		Agent:     opened.Agent,
		Sessions:  opened.Sessions,
		Plugins:   opened.Plugins,
		KeptViews: c.KeptViews(),
		Trace:     ev.Trace,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRunner()) }()
	ev.Runner = r
	ev.Sessions = opened.Sessions

	// Judges ask models of the configuration.
	kept, err := answers.Open(ctx, e.answers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	ev.Judge = &eval.Judge{
		Model:  e.judgeModel,
		Models: func(name string) (model.Model, error) { return c.Model(ctx, name) },
		Price:  c.Price,
		Tokens: e.judgeTokens,
		Kept:   kept.Of,
		Keep:   kept.Add,
	}
	defer func() { err = errors.Join(err, ev.Judge.Close(ctx)) }()

	if kept.Len() == 0 { // who has answers may need no judge
		if err := ev.Judge.Check(cases); err != nil {
			return exit.Usage.As(err)
		}
	}

	// Run the cases, and say what came of them.
	bar := e.Progress("eval", len(cases)*e.repeat)
	ev.Progress = bar.Add
	result, broken := ev.Run(ctx, cases)
	bar.End()
	result.JudgeTokens = ev.Judge.Used()
	where := cmp.Or(e.StoreName, c.Store(), "memory")
	if where == "memory" || where == "memory:" { // nobody can look at the sessions
		for i := range result.Cases {
			result.Cases[i].Session = ""
		}
	}
	err = e.report(result)
	if broken != nil { // what has ended was told
		return exit.OfRun(broken)
	}
	return err
}

// checkOutputs refuses files that cannot be written, and those that eval has not written: they have something else.
func (e *evaluation) checkOutputs() error {
	const head = 512 // bytes of a file, in which one that eval has written says what it is
	outputs := []struct{ name, has string }{{e.junit, "<testsuite"}, {e.result, `"began":`}, {e.kitResult, `"eval_set_result_id":`}}
	for i, out := range outputs {
		if out.name == "" {
			continue
		}
		for _, other := range outputs[:i] {
			if other.name != "" && filepath.Clean(other.name) == filepath.Clean(out.name) {
				return exit.Usage.Errorf("%s is named for two outputs", out.name)
			}
		}
		if _, err := os.Stat(filepath.Dir(out.name)); err != nil {
			return exit.Usage.Errorf("%s cannot be written: %w", out.name, err)
		}
		info, err := os.Stat(out.name)
		if err == nil && info.IsDir() {
			return exit.Usage.Errorf("%s cannot be written: it is a directory", out.name)
		}
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			continue
		}
		f, err := os.Open(out.name)
		if err != nil {
			return exit.Usage.As(err)
		}
		begin, err := io.ReadAll(io.LimitReader(f, head))
		if err := errors.Join(err, f.Close()); err != nil {
			return exit.Usage.As(err)
		}
		if !bytes.Contains(begin, []byte(out.has)) {
			return exit.Usage.Errorf("%s has something else than such a result: name another file, or delete it", out.name)
		}
	}
	return nil
}

// read reads the cases of files, each with the criteria beside it.
func (e *evaluation) read(ctx context.Context, files []string) ([]*eval.Case, error) {
	var all []*eval.Case
	for i, name := range files {
		if slices.Contains(files[:i], name) {
			return nil, exit.Usage.Errorf("%s is named twice", name)
		}
		data, err := input.ReadFile(ctx, name, maxFile)
		if err != nil {
			return nil, exit.Usage.As(err)
		}
		cases, err := eval.Read(name, data)
		if err != nil {
			return nil, exit.Usage.As(err)
		}
		criteria, err := e.criteriaOf(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			if criteria != nil {
				c.Criteria = criteria
			}
		}
		all = append(all, cases...)
	}
	return all, nil
}

// criteriaOf returns the criteria of an eval set that a file says, nil if none does.
func (e *evaluation) criteriaOf(ctx context.Context, set string) (eval.Criteria, error) {
	name := e.criteria
	if name == "" {
		if !strings.EqualFold(filepath.Ext(set), ".json") {
			return nil, nil
		}
		name = filepath.Join(filepath.Dir(set), "test_config.json")
	}
	data, err := input.ReadFile(ctx, name, maxFile)
	if err != nil {
		if e.criteria == "" && errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, exit.Usage.As(err)
	}
	criteria, err := eval.ReadCriteria(name, data)
	for _, c := range criteria {
		if c.Skipped {
			e.Note("%s: the criterion %s is not computed here, and decides nothing", name, c.Name)
		}
	}
	return criteria, exit.Usage.As(err)
}

// enough reports whether so many runs of a case have passed that the case has.
func (e *evaluation) enough(r eval.Rate) bool {
	const rounding = 1e-9 // 0.28*25 is 7.000000000000001
	return r.Passed >= int(math.Ceil(e.passRate*float64(r.Runs)-rounding))
}

// report writes what came of the cases, and returns an error if one has failed, or a file could not be written.
func (e *evaluation) report(result *eval.Result) error {
	rates := result.Rates()
	failed := 0
	for _, r := range rates {
		if !e.enough(r) {
			failed++
		}
	}
	if e.JSONL {
		for i := range result.Cases {
			if err := e.WriteJSON(&result.Cases[i]); err != nil {
				return err
			}
		}
	} else if err := e.writeTable(result, rates); err != nil {
		return err
	}
	kept := func(c eval.CaseResult) bool { return c.Session != "" }
	if failed > 0 && !slices.ContainsFunc(result.Cases, kept) {
		e.Note("no session is kept; with --store sqlite:FILE those of failing cases are")
	}
	if err := e.checkOutputs(); err != nil { // one may be what the run has written, such as its store
		return err
	}
	if err := errors.Join(e.writeJUnit(result), writeJSON(e.result, result), e.writeKitResult(result)); err != nil {
		return err
	}
	if failed == 0 {
		return nil
	}
	return exit.Other.Errorf("%s", phrase.Of(failed, len(rates), "case", "has failed", "have failed"))
}
