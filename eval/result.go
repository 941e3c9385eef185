package eval

import (
	"context"
	"fmt"
	"reflect"
	"time"
)

// A Result is what came of an evaluation. As JSON it can be kept, and compared with another one.
type Result struct {
	Began   time.Time    `json:"began"`
	Seconds float64      `json:"seconds"`
	Cases   []CaseResult `json:"cases"`
	// JudgeTokens are those that judges have taken.
	JudgeTokens int `json:"judge_tokens,omitempty"`
}

// A CaseResult is what came of one run of a case.
type CaseResult struct {
	File string `json:"file"`
	Set  string `json:"set,omitempty"` // the id of the eval set
	Case string `json:"case"`
	// Repeat says which run of the case it is, from 1.
	Repeat int  `json:"repeat"`
	Passed bool `json:"passed"`
	// Error says why the case could not be run to its end.
	Error string `json:"error,omitempty"`
	// Session is the id of the session, "" if it was deleted because the case has passed.
	Session string  `json:"session,omitempty"`
	User    string  `json:"user,omitempty"` // of the session
	Scores  []Score `json:"scores"`
	Seconds float64 `json:"seconds"`
	Tokens  int64   `json:"tokens,omitempty"`
	// Cost is what the models with a known price have cost; Unpriced are the others.
	Cost     float64  `json:"cost,omitempty"`
	Unpriced []string `json:"unpriced,omitempty"`
	// Events has a line for each thing that happened.
	Events []string `json:"events"`
}

// A Score says how far an expectation, or a criterion, is met.
type Score struct {
	// Turn is the turn that it is about, 0 for all.
	Turn      int     `json:"turn,omitempty"`
	Name      string  `json:"name"`
	Score     float64 `json:"score"`
	Threshold float64 `json:"threshold"`
	Passed    bool    `json:"passed"`
	Why       string  `json:"why,omitempty"`
}

// Label names the score in a list of a case's scores.
func (s *Score) Label() string {
	if s.Turn == 0 {
		return s.Name
	}
	return fmt.Sprintf("turn %d, %s", s.Turn, s.Name)
}

// Why returns all reasons for which a case has failed.
func (r *CaseResult) Why() []string {
	var list []string
	if r.Error != "" {
		list = append(list, r.Error)
	}
	for i := range r.Scores {
		if s := &r.Scores[i]; !s.Passed {
			list = append(list, fmt.Sprintf("%s: %.2f of %.2f: %s", s.Label(), s.Score, s.Threshold, s.Why))
		}
	}
	return list
}

// A Rate says how many runs of a case have passed.
type Rate struct {
	File   string `json:"-"`
	Case   string `json:"-"`
	Passed int    `json:"passed"`
	Runs   int    `json:"runs"`
}

// Rates returns the pass rates of the cases, in their order.
func (r *Result) Rates() []Rate {
	var rates []Rate
	for _, runs := range r.byCase() {
		rates = append(rates, *rateOf(runs))
	}
	return rates
}

// byCase returns the runs of each case, in the order of the cases.
func (r *Result) byCase() [][]*CaseResult {
	var list [][]*CaseResult
	index := map[caseKey]int{}
	for i := range r.Cases {
		c := &r.Cases[i]
		n, has := index[keyOf(c)]
		if !has {
			n = len(list)
			index[keyOf(c)] = n
			list = append(list, nil)
		}
		list[n] = append(list[n], c)
	}
	return list
}

type caseKey struct{ file, id string }

func keyOf(c *CaseResult) caseKey { return caseKey{c.File, c.Case} }

// rateOf returns the rate of a case's runs, nil if there is none.
func rateOf(runs []*CaseResult) *Rate {
	if len(runs) == 0 {
		return nil
	}
	r := &Rate{File: runs[0].File, Case: runs[0].Case, Runs: len(runs)}
	for _, c := range runs {
		if c.Passed {
			r.Passed++
		}
	}
	return r
}

// A Difference is what has changed of a case between two results.
type Difference struct {
	File string `json:"file"`
	Case string `json:"case"`
	// Was and Is say how many runs passed, nil if a result does not have the case.
	Was *Rate `json:"was"`
	Is  *Rate `json:"is"`
	// Scores are those whose average over the runs has changed.
	Scores []ScoreDifference `json:"scores,omitempty"`
	// Event is the number, from 1, of the first event that is another one in the first runs, 0 if none is. Before and
	// After are its lines.
	Event  int    `json:"event,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Worse reports whether the case passes less often than before, or is gone though it has passed.
func (d *Difference) Worse() bool { return d.Was.share() > max(0, d.Is.share()) }

// share is how many of the runs have passed, -1 without a rate.
func (r *Rate) share() float64 {
	if r == nil {
		return -1
	}
	return float64(r.Passed) / float64(r.Runs)
}

func (r *Rate) String() string {
	if r == nil {
		return "-"
	}
	return fmt.Sprintf("%d of %d", r.Passed, r.Runs)
}

// A ScoreDifference is a score before and after, nil if there is none.
type ScoreDifference struct {
	Name string   `json:"name"`
	Was  *float64 `json:"was"`
	Is   *float64 `json:"is"`
}

// Compare returns the cases in which two results differ. Its error is that of the context.
func Compare(ctx context.Context, before, after *Result) ([]Difference, error) {
	// The cases of before in their order, then those that are new.
	type pair struct{ was, is []*CaseResult }
	pairs := map[caseKey]*pair{}
	var order []caseKey
	of := func(runs []*CaseResult) *pair {
		key := keyOf(runs[0])
		if pairs[key] == nil {
			pairs[key] = &pair{}
			order = append(order, key)
		}
		return pairs[key]
	}
	for _, runs := range before.byCase() {
		of(runs).was = runs
	}
	for _, runs := range after.byCase() {
		of(runs).is = runs
	}
	var list []Difference
	for _, key := range order {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		was := pairs[key].was
		is := pairs[key].is
		d := Difference{File: key.file, Case: key.id, Was: rateOf(was), Is: rateOf(is), Scores: scoreDifferences(was, is)}
		if len(was) > 0 && len(is) > 0 {
			d.firstEvent(was[0].Events, is[0].Events)
		}
		if d.Was.share() != d.Is.share() || len(d.Scores) > 0 || d.Event > 0 {
			list = append(list, d)
		}
	}
	return list, nil
}

func scoreDifferences(before, after []*CaseResult) (list []ScoreDifference) {
	type average struct {
		sum float64
		n   int
	}
	var names []string
	averages := map[string]*[2]average{} // before and after
	for side, runs := range [2][]*CaseResult{before, after} {
		for _, r := range runs {
			for i := range r.Scores {
				name := r.Scores[i].Label()
				if averages[name] == nil {
					averages[name] = &[2]average{}
					names = append(names, name)
				}
				averages[name][side].sum += r.Scores[i].Score
				averages[name][side].n++
			}
		}
	}
	mean := func(a average) *float64 {
		if a.n == 0 {
			return nil
		}
		return new(a.sum / float64(a.n))
	}
	for _, name := range names {
		d := ScoreDifference{Name: name, Was: mean(averages[name][0]), Is: mean(averages[name][1])}
		if !reflect.DeepEqual(d.Was, d.Is) {
			list = append(list, d)
		}
	}
	return list
}

// firstEvent notes where two runs part.
func (d *Difference) firstEvent(before, after []string) {
	for i := range max(len(before), len(after)) {
		line := func(list []string) string {
			if i < len(list) {
				return list[i]
			}
			return "(nothing more)"
		}
		if d.Before, d.After = line(before), line(after); d.Before != d.After {
			d.Event = i + 1
			return
		}
	}
	d.Before, d.After = "", ""
}
