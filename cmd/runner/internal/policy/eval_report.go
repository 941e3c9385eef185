package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// evalReport is what policy eval writes. Positives are texts that the rule should act on.
type evalReport struct {
	Policy    string  `json:"policy"`
	Revision  string  `json:"revision"`
	Rule      string  `json:"rule"`
	Judge     string  `json:"judge,omitzero"`     // who is asked
	Threshold float64 `json:"threshold,omitzero"` // the rule's
	Rows      int     `json:"rows"`
	NoAnswer  int     `json:"noAnswer"`
	Positives int     `json:"positives"`
	Negatives int     `json:"negatives"`

	measures
	Table      []evalLine    `json:"table"`
	Unanswered []evalFailure `json:"unanswered,omitempty"`
	Cost       *evalCost     `json:"cost,omitzero"`
	Mistakes   []evalMistake `json:"mistakes,omitempty"`
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

// evalFailure says why some texts have no answer, and how many.
type evalFailure struct {
	Why   string `json:"why"`
	Count int    `json:"count"`
}

// evalCost is who was asked, and what that has cost.
type evalCost struct {
	Asked    int      `json:"asked"`
	Recorded int      `json:"recorded"`
	Tokens   int      `json:"tokens"`
	USD      *float64 `json:"usd"` // nil if it is not known
}

// evalMistake is a text that the rule is wrong about.
type evalMistake struct {
	File  string         `json:"file"`
	Line  int            `json:"line"`
	ID    jsontext.Value `json:"id,omitzero"`
	Stage policy.Stage   `json:"stage"`
	Label bool           `json:"label"`
	Score float64        `json:"score"`
	Text  string         `json:"text"`
}

// report counts what the rule has made of the rows.
func (e *policyEval) report(rows []*labelledRow) *evalReport {
	r := &evalReport{
		Policy:   e.pol.Name(),
		Revision: e.pol.Revision(),
		Rule:     e.rule,
		Rows:     len(rows),
	}

	// Leave out what has no answer.
	failures := map[string]int{}
	var judged []*labelledRow
	for _, row := range rows {
		switch {
		case row.failure != nil:
			failures[row.failure.Error()]++
			r.NoAnswer++
			continue
		case *row.Label:
			r.Positives++
		default:
			r.Negatives++
		}
		judged = append(judged, row)
		if e.mistakes && row.flagged != *row.Label {
			r.Mistakes = append(r.Mistakes, evalMistake{
				File:  row.file,
				Line:  row.line,
				ID:    row.ID,
				Stage: row.stage,
				Label: *row.Label,
				Score: row.score,
				Text:  row.Text,
			})
		}
	}
	for _, why := range slices.Sorted(maps.Keys(failures)) {
		r.Unanswered = append(r.Unanswered, evalFailure{Why: why, Count: failures[why]})
	}
	slices.SortStableFunc(r.Unanswered, func(a, b evalFailure) int { return b.Count - a.Count })

	// Measure what the rule does, and what it would do with other thresholds.
	r.measures = measure(judged, func(row *labelledRow) bool { return row.flagged })
	thresholds := []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}
	if e.judge != nil {
		r.Judge = e.judge.Who()
		r.Threshold = e.judge.Threshold()
		r.Cost = costOf(rows)
		if r.Threshold > 0 && !slices.Contains(thresholds, r.Threshold) {
			thresholds = append(thresholds, r.Threshold)
			slices.Sort(thresholds)
		}
	}
	for _, t := range thresholds {
		r.Table = append(r.Table, evalLine{
			Threshold: t,
			measures:  measure(judged, func(row *labelledRow) bool { return row.score >= t }),
		})
	}
	return r
}

// measure counts how often a decision is right.
func measure(rows []*labelledRow, flags func(*labelledRow) bool) (m measures) {
	positives := 0
	right := 0 // of those that are flagged
	for _, row := range rows {
		if *row.Label {
			positives++
		}
		if flags(row) {
			m.Flagged++
			if *row.Label {
				right++
			}
		}
	}
	share := func(part, whole int) *float64 {
		if whole == 0 {
			return nil
		}
		is := float64(part) / float64(whole)
		return &is
	}
	m.Precision = share(right, m.Flagged)
	m.Recall = share(right, positives)
	m.F1 = share(2*right, m.Flagged+positives)
	m.FalsePositiveRate = share(m.Flagged-right, len(rows)-positives)
	return m
}

// costOf sums up what the answers have cost.
func costOf(rows []*labelledRow) *evalCost {
	c := &evalCost{}
	usd := 0.0
	known := true
	for _, row := range rows {
		switch {
		case row.recorded:
			c.Recorded++
		case row.asked:
			c.Asked++
			c.Tokens += row.answer.Tokens
			usd += row.answer.USD
			known = known && (row.answer.Priced || row.answer.Tokens == 0)
		}
	}
	if known {
		c.USD = &usd
	}
	return c
}

// writeEval writes the report for people.
func (p *commands) writeEval(r *evalReport) error {
	shown := func(share *float64) string {
		if share == nil {
			return "-"
		}
		return strconv.FormatFloat(*share, 'f', 3, 64)
	}
	say := func(format string, args ...any) {
		fmt.Fprintln(p.Out, eventtext.Printable(fmt.Sprintf(format, args...)))
	}
	of := cmp.Or(r.Judge, "detectors")
	if r.Threshold > 0 {
		of += fmt.Sprintf(", threshold %v", r.Threshold)
	}
	say("rule %s of %s (revision %s): %s", r.Rule, r.Policy, r.Revision, of)
	say("%s: %s, %s, %d without an answer", phrase.Count(r.Rows, "text"),
		phrase.Count(r.Positives, "positive"), phrase.Count(r.Negatives, "negative"), r.NoAnswer)
	say("precision %s, recall %s, F1 %s, false positive rate %s",
		shown(r.Precision), shown(r.Recall), shown(r.F1), shown(r.FalsePositiveRate))

	fmt.Fprintln(p.Out)
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "threshold\tflagged\tprecision\trecall\tF1\tfalse positive rate")
	for i := 0; i < len(r.Table); i++ {
		l := r.Table[i]
		from := fmt.Sprint(l.Threshold)
		for i+1 < len(r.Table) && r.Table[i+1].Flagged == l.Flagged { // the same texts
			i++
		}
		to := fmt.Sprint(r.Table[i].Threshold)
		if to != from {
			from += " to " + to
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", from, l.Flagged, shown(l.Precision), shown(l.Recall), shown(l.F1), shown(l.FalsePositiveRate))
	}
	if err := w.Flush(); err != nil {
		return err
	}

	if r.Unanswered != nil {
		fmt.Fprintln(p.Out)
	}
	for _, f := range r.Unanswered {
		say("no answer about %s: %s", phrase.Count(f.Count, "text"), f.Why)
	}
	if c := r.Cost; c != nil {
		usd := "at an unknown price"
		if c.USD != nil {
			usd = fmt.Sprintf("%.4f USD", *c.USD)
		}
		fmt.Fprintln(p.Out)
		say("%d asked, %d recorded: %s, %s", c.Asked, c.Recorded, phrase.Count(c.Tokens, "token"), usd)
	}
	if r.Mistakes != nil {
		fmt.Fprintln(p.Out)
	}
	for _, m := range r.Mistakes {
		what := "false alarm"
		if m.Label {
			what = "missed"
		}
		id := ""
		if m.ID != nil {
			id = fmt.Sprintf(" (id %s)", m.ID)
		}
		say("%s:%d%s: %s, score %v: %s", m.File, m.Line, id, what, m.Score, m.Text)
	}
	return p.Out.Flush()
}
