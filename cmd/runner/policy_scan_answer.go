package main

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

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

// maxTold is of how many lines it is told what is wrong with them: what is no JSON Lines at all has too many.
const maxTold = 10

// scanAnswers answers the lines of an input, and counts.
type scanAnswers struct {
	*program
	name                 string // of the input
	lines, wrong, failed int
}

// line answers the line of number n, if it can be.
func (a *scanAnswers) line(pol *policy.Policy, n int, line []byte) error {
	a.lines++
	s, err := scannedLine(line)
	if err != nil {
		a.wrong++
		return a.tell(n, err)
	}
	v := pol.Judge(s.stage, policy.Scope{}, s.text)
	if err := a.writeJSON(scanAnswer(s.id, v)); err != nil || v.Err == nil {
		return err
	}
	a.failed++
	return a.tell(n, fmt.Errorf("the text could not be judged: %w", v.Err))
}

// tell says what is wrong with a line, below the answers to those before it.
func (a *scanAnswers) tell(n int, why error) error {
	if a.wrong+a.failed > maxTold {
		return nil
	}
	if err := a.out.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.err, printable(fmt.Sprintf("%s:%d: %v", a.name, n, why)))
	return err
}

// end returns the error that the scan ends with.
func (a *scanAnswers) end() error {
	var said []string
	end := exitOther
	if a.wrong > 0 {
		end = exitUsage
		said = append(said, fmt.Sprintf("%d of %d lines are wrong, and have no answer", a.wrong, a.lines))
	}
	if a.failed > 0 {
		said = append(said, fmt.Sprintf("%d of %d texts could not be judged", a.failed, a.lines-a.wrong))
	}
	if said == nil {
		return nil
	}
	return end.errorf("%s: %s", a.name, strings.Join(said, "; "))
}

func scanAnswer(id jsontext.Value, v policy.Verdict) scanLine {
	answer := scanLine{ID: id, Action: v.Action, Findings: make([]scanFinding, 0, len(v.Findings)), Text: v.Text}
	for _, f := range v.Findings {
		answer.Findings = append(answer.Findings, scanFinding{f.Type, f.Start, f.End, f.Rule, f.Score})
		if f.Action == policy.Block && (f.Type == "TEXT" || f.Type == "LENGTH") { // there is no part to take out
			answer.Text = ""
		}
	}
	return answer
}
