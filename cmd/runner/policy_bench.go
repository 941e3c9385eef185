package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

// policyBench is what policy bench is asked for.
type policyBench struct {
	file string
	json bool
	time time.Duration
	place
}

func (p *program) policyBenchCommand() *cobra.Command {
	b := &policyBench{}
	cmd := &cobra.Command{
		Use: "bench [FILE]", Short: "Measure what a policy costs",
		Long: `Measure how long a policy takes to judge a text: that of FILE ("-" is standard input), or 64 KB of prose in which nothing
is to be found. Measured are each rule alone (one with a detector costs what that does; rules with the same detector
share it) and all together, one text after the other; times are the median, allocations the mean of one text. Loading
is measured once, with the file's first reading and all that is made for it: what a process pays as it starts.

Rules that are not about the stage or the scope that flags say are named, and not measured. A stream is looked at as it
grows, which this does not measure.`,
		Example: `  runner policy bench
  runner policy bench --policy policy.yaml --stage tool_result --tool fetch page.txt`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return p.benchPolicy(cmd.Context(), b, args) },
	}
	f := cmd.Flags()
	f.StringVar(&b.file, "policy", "", policyUsage)
	f.BoolVar(&b.json, "json", false, jsonUsage)
	f.DurationVar(&b.time, "time", time.Second, "how long each measurement takes")
	b.flags(f)
	return cmd
}

func (p *program) benchPolicy(ctx context.Context, b *policyBench, args []string) error {
	if b.time <= 0 {
		return exitUsage.errorf("--time %v: it is above 0", b.time)
	}
	stage, scope, err := b.of(p)
	if err != nil {
		return err
	}
	report := policyBenchReport{Stage: stage, Text: "built-in prose"}
	text := prose
	if len(args) > 0 {
		if text, err = p.sample(ctx, args[0]); err != nil {
			return err
		}
		report.Text = args[0]
	}
	began := time.Now()
	pol, err := policyOf(ctx, b.file)
	if err != nil {
		return err
	}
	report.Load = float64(time.Since(began).Microseconds()) / 1000
	report.Policy, report.Revision, report.Bytes = pol.Name(), pol.Revision(), len(text)
	for _, f := range pol.Judge(stage, scope, text).Findings {
		if f.Rule == "limits.max_bytes" {
			return exitUsage.errorf("%s has %d bytes, more than the policy judges (limits.max_bytes); take a shorter text", report.Text, len(text))
		}
	}
	for _, r := range pol.Rules() {
		l := policyBenchLine{What: r.ID, Silent: r.Silent(stage, scope)}
		if l.Silent == "" {
			if err := l.measure(ctx, b.time, pol.Only(r.ID), stage, scope, text); err != nil {
				return err
			}
		}
		report.Lines = append(report.Lines, l)
	}
	all := policyBenchLine{What: "all rules"}
	if err := all.measure(ctx, b.time, pol, stage, scope, text); err != nil {
		return err
	}
	report.Lines = append(report.Lines, all)
	return p.writeBench(b, report)
}

// sample reads the text to measure with.
func (p *program) sample(ctx context.Context, name string) (string, error) {
	in, err := p.openInput(ctx, name)
	if err != nil {
		return "", exitUsage.as(err)
	}
	defer in.close() // it was only read
	data, err := in.all(maxMessage)
	if err == nil && len(data) == 0 {
		err = exitUsage.errorf("%s is empty, so there is nothing to measure", in.name)
	}
	return string(data), exitUsage.as(err)
}
