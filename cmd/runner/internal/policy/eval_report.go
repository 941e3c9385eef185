package policy

import (
	"fmt"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// evalReport is what policy eval writes. Positives are texts that the rule should act on.
type evalReport struct {
	Policy    string  `json:"policy"`
	Revision  string  `json:"revision"`
	Rule      string  `json:"rule"`
	Judge     string  `json:"judge,omitzero"`     // who is asked
	Threshold float64 `json:"threshold,omitzero"` // the rule's
	Texts     int     `json:"texts"`
	NoAnswer  int     `json:"noAnswer"`
	Why       string  `json:"why,omitzero"` // the first of them has no answer
	Positives int     `json:"positives"`
	Negatives int     `json:"negatives"`
	Asked     int     `json:"asked"`
	Recorded  int     `json:"recorded"`
	Tokens    int     `json:"tokens"`

	measures
	Table    []evalLine    `json:"table"`
	Mistakes []evalMistake `json:"mistakes,omitempty"`
}

// measures are how often a rule is right. A share of nothing is nil.
type measures struct {
	Flagged           int      `json:"flagged"`
	Precision         *float64 `json:"precision"`
	Recall            *float64 `json:"recall"`
	F1                *float64 `json:"f1"`
	FalsePositiveRate *float64 `json:"falsePositiveRate"`
}

// evalLine says how often the rule would be right with another threshold.
type evalLine struct {
	Threshold float64 `json:"threshold"`
	measures
}

// evalMistake is a text that the rule is wrong about.
type evalMistake struct {
	File  string         `json:"file"`
	Line  int            `json:"line"`
	ID    jsontext.Value `json:"id,omitzero"`
	Label bool           `json:"label"`
	Score float64        `json:"score"`
	Text  string         `json:"text"`
}

// evalReportOf counts what the rule has made of the texts.
func evalReportOf(pol *policy.Policy, e *policyEval, judge *guardrail.Judge, texts []*labelledText) *evalReport {
	r := &evalReport{Policy: pol.Name(), Revision: pol.Revision(), Rule: e.rule, Texts: len(texts)}
	thresholds := []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}
	if judge != nil {
		r.Judge = judge.Who()
		r.Threshold = judge.Threshold()
		if r.Threshold > 0 && !slices.Contains(thresholds, r.Threshold) {
			thresholds = append(thresholds, r.Threshold)
			slices.Sort(thresholds)
		}
	}
	var judged []*labelledText
	for _, t := range texts {
		r.Tokens += t.tokens
		if t.asked {
			r.Asked++
		}
		if t.recorded {
			r.Recorded++
		}
		if t.failure != nil {
			if r.NoAnswer == 0 {
				r.Why = t.failure.Error()
			}
			r.NoAnswer++
			continue
		}
		judged = append(judged, t)
		if *t.Label {
			r.Positives++
		}
		if e.mistakes && t.flagged != *t.Label {
			r.Mistakes = append(r.Mistakes, evalMistake{
				File:  t.file,
				Line:  t.lineNumber,
				ID:    t.ID,
				Label: *t.Label,
				Score: t.score,
				Text:  t.Text,
			})
		}
	}
	r.Negatives = len(judged) - r.Positives
	r.measures = measure(judged, func(t *labelledText) bool { return t.flagged })
	for _, threshold := range thresholds {
		isFlagged := func(t *labelledText) bool { return t.score >= threshold }
		r.Table = append(r.Table, evalLine{Threshold: threshold, measures: measure(judged, isFlagged)})
	}
	return r
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
			m.Flagged++
			if *t.Label {
				right++
			}
		}
	}
	share := func(part, whole int) *float64 {
		if whole == 0 {
			return nil
		}
		return new(float64(part) / float64(whole))
	}
	m.Precision = share(right, m.Flagged)
	m.Recall = share(right, positives)
	m.F1 = share(2*right, m.Flagged+positives)
	m.FalsePositiveRate = share(m.Flagged-right, len(texts)-positives)
	return m
}

// writeEval writes the report for people.
func (p *commands) writeEval(r *evalReport) error {
	shown := func(share *float64) string {
		if share == nil {
			return "-"
		}
		return strconv.FormatFloat(*share, 'f', 3, 64)
	}
	write := func(format string, args ...any) {
		fmt.Fprintln(p.Out, eventtext.Printable(fmt.Sprintf(format, args...)))
	}
	by := "detectors"
	if r.Judge != "" {
		by = fmt.Sprintf("%s, threshold %v", r.Judge, r.Threshold)
	}
	write("rule %s of %s (revision %s): %s", r.Rule, r.Policy, r.Revision, by)
	write("%s: %s, %s, %d without an answer", phrase.Count(r.Texts, "text"),
		phrase.Count(r.Positives, "positive"), phrase.Count(r.Negatives, "negative"), r.NoAnswer)
	write("precision %s, recall %s, F1 %s, false positive rate %s\n",
		shown(r.Precision), shown(r.Recall), shown(r.F1), shown(r.FalsePositiveRate))

	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "threshold\tflagged\tprecision\trecall\tF1\tfalse positive rate")
	for i := 0; i < len(r.Table); i++ {
		l := r.Table[i]
		from := fmt.Sprint(l.Threshold)
		for i+1 < len(r.Table) && r.Table[i+1].Flagged == l.Flagged { // the same texts
			i++
		}
		if to := fmt.Sprint(r.Table[i].Threshold); to != from {
			from += " to " + to
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n",
			from, l.Flagged, shown(l.Precision), shown(l.Recall), shown(l.F1), shown(l.FalsePositiveRate))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Judge != "" {
		write("\n%d asked, %d recorded: %s", r.Asked, r.Recorded, phrase.Count(r.Tokens, "token"))
	}
	for i, m := range r.Mistakes {
		if i == 0 {
			fmt.Fprintln(p.Out)
		}
		kind := "false alarm"
		if m.Label {
			kind = "missed"
		}
		id := ""
		if m.ID != nil {
			id = fmt.Sprintf(" (id %s)", m.ID)
		}
		write("%s:%d%s: %s, score %v: %s", m.File, m.Line, id, kind, m.Score, m.Text)
	}
	return p.Out.Flush()
}
