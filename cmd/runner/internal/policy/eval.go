package policy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"

	jsonstrict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/plughook/plughook/cmd/runner/internal/answers"
	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/yamlfile"
)

// policyEval is what policy eval is asked for.
type policyEval struct {
	policy, rule, answers string
	mistakes              bool
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
	by := "detectors"
	thresholds := []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}
	judge, _ := guardrail.NewJudge(p.judgeConfig(ctx, pol), e.rule)
	if judge == nil {
		detect(pol.Only(e.rule), texts)
	} else {
		by = fmt.Sprintf("%s, threshold %v", judge.Who(), judge.Threshold)
		if judge.Threshold > 0 {
			thresholds = append(thresholds, judge.Threshold)
		}
		err = errors.Join(p.askAll(ctx, judge, e.answers, texts), judge.Close(ctx))
	}
	if err != nil {
		return err
	}

	// Say how often it is right.
	judged := slices.DeleteFunc(slices.Clone(texts), func(t *labelledText) bool { return t.failure != nil })
	p.writef("rule %s of %s (revision %s): %s", e.rule, pol.Name(), pol.Revision(), by)
	if err := p.writeMeasures(judged, len(texts), thresholds); err != nil {
		return err
	}
	if judge != nil {
		p.writeCost(texts)
	}
	if e.mistakes {
		p.writeMistakes(judged)
	}
	if len(judged) == len(texts) {
		return p.Out.Flush()
	}
	first := slices.IndexFunc(texts, func(t *labelledText) bool { return t.failure != nil })
	noAnswer := phrase.Of(len(texts)-len(judged), len(texts), "text", "has no answer", "have no answer")
	return exit.Other.Errorf("%s: %s", noAnswer, texts[first].failure)
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

// labelledText is a text, whether the rule should act on it, and what the rule has made of it.
type labelledText struct {
	ID      jsontext.Value `json:"id"`
	Text    string         `json:"text"`
	Label   *bool          `json:"label"`
	Stage   policy.Stage   `json:"stage"`
	Results []string       `json:"results"`

	file        string
	lineNumber  int
	flagged     bool
	score       float64
	failure     error // why the rule could not judge it
	judgeAnswer guardrail.JudgeAnswer
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

// maxEvalFile is how many bytes a file of labelled texts may have.
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

// askAll lets a judge judge the texts, several at a time. Its answers are kept in a file, and what is in it
// is not asked; "" is no file. An error says that nobody can be asked.
func (p *commands) askAll(
	ctx context.Context, judge *guardrail.Judge, file string, texts []*labelledText,
) error {
	kept, err := answers.Open(ctx, file)
	if err != nil {
		return err
	}
	judge.Kept = kept.Of
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
			t.judgeAnswer, t.failure = judge.Ask(ctx, policy.Scope{}, t.Stage, t.Text, t.Results)
			if _, none := errors.AsType[guardrail.NoAnswer](t.failure); t.failure != nil && !none {
				return cmp.Or(context.Cause(ctx), exit.Usage.As(t.failure))
			}
			t.flagged = t.judgeAnswer.Flagged
			t.score = t.judgeAnswer.Score
			return kept.Add(t.judgeAnswer)
		})
	}
	return errors.Join(group.Wait(), kept.Close())
}

// writef writes a line that may quote somebody else's words.
func (p *commands) writef(format string, args ...any) {
	fmt.Fprintln(p.Out, eventtext.Printable(fmt.Sprintf(format, args...)))
}

// writeMeasures says how often the rule is right about the texts that it has judged, and how often it would
// be with other thresholds. all counts those without an answer, too.
func (p *commands) writeMeasures(judged []*labelledText, all int, thresholds []float64) error {
	positives := 0
	for _, t := range judged {
		if *t.Label {
			positives++
		}
	}
	p.writef("%s: %s, %s, %d without an answer", phrase.Count(all, "text"),
		phrase.Count(positives, "positive"), phrase.Count(len(judged)-positives, "negative"), all-len(judged))
	own := measure(judged, func(t *labelledText) bool { return t.flagged })
	p.writef("precision %s, recall %s, F1 %s, false positive rate %s\n",
		own.precision, own.recall, own.f1, own.falsePositiveRate)

	// Thresholds with which the rule would act on the same texts share a line.
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "threshold\tflagged\tprecision\trecall\tF1\tfalse positive rate")
	slices.Sort(thresholds)
	measuresAt := func(i int) measures {
		return measure(judged, func(t *labelledText) bool { return t.score >= thresholds[i] })
	}
	for i := 0; i < len(thresholds); i++ {
		from := fmt.Sprint(thresholds[i])
		m := measuresAt(i)
		for i+1 < len(thresholds) && measuresAt(i+1).flagged == m.flagged {
			i++
		}
		if to := fmt.Sprint(thresholds[i]); to != from {
			from += " to " + to
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", from, m.flagged, m.precision, m.recall, m.f1, m.falsePositiveRate)
	}
	return w.Flush()
}

// measures are how often a rule is right, as shares that are written. A share of nothing is "-".
type measures struct {
	flagged                                  int
	precision, recall, f1, falsePositiveRate string
}

// measure counts how often a decision is right.
func measure(texts []*labelledText, isFlagged func(*labelledText) bool) (m measures) {
	positives := 0
	right := 0 // of those that are flagged
	for _, t := range texts {
		if *t.Label {
			positives++
		}
		if isFlagged(t) {
			m.flagged++
			if *t.Label {
				right++
			}
		}
	}
	share := func(part, whole int) string {
		if whole == 0 {
			return "-"
		}
		return strconv.FormatFloat(float64(part)/float64(whole), 'f', 3, 64)
	}
	m.precision = share(right, m.flagged)
	m.recall = share(right, positives)
	m.f1 = share(2*right, m.flagged+positives)
	m.falsePositiveRate = share(m.flagged-right, len(texts)-positives)
	return m
}

// writeCost says how many answers were asked for, and what they cost.
func (p *commands) writeCost(texts []*labelledText) {
	asked, recorded, tokens := 0, 0, 0
	for _, t := range texts {
		tokens += t.judgeAnswer.Tokens
		switch {
		case t.judgeAnswer.Asked:
			asked++
		case t.judgeAnswer.Question != "":
			recorded++
		}
	}
	p.writef("\n%d asked, %d recorded: %s", asked, recorded, phrase.Count(tokens, "token"))
}

// writeMistakes prints the texts that the rule is wrong about.
func (p *commands) writeMistakes(judged []*labelledText) {
	blank := "\n" // before the first
	for _, t := range judged {
		if t.flagged == *t.Label {
			continue
		}
		kind := "false alarm"
		if *t.Label {
			kind = "missed"
		}
		id := ""
		if t.ID != nil {
			id = fmt.Sprintf(" (id %s)", t.ID)
		}
		p.writef("%s%s:%d%s: %s, score %v: %s", blank, t.file, t.lineNumber, id, kind, t.score, t.Text)
		blank = ""
	}
}
