package policy

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// scanLine is a line that policy scan writes.
type scanLine struct {
	ID       jsontext.Value `json:"id,omitzero"`
	Action   policy.Action  `json:"action"`
	Findings []scanFinding  `json:"findings"`
	Text     string         `json:"text"`
}

type scanFinding struct {
	Type  string  `json:"type"`
	Start int     `json:"start"`
	End   int     `json:"end"`
	Rule  string  `json:"rule"`
	Score float64 `json:"score"`
}

// maxReported is how many wrong lines are reported: input that is no JSON Lines at all has too
// many.
const maxReported = 10

// scanAnswers answers the lines of an input, and counts.
type scanAnswers struct {
	*cli.Program
	name                 string // of the input
	lines, wrong, failed int
}

// line answers the line of number n, if it can be.
func (a *scanAnswers) line(pol *policy.Policy, n int, line []byte) error {
	a.lines++
	in, err := readScanInput(line)
	if err != nil {
		a.wrong++
		return a.report(n, err)
	}
	v := pol.Judge(in.Stage, policy.Scope{}, *in.Text)
	if err := a.WriteJSON(scanAnswer(in.ID, v)); err != nil || v.Err == nil {
		return err
	}
	a.failed++
	return a.report(n, fmt.Errorf("the text could not be judged: %w", v.Err))
}

// report says on standard error what is wrong with a line, after the answers to those before it.
func (a *scanAnswers) report(n int, why error) error {
	if a.wrong+a.failed > maxReported {
		return nil
	}
	if err := a.Out.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.Err, eventtext.Printable(fmt.Sprintf("%s:%d: %v", a.name, n, why)))
	return err
}

// end returns the error that the scan ends with.
func (a *scanAnswers) end() error {
	var said []string
	end := exit.Other
	if a.wrong > 0 {
		end = exit.Usage
		said = append(said, phrase.Of(a.wrong, a.lines, "line", "is wrong, and has no answer", "are wrong, and have no answer"))
	}
	if a.failed > 0 {
		said = append(said, phrase.Of(a.failed, a.lines-a.wrong, "text", "could not be judged", "could not be judged"))
	}
	if said == nil {
		return nil
	}
	return end.Errorf("%s: %s", a.name, strings.Join(said, "; "))
}

func scanAnswer(id jsontext.Value, v policy.Verdict) scanLine {
	answer := scanLine{
		ID:       id,
		Action:   v.Action,
		Findings: make([]scanFinding, 0, len(v.Findings)),
		Text:     v.Text,
	}
	for _, f := range v.Findings {
		answer.Findings = append(answer.Findings, scanFinding{
			Type:  f.Type,
			Start: f.Start,
			End:   f.End,
			Rule:  f.Rule,
			Score: f.Score,
		})
		// there is no part to take out
		if f.Action == policy.Block && (f.Type == "TEXT" || f.Type == "LENGTH") {
			answer.Text = ""
		}
	}
	return answer
}
