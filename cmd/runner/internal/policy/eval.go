package policy

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/yamlfile"
)

// policyEval is what policy eval is asked for.
type policyEval struct {
	policy, rule, answers string
	mistakes, json        bool
	place                 place

	pol   *policy.Policy
	judge *guardrail.Judge // nil if the rule has none
}

// atOnce is how many texts are judged at a time.
const atOnce = 8

func (p *commands) evalCommand() *cobra.Command {
	e := &policyEval{}
	cmd := &cobra.Command{
		Use:   "eval LABELLED…",
		Short: "Measure how well a rule finds what it should",
		Long: `Let one rule of a policy judge texts of which is known whether it should act on them, and
count how often it is right. A file has a line of JSON for each text ("-" is standard input):

  {"text": "How much ibuprofen may I take?", "label": true}
  {"text": "Where is the pharmacy?", "label": false, "id": 7, "stage": "output"}

label says whether the rule should act. id is any JSON value, and named with a mistake. stage is the
rule's first stage if it is missing and --stage is not given. For a rule with grounding, results is a
list of what tools have answered, the latest first. Other keys are ignored. The text is judged alone,
without the policy's other rules, but the judge is sent what they leave of it, as in a run. The flags
give what the rule's scope and its condition ask about.

A rule with detectors is measured in this process. A rule with a judge asks its service, or its model:
--config has the models, and what they cost. --answers keeps what was answered in a file. What is in
the file is not asked again, unless the text, the question, its examples or the model is another, so a
repeat is free and needs no configuration and no network. The file has no texts of yours, but a judge
that does not answer as it should may quote one. The policy's budget (judges:) bounds what is spent.

Printed are precision (of the texts that the rule acts on, the share that it should), recall (of the
texts that it should act on, the share that it does), F1 (their harmonic mean), and the false positive
rate (of the texts that it should leave alone, the share that it acts on). The table says what these
would be with another threshold: the rule acts on texts with at least this score. Texts that the
judge has no valid answer about count for nothing here, and their number is printed; in a run on_error
decides about them. The exit code is 1 if there are any. Texts are printed only with --mistakes.`,
		Example: `  runner policy eval --policy policy.yaml --rule medical --config runner.yaml --answers answers.jsonl labelled.jsonl
  runner policy eval --policy policy.yaml --rule medical --answers answers.jsonl --mistakes labelled.jsonl`,
		Args: cli.Args(1, -1, "which texts? Name a file with a line of JSON for each, with text and label"),
		RunE: func(cmd *cobra.Command, files []string) error {
			return p.evaluate(cmd.Context(), e, files, cmd.Flags().Changed("stage"))
		},
	}
	f := cmd.Flags()
	f.StringVar(&e.policy, "policy", "", policyUsage)
	f.StringVar(&e.rule, "rule", "", "the `id` of the rule")
	f.StringVar(&e.answers, "answers", "", "keep the judge's answers in this `file`, and ask nothing that is in it")
	f.BoolVar(&e.mistakes, "mistakes", false, "print the texts that the rule is wrong about")
	f.BoolVar(&e.json, "json", false, jsonUsage)
	e.place.flags(f)
	f.Lookup("stage").DefValue = "" // the rule's first stage, as the help says
	return cmd
}

func (p *commands) evaluate(ctx context.Context, e *policyEval, files []string, stageGiven bool) (err error) {
	// Which rule?
	e.pol, err = policyOf(ctx, e.policy)
	if err != nil {
		return err
	}
	rule, err := e.find()
	if err != nil {
		return err
	}
	if !stageGiven {
		e.place.stage = string(rule.Stages[0])
	}
	stage, scope, err := e.place.of(p)
	if err != nil {
		return err
	}

	// Its judge, if it has one.
	var settings configured
	settings.open = sync.OnceValues(func() (*config.Config, error) { return p.LoadConfig(ctx) })
	e.judge, _ = guardrail.NewJudge(guardrail.Config{
		Policy: e.pol,
		Models: settings.model(ctx),
		Price:  settings.price,
	}, e.rule)
	switch {
	case e.judge != nil:
		defer func() { err = errors.Join(err, e.judge.Close(ctx)) }()
	case e.answers != "":
		return exit.Usage.Errorf("--answers keeps what judges answer, and the rule %s has none: leave --answers out", e.rule)
	}

	// The texts, and what is known about them.
	rows, err := p.labelled(ctx, files, labelForm{
		rule:  rule,
		stage: stage,
		scope: scope,
		judge: e.judge,
		most:  e.pol.MaxBytes(),
	})
	if err != nil {
		return err
	}
	known, err := openAnswers(ctx, e.answers, e.rule)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, known.close()) }()

	// Judge them.
	if err := p.judgeRows(ctx, e, rows, known); err != nil {
		return err
	}
	report := e.report(rows)
	if e.json || p.JSONL {
		err = p.WriteJSON(report)
	} else {
		err = p.writeEval(report)
	}
	if err != nil || report.NoAnswer == 0 {
		return err
	}
	return exit.Other.Errorf("%s: %s", phrase.Of(report.NoAnswer, report.Rows, "text", "has no answer", "have no answer"),
		report.Unanswered[0].Why)
}

// find returns the rule that is to be measured.
func (e *policyEval) find() (policy.Rule, error) {
	rules := e.pol.Rules()
	var ids []string
	for _, r := range rules {
		ids = append(ids, r.ID)
	}
	if e.rule == "" {
		return policy.Rule{}, exit.Usage.Errorf("policy eval: which rule? Name it with --rule")
	}
	i := slices.Index(ids, e.rule)
	if i < 0 {
		return policy.Rule{}, exit.Usage.Errorf("%s: no rule has the id %q%s", e.pol.Name(), e.rule, yamlfile.Meant(e.rule, ids))
	}
	if !rules[i].AboutTexts() {
		return policy.Rule{}, exit.Usage.Errorf("%s: the rule %s decides about calls or files, and not about texts", e.pol.Name(), e.rule)
	}
	return rules[i], nil
}

// judgeRows lets the rule judge each row: a rule with detectors here, one with a judge by its answers.
func (p *commands) judgeRows(ctx context.Context, e *policyEval, rows []*labelledRow, known *answerFile) error {
	if e.judge == nil {
		only := e.pol.Only(e.rule)
		for _, r := range rows {
			r.detect(only)
		}
		return context.Cause(ctx)
	}

	// What is to be asked?
	bar := p.Progress("judging", len(rows))
	defer bar.End()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, r := range rows {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-slots }()
			if err := r.ask(ctx, e.judge, known); err != nil {
				stop(err)
			}
			bar.Add()
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// detect lets the detectors of a policy with one rule judge the row.
func (r *labelledRow) detect(only *policy.Policy) {
	v := only.Judge(r.stage, r.scope, r.Text)
	r.failure = v.Err
	for _, f := range v.Findings {
		if f.Would != policy.Allow {
			r.flagged = true
			r.score = max(r.score, f.Score)
		}
	}
}

// ask lets a judge judge the row, if its answer is not known. It returns an error if nobody can be asked. A
// row that cannot be judged has a failure.
func (r *labelledRow) ask(ctx context.Context, j *guardrail.Judge, known *answerFile) error {
	q, asked, err := j.Question(r.scope, r.stage, r.Text, r.Results)
	r.failure = err
	if !asked {
		return nil
	}
	var a guardrail.JudgeAnswer
	raw, isKnown := known.of(q.ID)
	if isKnown {
		a, err = j.Read(raw, q)
		r.recorded = true
	} else {
		a, err = j.Ask(ctx, q)
		r.asked = true
	}
	if _, none := errors.AsType[policy.NoAnswer](err); err != nil && !none {
		return cmp.Or(context.Cause(ctx), exit.Usage.As(err))
	}
	r.answer = a
	r.failure = err
	r.flagged = a.Flagged
	r.score = a.Score
	if r.asked && a.Raw != "" {
		return known.add(q.ID, a.Raw)
	}
	return nil
}
