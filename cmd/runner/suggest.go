package main

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// meant returns "; did you mean …?" with the word that is most like the given one, "" if none is.
func meant(word string, words []string) string {
	best, least := "", max(2, len(word)/3)+1
	for _, w := range words {
		d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(w), nil)
		if strings.ReplaceAll(word, "-", "_") == strings.ReplaceAll(w, "-", "_") {
			d = 0
		}
		if d < least && d < len(w) {
			best, least = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// flagError makes cobra's error about a flag one that helps.
func flagError(cmd *cobra.Command, err error) error {
	hint := ""
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		hint = meant(name, names)
	}
	return exitUsage.errorf("%w%s (%s --help lists what there is)", err, hint, cmd.CommandPath())
}

// arguments is cobra's check of a command's arguments with a hint.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return exitUsage.errorf("%w (usage: %s)", err, cmd.UseLine())
		}
		return nil
	}
}

// group returns a command that only has others; cobra would greet a wrong one with the help and success.
func group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subs...)
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var names []string
		for _, s := range subs {
			names = append(names, s.Name())
		}
		if len(args) == 0 {
			return exitUsage.errorf("%s needs one of: %s", cmd.CommandPath(), strings.Join(names, ", "))
		}
		return exitUsage.errorf("unknown command %q for %s%s (%s --help lists what there is)", args[0], cmd.CommandPath(), meant(args[0], names), cmd.CommandPath())
	}
	return cmd
}
