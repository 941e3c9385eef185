package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// policyBenchLine is what was measured of a rule, or of all.
type policyBenchLine struct {
	What     string  `json:"what"`
	Micros   float64 `json:"micros"` // the median
	MicrosKB float64 `json:"microsPerKB"`
	Allocs   float64 `json:"allocsPerOp"`
	Findings int     `json:"findings"`
	Times    int     `json:"times"`
	Silent   string  `json:"silent,omitzero"` // why there was nothing to measure
}

// policyBenchReport is what policy bench writes.
type policyBenchReport struct {
	Policy   string            `json:"policy"`
	Revision string            `json:"revision"`
	Load     float64           `json:"loadMillis"`
	Text     string            `json:"text"`
	Bytes    int               `json:"bytes"`
	Stage    policy.Stage      `json:"stage"`
	Lines    []policyBenchLine `json:"lines"`
}

// measure judges the text again and again.
func (l *policyBenchLine) measure(ctx context.Context, d time.Duration, pol *policy.Policy, stage policy.Stage, scope policy.Scope, text string) error {
	v := pol.Judge(stage, scope, text) // what is made once is made now
	if v.Err != nil {
		return exitOther.errorf("%s: the text cannot be judged: %w", l.What, v.Err)
	}
	l.Findings = len(v.Findings)
	took := make([]time.Duration, 0, 1<<18)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for began := time.Now(); time.Since(began) < d && len(took) < cap(took); {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		start := time.Now()
		pol.Judge(stage, scope, text)
		took = append(took, time.Since(start))
	}
	runtime.ReadMemStats(&after)
	slices.Sort(took)
	l.Times = len(took)
	l.Micros = float64(took[len(took)/2].Nanoseconds()) / 1000
	l.MicrosKB = l.Micros / (float64(len(text)) / 1024)
	l.Allocs = float64(after.Mallocs-before.Mallocs) / float64(l.Times)
	return nil
}

func (p *program) writeBench(b *policyBench, r policyBenchReport) error {
	if b.json || p.jsonl {
		return p.writeJSON(r)
	}
	fmt.Fprintf(p.out, "%s, %d bytes, at stage %s, for %v a measurement; %s, %s/%s\n", printable(r.Text), r.Bytes, r.Stage, b.time, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(p.out, "policy %s, revision %s: loaded in %.2f ms\n\n", printable(r.Policy), r.Revision, r.Load)
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "what\tµs/op\tµs/KB\tallocs/op\tfindings\ttimes\t")
	for _, l := range r.Lines {
		if l.Silent == "" {
			fmt.Fprintf(w, "%s\t%.1f\t%.2f\t%.1f\t%d\t%d\t\n", printable(l.What), l.Micros, l.MicrosKB, l.Allocs, l.Findings, l.Times)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, l := range r.Lines {
		if l.Silent != "" {
			fmt.Fprintf(p.out, "%s was not measured: %s\n", printable(l.What), printable(l.Silent))
		}
	}
	return nil
}

// prose is 64 KB of plain text as people write it: names, numbers and dates that are nobody's, nothing disguised.
var prose = strings.Repeat(`The boat left the quay a little after nine, with eleven people on board and room for twenty more. Nobody had
asked where it would go first, since it had gone to the same two islands every morning for as long as anybody in the
village could remember. The larger one has a church, a school with three rooms and a shop; the smaller one has sheep.

"Is there a way to see the lighthouse?" a woman asked. The skipper thought about it. There was, he said, but it takes
40 minutes on foot, the path is steep, and the keeper likes his lunch. Of the 250 who had asked him last summer, some
60 had gone, and 12 of those had been let in. She wrote that down in a small book, with the price of the ticket (7.50).

At the school they were learning about tides: why the water comes twice a day, how the moon pulls at it, and what a
harbour master has to know before he lets a ship in. One of the children had built a model out of wood, string and an
old clock. It showed high water correctly for a week or so, and then it was wrong by more and more, which the teacher
said was the best thing about it, because now they could find out why.

`, 1<<6)[:64<<10]
