package policy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	jsonstrict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/yamlfile"
)

// policyEval is what policy eval is asked for.
type policyEval struct {
	policy, rule, answers string
	mistakes, json        bool
}

// labelledText is a text, whether the rule should act on it, and what the rule has made of it.
type labelledText struct {
	ID      jsontext.Value `json:"id"`
	Text    string         `json:"text"`
	Label   *bool          `json:"label"`
	Stage   policy.Stage   `json:"stage"`
	Results []string       `json:"results"`

	file            string
	lineNumber      int
	flagged         bool
	score           float64
	failure         error // why the rule could not judge it
	asked, recorded bool
	tokens          int
}

// maxQuestions is how many texts are judged at a time.
const maxQuestions = 8

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
rule's first stage if it is missing. For a rule with grounding, results is a list of what tools have
answered, the latest first. The text is judged alone, without the policy's other rules, but a judge is
sent what they leave of it, as in a run.

A rule with a judge asks its service, or its model, which --config has. --answers keeps what was
answered in a file. What is in the file is not asked again, unless the text, the question, its examples
or the model is another. The policy's budget (judges:) bounds what is spent.

Printed are precision (of the texts that the rule acts on, the share that it should), recall (of the
texts that it should act on, the share that it does), F1 (their harmonic mean), and the false positive
rate (of the texts that it should leave alone, the share that it acts on); the table says what these
would be with another threshold. Texts without a valid answer count for nothing; the exit code is 1 if
there are any. Texts are printed only with --mistakes.`,
		Example: `  runner policy eval --policy policy.yaml --rule medical --config runner.yaml labelled.jsonl
  runner policy eval --policy policy.yaml --rule medical --answers answers.jsonl labelled.jsonl`,
		Args: cli.Args(1, -1, "which texts? Name a file with a line of JSON for each, with text and label"),
		RunE: func(cmd *cobra.Command, files []string) error { return p.evaluate(cmd.Context(), e, files) },
	}
	f := cmd.Flags()
	f.StringVar(&e.policy, "policy", "", policyUsage)
	f.StringVar(&e.rule, "rule", "", "the `id` of the rule")
	f.StringVar(&e.answers, "answers", "", "keep the judge's answers in this `file`, and ask nothing that is in it")
	f.BoolVar(&e.mistakes, "mistakes", false, "print the texts that the rule is wrong about")
	f.BoolVar(&e.json, "json", false, jsonUsage)
	return cmd
}

func (p *commands) evaluate(ctx context.Context, e *policyEval, files []string) (err error) {
	// Which rule, and about which texts?
	pol, err := policyOf(ctx, e.policy)
	if err != nil {
		return err
	}
	rule, err := textRule(pol, e.rule)
	if err != nil {
		return err
	}
	texts, err := p.labelled(ctx, files, pol, rule)
	if err != nil {
		return err
	}

	// Let it judge them.
	judge, _ := guardrail.NewJudge(p.judgeConfig(ctx, pol), e.rule)
	if judge == nil {
		detect(pol.Only(e.rule), texts)
	} else {
		known, openErr := openAnswers(ctx, e.answers)
		if openErr != nil {
			return openErr
		}
		err = p.askAll(ctx, judge, known, texts)
		err = errors.Join(err, known.close(), judge.Close(ctx))
	}
	if err != nil {
		return err
	}

	// Say how often it is right.
	report := evalReportOf(pol, e, judge, texts)
	if e.json || p.JSONL {
		err = p.WriteJSON(report)
	} else {
		err = p.writeEval(report)
	}
	if err != nil || report.NoAnswer == 0 {
		return err
	}
	noAnswer := phrase.Of(report.NoAnswer, report.Texts, "text", "has no answer", "have no answer")
	return exit.Other.Errorf("%s: %s", noAnswer, report.Why)
}

// textRule returns the rule of an id, which has to be about texts.
func textRule(pol *policy.Policy, id string) (policy.Rule, error) {
	rules := pol.Rules()
	var ids []string
	for _, r := range rules {
		ids = append(ids, r.ID)
	}
	i := slices.Index(ids, id)
	switch {
	case id == "":
		return policy.Rule{}, exit.Usage.Errorf("policy eval: which rule? Name it with --rule")
	case i < 0:
		return policy.Rule{}, exit.Usage.Errorf("%s: no rule has the id %q%s", pol.Name(), id, yamlfile.Meant(id, ids))
	case !rules[i].AboutTexts():
		return policy.Rule{}, exit.Usage.Errorf("%s: the rule %s decides about calls or files, and not about texts",
			pol.Name(), id)
	}
	return rules[i], nil
}

// labelled reads the texts of files. The first line that is wrong ends it.
func (p *commands) labelled(
	ctx context.Context, files []string, pol *policy.Policy, rule policy.Rule,
) (texts []*labelledText, err error) {
	for _, name := range files {
		in, err := p.OpenInput(ctx, name)
		if err != nil {
			return nil, exit.Usage.As(err)
		}
		data, err := in.All(maxEvalFile)
		in.Close() // it was only read
		if err != nil {
			return nil, exit.Usage.As(err)
		}
		for i, line := range bytes.Split(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\n")) {
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			text := &labelledText{file: in.Name, lineNumber: i + 1, Stage: rule.Stages[0]}
			if err := text.read(line, pol, rule); err != nil {
				return nil, exit.Usage.Errorf("%s:%d: %w", in.Name, i+1, err)
			}
			texts = append(texts, text)
		}
	}
	if texts == nil {
		return nil, exit.Usage.Errorf("%s: there is no text in it", strings.Join(files, ", "))
	}
	return texts, nil
}

// maxEvalFile is how many bytes a file of labelled texts, or of answers, may have.
const maxEvalFile = 1 << 30

// read reads a line. Its error quotes nothing of it.
func (t *labelledText) read(line []byte, pol *policy.Policy, rule policy.Rule) error {
	if err := jsonstrict.Unmarshal(line, t); err != nil || t.Text == "" || t.Label == nil {
		return errors.New(`this is no text with a label; write an object on one line: {"text": "…", "label": true}`)
	}
	if most := pol.MaxBytes(); len(t.Text) > most {
		return fmt.Errorf("text has %d bytes, and the policy judges at most %d (limits.max_bytes); shorten it, or raise the limit",
			len(t.Text), most)
	}
	if why := rule.Silent(t.Stage, policy.Scope{}); why != "" {
		return fmt.Errorf("the rule %s does not judge this text at the stage %s: %s", rule.ID, t.Stage, why)
	}
	return nil
}

// judgeConfig is what a rule's judge is opened with. The configuration is read once a model of it, or a
// price, is asked for.
func (p *commands) judgeConfig(ctx context.Context, pol *policy.Policy) guardrail.Config {
	open := sync.OnceValues(func() (*config.Config, error) { return p.LoadConfig(ctx) })
	return guardrail.Config{
		Policy: pol,
		Models: func(name string) (model.Model, error) {
			settings, err := open()
			if err != nil {
				return nil, err
			}
			m, err := settings.Model(ctx, name)
			if err != nil && settings.Name() == "" {
				err = fmt.Errorf("%w (no configuration was read: --config names one)", err)
			}
			return m, err
		},
		// A price counts as known where the model cannot be opened: Models then says why.
		Price: func(name string) (prices.Price, bool) {
			settings, err := open()
			if err != nil || settings.Name() == "" && !strings.Contains(name, ":") {
				return prices.Price{}, true
			}
			return settings.Price(name)
		},
	}
}

// detect lets the detectors of a policy with one rule judge the texts.
func detect(only *policy.Policy, texts []*labelledText) {
	for _, t := range texts {
		v := only.Judge(t.Stage, policy.Scope{}, t.Text)
		t.failure = v.Err
		for _, f := range v.Findings {
			if f.Would != policy.Allow {
				t.flagged = true
				t.score = max(t.score, f.Score)
			}
		}
	}
}

// askAll lets a judge judge the texts, several at a time.
func (p *commands) askAll(
	ctx context.Context, judge *guardrail.Judge, known *answerFile, texts []*labelledText,
) error {
	bar := p.Progress("judging", len(texts))
	defer bar.End()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxQuestions)
	for _, t := range texts {
		group.Go(func() error {
			defer bar.Add()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return t.ask(ctx, judge, known)
		})
	}
	return group.Wait()
}

// ask lets a judge judge the text, if its answer is not known. It returns an error if nobody can be asked.
// A text that cannot be judged has a failure.
func (t *labelledText) ask(ctx context.Context, judge *guardrail.Judge, known *answerFile) error {
	question, asked, err := judge.Question(policy.Scope{}, t.Stage, t.Text, t.Results)
	t.failure = err
	if !asked {
		return nil
	}
	raw, isKnown := known.of(question.ID)
	answer, err := judge.Read(raw, question)
	if !isKnown {
		answer, err = judge.Ask(ctx, question)
	}
	t.recorded = isKnown
	t.asked = !isKnown
	if _, none := errors.AsType[policy.NoAnswer](err); err != nil && !none {
		return cmp.Or(context.Cause(ctx), exit.Usage.As(err))
	}
	t.failure = err
	t.flagged = answer.Flagged
	t.score = answer.Score
	t.tokens = answer.Tokens
	if t.asked && answer.Raw != "" {
		return known.add(question.ID, answer.Raw)
	}
	return nil
}
