package hook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/examples/policies"
	"github.com/plughook/plughook/hooks/dialect"
	"github.com/plughook/plughook/hooks/settings"
)

// scope says whose settings are meant.
type scope struct{ project, user, yes bool }

func (s *scope) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&s.project, "project", false, "the settings in this directory (the default)")
	f.BoolVar(&s.user, "user", false, "your settings for all projects")
	f.BoolVarP(&s.yes, "yes", "y", false, "do not ask")
}

// directories returns the project's directory, "" for the user's settings, and the home directory.
func (s *scope) directories() (project, home string, err error) {
	if s.project && s.user {
		return "", "", exit.Usage.Errorf("--project and --user exclude each other")
	}
	if s.user {
		home, err = os.UserHomeDir()
		return "", home, err
	}
	project, err = os.Getwd()
	return project, "", err
}

var agentArgument = cli.Args(1, 1, "say which agent: "+strings.Join(dialect.Agents(), ", "))

func (p *program) installCommand() *cobra.Command {
	var s scope
	cmd := &cobra.Command{
		Use:   "install AGENT",
		Short: "Put hooks into an agent's settings",
		Long: `Install shows what it would change in the agent's settings file, asks, and writes it. Only entries of
its own are touched. If there is no configuration yet it makes one, with a policy for coding agents.`,
		Example:   "  runner hook install claude\n  runner hook install cursor --user",
		Args:      agentArgument,
		ValidArgs: dialect.Agents(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.install(cmd.Context(), args[0], s)
		},
	}
	s.flags(cmd)
	return cmd
}

func (p *program) install(ctx context.Context, name string, s scope) error {
	project, home, err := s.directories()
	if err != nil {
		return err
	}
	file, err := settings.File(name, project, home)
	if err != nil {
		return exit.Usage.As(err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if strings.ContainsAny(self, "\"\\$`\n") {
		return exit.Usage.Errorf("the path of this program, %q, cannot stand in the command of a hook: move it to another directory", self)
	}
	// The entry names the configuration: one that is found by the directory could be that of a project which the agent has
	// fetched, and let everything pass.
	config, err := p.configToName(project)
	if err != nil {
		return err
	}
	arguments := ` --config '` + strings.ReplaceAll(config, "'", `'\''`) + `'`
	change, err := settings.Plan(name, file, `"`+self+`" hook`, arguments)
	if err != nil {
		return exit.Usage.As(err)
	}
	if err := p.carryOut(ctx, change, s, "Put these hooks into "+change.File+"?"); err != nil {
		return err
	}
	if p.ConfigFile == "" {
		if err := p.makeConfig(config, self); err != nil {
			return err
		}
	}
	if len(change.Others) > 0 {
		p.Note("other hooks are on the same events; if both change a call, one change is lost: %s", strings.Join(change.Others, ", "))
	}
	p.Note("%s", change.Advice)
	return nil
}

// carryOut shows a change, asks, and writes it.
func (p *program) carryOut(ctx context.Context, c *settings.Change, s scope, question string) error {
	if string(c.Before) == string(c.After) {
		p.Note("%s stays as it is", c.File)
		return nil
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(string(c.Before)), B: difflib.SplitLines(string(c.After)),
		FromFile: c.File, ToFile: c.File, Context: 2,
	})
	if err != nil {
		return err
	}
	fmt.Fprint(p.Out, text)
	if !s.yes && !s.project && !s.user {
		if err := p.Confirm(ctx, question, "nothing was changed"); err != nil {
			return err
		}
	}
	return exit.Usage.As(c.Write())
}

const starter = `# What holds for coding agents here. "runner hook doctor" looks whether it does.
app: coding
store: "sqlite:%s"
plugins:
  - guardrail: {file: coding-agent.yaml}
  - budget:
      limits:
        - {name: calls, count: tool_calls, max: 2000, per: user, every: 24h, warn: 0.8}
`

// configToName returns the configuration of hooks in a project, or of the user's own if project is "".
func (p *program) configToName(project string) (string, error) {
	if p.ConfigFile != "" {
		return filepath.Abs(p.ConfigFile)
	}
	if project != "" {
		return filepath.Join(project, ".plughook", config.DefaultName), nil
	}
	own, err := userDirectory()
	return filepath.Join(own, config.DefaultName), err
}

// makeConfig makes a configuration and a policy, where there is none.
func (p *program) makeConfig(name, self string) error {
	directory := filepath.Dir(name)
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	// The agent does not write over the program that judges it.
	const own = "        - writes(.plughook)\n"
	policy := strings.Replace(policies.CodingAgent, own, own+"        - "+strconv.Quote("writes("+self+")")+"\n", 1)
	files := map[string]string{
		name: fmt.Sprintf(starter, filepath.Join(directory, "sessions.db")),
		filepath.Join(directory, "coding-agent.yaml"): policy,
		filepath.Join(directory, ".gitignore"):        "sessions.db*\n",
	}
	for file, text := range files {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	p.Note("made %s, with the policy coding-agent.yaml beside it: change it as you like", name)
	return nil
}

func (p *program) uninstallCommand() *cobra.Command {
	var s scope
	cmd := &cobra.Command{
		Use:       "uninstall AGENT",
		Short:     "Take the hooks out of an agent's settings",
		Long:      "Uninstall takes out what install has put in, and nothing else. The configuration and the sessions stay.",
		Args:      agentArgument,
		ValidArgs: dialect.Agents(),
		RunE: func(cmd *cobra.Command, args []string) error {
			project, home, err := s.directories()
			if err != nil {
				return err
			}
			file, err := settings.File(args[0], project, home)
			if err != nil {
				return exit.Usage.As(err)
			}
			change, err := settings.Plan(args[0], file, "", "")
			if err != nil {
				return exit.Usage.As(err)
			}
			return p.carryOut(cmd.Context(), change, s, "Take these hooks out of "+change.File+"?")
		},
	}
	s.flags(cmd)
	return cmd
}
