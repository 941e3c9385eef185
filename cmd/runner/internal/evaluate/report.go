package evaluate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/junit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/eval"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/internal/wholefile"
)

// named returns a name of a file or a case on one line, short enough for a table.
func named(name string) string { return eventtext.OneLine(name, 100) }

// writeTable writes a line for each case, and below those that failed why.
func (e *evaluation) writeTable(result *eval.Result, rates []eval.Rate) error {
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	passed := 0
	for _, r := range rates {
		verdict := "FAIL"
		if e.enough(r) {
			verdict = "ok"
			passed++
		}
		times := ""
		if r.Runs > 1 {
			times = fmt.Sprintf("%d of %d", r.Passed, r.Runs)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", verdict, named(r.File), named(r.Case), times)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	tokens := int64(0)
	cost := 0.0
	var unpriced []string
	for i := range result.Cases {
		c := &result.Cases[i]
		tokens += c.Tokens
		cost += c.Cost
		unpriced = append(unpriced, c.Unpriced...)
		if c.Passed {
			continue
		}
		fmt.Fprintf(e.Out, "\n%s\n", fmt.Sprintf("%s, run %d of %s", named(c.File), c.Repeat, named(c.Case)))
		for _, why := range c.Why() {
			fmt.Fprintf(e.Out, "  %s\n", eventtext.OneLine(why, 2000))
		}
		if c.Session != "" {
			fmt.Fprintf(e.Out, "  see: runner session show %s\n", c.Session)
		}
	}
	costs := fmt.Sprintf("%.4f", cost)
	if len(unpriced) > 0 {
		costs = fmt.Sprintf("- (the price of %q is not known)", slices.Compact(slices.Sorted(slices.Values(unpriced))))
	}
	_, err := fmt.Fprintf(e.Out, "\n%d of %s passed, %.1f s, %s, cost %s, judges: %s\n", passed, phrase.Count(len(rates), "case"),
		result.Seconds, phrase.Count(int(tokens), "token"), costs, phrase.Count(result.JudgeTokens, "token"))
	return err
}

// writeJUnit writes a report with a suite for each file, and a test for each run of a case.
func (e *evaluation) writeJUnit(result *eval.Result) error {
	if e.junit == "" {
		return nil
	}
	var suites []junit.Suite
	for i := range result.Cases {
		c := &result.Cases[i]
		if len(suites) == 0 || suites[len(suites)-1].Name != c.File {
			suites = append(suites, junit.Suite{Name: c.File})
		}
		s := &suites[len(suites)-1]
		s.Tests++
		t := junit.Case{Class: c.File, Name: c.Case, Time: fmt.Sprintf("%.3f", c.Seconds)}
		if e.repeat > 1 {
			t.Name += fmt.Sprintf(" (%d)", c.Repeat)
		}
		why := printable(strings.Join(c.Why(), "\n"))
		switch {
		case c.Passed:
		case c.Error != "":
			s.Errors++
			t.Error = why
		default:
			s.Failures++
			t.Failure = why
		}
		if !c.Passed {
			t.Output = printable(strings.Join(c.Events, "\n"))
			if c.Session != "" {
				t.Output = "session " + c.Session + "\n" + t.Output
			}
		}
		s.Cases = append(s.Cases, t)
	}
	return junit.Write(e.junit, suites)
}

// printable returns lines without characters that steer a terminal.
func printable(lines string) string {
	list := strings.Split(lines, "\n")
	for i, line := range list {
		list[i] = eventtext.Printable(line)
	}
	return strings.Join(list, "\n")
}

func writeJSON(file string, v any) error {
	if file == "" {
		return nil
	}
	data, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = wholefile.Write(file, append(data, '\n'))
	}
	return exit.Other.As(err)
}

// The result as the kit has it. A status is 1 for passed and 2 for failed.
type kitResult struct {
	ID      string       `json:"eval_set_result_id"`
	Name    string       `json:"eval_set_result_name"`
	Set     string       `json:"eval_set_id"`
	Cases   []kitCase    `json:"eval_case_results"`
	Created kitTimestamp `json:"creation_timestamp"`
}

type kitTimestamp float64

type kitCase struct {
	Set     string      `json:"eval_set_id"`
	ID      string      `json:"eval_id"`
	Status  int         `json:"final_eval_status"`
	Overall []kitMetric `json:"overall_eval_metric_results"`
	Turns   []struct{}  `json:"eval_metric_result_per_invocation"`
	Session string      `json:"session_id"`
	User    string      `json:"user_id"`
}

type kitMetric struct {
	Name      string  `json:"metric_name"`
	Threshold float64 `json:"threshold"`
	Score     float64 `json:"score"`
	Status    int     `json:"eval_status"`
}

var notInKitID = lazyregexp.New(`[^a-zA-Z0-9_]`)

// writeKitResult writes the result as the kit does. The scores of turns are not in it; those of cases are.
func (e *evaluation) writeKitResult(result *eval.Result) error {
	if e.kitResult == "" {
		return nil
	}
	status := func(passed bool) int {
		if passed {
			return 1
		}
		return 2
	}
	created := float64(result.Began.UnixMicro()) / 1e6
	set := func(c *eval.CaseResult) string { // a file of another form is a set of its name
		name := cmp.Or(c.Set, strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File)))
		return notInKitID.ReplaceAllString(name, "_")
	}
	out := kitResult{Created: kitTimestamp(created), Cases: []kitCase{}}
	for i := range result.Cases {
		c := &result.Cases[i]
		out.Set = cmp.Or(out.Set, set(c))
		k := kitCase{
			Set:     set(c),
			ID:      c.Case,
			Status:  status(c.Passed),
			Overall: []kitMetric{},
			Turns:   []struct{}{},
			Session: c.Session,
			User:    c.User,
		}
		for n := range c.Scores {
			s := &c.Scores[n]
			k.Overall = append(k.Overall, kitMetric{
				Name:      s.Label(),
				Threshold: s.Threshold,
				Score:     s.Score,
				Status:    status(s.Passed),
			})
		}
		out.Cases = append(out.Cases, k)
	}
	out.ID = fmt.Sprintf("%s_%s_%d", notInKitID.ReplaceAllString(e.app, "_"), out.Set, result.Began.UnixNano()/int64(time.Millisecond))
	out.Name = out.ID
	return writeJSON(e.kitResult, out)
}
