package evaluate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/eval"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/internal/input"
)

func (e *evaluation) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff BEFORE AFTER",
		Short: "Compare two results of eval",
		Long: `Compare two files that eval has written with --result: which cases pass now and did not before, or the other way
round, which scores have changed, and at which event the first runs of a case part. With --jsonl there is an object for each
case that differs. The exit code is 1 if a case passes less often than before, or is gone though it has passed.`,
		Example: `  runner eval diff before.json after.json`,
		Args:    cli.Args(2, 2, "which results? Name the one before and the one after"),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := readResult(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			after, err := readResult(cmd.Context(), args[1])
			if err != nil {
				return err
			}
			return e.writeDifferences(cmd.Context(), before, after)
		},
	}
}

func readResult(ctx context.Context, name string) (*eval.Result, error) {
	data, err := input.ReadFile(ctx, name, maxFile)
	if err != nil {
		return nil, exit.Usage.As(err)
	}
	r := &eval.Result{}
	if err := json.Unmarshal(data, r); err != nil || r.Cases == nil {
		return nil, exit.Usage.Errorf("%s: this is no result; name a file that eval has written with --result", name)
	}
	return r, nil
}

func (e *evaluation) writeDifferences(ctx context.Context, before, after *eval.Result) error {
	list, err := eval.Compare(ctx, before, after)
	if err != nil {
		return exit.OfRun(err)
	}
	if e.JSONL {
		for _, d := range list {
			if err := e.WriteJSON(d); err != nil {
				return err
			}
		}
	} else {
		for _, d := range list {
			line := func(indent, format string, args ...any) {
				fmt.Fprintln(e.Out, indent+eventtext.OneLine(fmt.Sprintf(format, args...), 500))
			}
			line("", "%s: %s: passed %s before, %s now", named(d.File), named(d.Case), d.Was, d.Is)
			for _, s := range d.Scores {
				line("  ", "%s: %s before, %s now", s.Name, scoreText(s.Was), scoreText(s.Is))
			}
			if d.Event > 0 {
				line("  ", "the first runs part at event %d", d.Event)
				line("    ", "before: %s", d.Before)
				line("    ", "now:    %s", d.After)
			}
		}
		if len(list) == 0 {
			fmt.Fprintln(e.Out, "no case differs")
		}
	}
	worse := 0
	for i := range list {
		if list[i].Worse() {
			worse++
		}
	}
	if worse > 0 {
		return exit.Other.Errorf("%s", phrase.Of(worse, len(before.Rates()), "case", "passes less often than before", "pass less often than before"))
	}
	return nil
}

func scoreText(score *float64) string {
	if score == nil {
		return "none"
	}
	return fmt.Sprintf("%.2f", *score)
}
