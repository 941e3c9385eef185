package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/terminal"
	"github.com/plughook/plughook/yamlfile"
)

// flagError makes cobra's error about a flag one that helps.
func flagError(cmd *cobra.Command, err error) error {
	var malformed *pflag.InvalidSyntaxError
	var none *pflag.NotExistError
	if errors.As(err, &malformed) || errors.As(err, &none) &&
		strings.ContainsFunc(none.GetSpecifiedName()+none.GetSpecifiedShortnames(), unicode.IsSpace) {
		// The argument is not quoted: it may be a key.
		return exit.Usage.Errorf("an argument begins with - and is not a flag; put -- before a text (%s --help lists the flags)", cmd.CommandPath())
	}
	hint := ""
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		hint = yamlfile.Guess(name, names)
	}
	return exit.Usage.Errorf("%w%s (%s --help lists the flags)", err, hint, cmd.CommandPath())
}

// NoArgs checks that a command has no arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	switch {
	case strings.HasSuffix(args[0], ".yaml") || strings.HasSuffix(args[0], ".yml"):
		hint = fmt.Sprintf("; --config %s names a configuration", args[0])
	case strings.HasPrefix(name(cmd), "session "):
		hint = fmt.Sprintf("; --session %s names a session", args[0])
	}
	return exit.Usage.Errorf("%s takes no arguments%s (usage: %s)", name(cmd), hint, cmd.UseLine())
}

// Args checks how many arguments a command has: at least and at most so many, most < 0 being any
// number. want says what they are, for who gives too few or too many.
func Args(least, most int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		return exit.Usage.Errorf("%s (usage: %s)", want, cmd.UseLine())
	}
}

// Choice defines a flag whose value is one of a list. A shell completes it; CheckChoice checks it.
func Choice(cmd *cobra.Command, value *string, name, standard, usage string, values []string) {
	cmd.Flags().StringVar(value, name, standard, usage+strings.Join(values, ", "))
	complete := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic(err) // the flag was defined above
	}
}

// CheckChoice returns an error if a flag has none of the values that it may have.
func CheckChoice(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	list := "one of " + strings.Join(values, ", ")
	if len(values) == 2 {
		list = values[0] + " or " + values[1]
	}
	return exit.Usage.Errorf("--%s %q: it is %s%s", flag, value, list, yamlfile.Guess(value, values))
}

// name is what a command is called, without the program's name.
func name(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// Group returns a command that only has others. Without one of them, or with one that is not known,
// it is an error; cobra would print the help and succeed. The help of one that stands deeper, as in
// "runner rewind --help", is the page of that one.
func Group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subs...)
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var names []string
		for _, s := range subs {
			names = append(names, s.Name())
		}
		if len(args) == 0 {
			return exit.Usage.Errorf("%s needs one of: %s", cmd.CommandPath(), strings.Join(names, ", "))
		}
		hint := yamlfile.Guess(args[0], names)
		if deeper := find(cmd.Root(), args[0]); deeper != nil {
			hint = fmt.Sprintf("; did you mean %q?", deeper.CommandPath())
		}
		return exit.Usage.Errorf("unknown command %q for %s%s (%s --help lists the commands)", args[0],
			cmd.CommandPath(), hint, cmd.CommandPath())
	}
	help := cmd.HelpFunc()
	cmd.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c == cmd && c.Flags().NArg() > 0 {
			if deeper := find(c.Root(), c.Flags().Arg(0)); deeper != nil {
				c = deeper
			}
		}
		wrapped(c, func() { help(c, args) })
	})
	return cmd
}

// wrapped has a command write to a terminal with lines that are no longer than it is wide. Examples stay as they are.
func wrapped(cmd *cobra.Command, write func()) {
	out, ok := cmd.OutOrStdout().(*terminal.Output)
	if !ok || out.Columns() <= 0 {
		write()
		return
	}
	var text strings.Builder
	root := cmd.Root()
	root.SetOut(&text)
	write()
	root.SetOut(out)
	rest, examples := text.String(), cmd.Example
	if before, after, ok := strings.Cut(rest, examples); ok && examples != "" {
		fmt.Fprint(out, terminal.Wrap(before, out.Columns()), examples)
		rest = after
	}
	fmt.Fprint(out, terminal.Wrap(rest, out.Columns()))
}

// find returns the command of a name that stands in a group, nil if there is none, or more than one.
func find(root *cobra.Command, name string) (found *cobra.Command) {
	for _, group := range root.Commands() {
		for _, c := range group.Commands() {
			if c.Name() != name {
				continue
			}
			if found != nil {
				return nil
			}
			found = c
		}
	}
	return found
}
