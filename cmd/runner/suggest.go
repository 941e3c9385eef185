package main

import (
	"errors"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plughook/plughook/yamlfile"
)

// flagError makes cobra's error about a flag one that helps.
func flagError(cmd *cobra.Command, err error) error {
	var malformed *pflag.InvalidSyntaxError
	var none *pflag.NotExistError
	if errors.As(err, &malformed) || errors.As(err, &none) && strings.ContainsFunc(none.GetSpecifiedName()+none.GetSpecifiedShortnames(), unicode.IsSpace) {
		// It may be a key, and so is not quoted.
		return exitUsage.errorf("an argument begins with - and is no flag; if it is a text, put -- before it (%s --help lists the flags)", cmd.CommandPath())
	}
	hint := ""
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		hint = yamlfile.Guess(name, names)
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
		return exitUsage.errorf("unknown command %q for %s%s (%s --help lists what there is)", args[0], cmd.CommandPath(), yamlfile.Guess(args[0], names), cmd.CommandPath())
	}
	return cmd
}
