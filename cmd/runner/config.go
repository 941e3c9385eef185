package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

func (p *program) configCommand() *cobra.Command {
	policies := false
	schema := &cobra.Command{
		Use:   "schema",
		Short: "Print the configuration's JSON Schema, for editors",
		Args:  cli.NoArgs,
		Long: `Print the JSON Schema of configurations, or that of policies of the kind guardrail.
Editors with a YAML language server complete and check a file that names its schema in its first
line:

  # yaml-language-server: $schema=policy.schema.json`,
		Example: `  runner config schema > runner.schema.json
  runner config schema --policy > policy.schema.json`,
		RunE: func(*cobra.Command, []string) error {
			if policies {
				return p.printSchema(policy.Schema())
			}
			return p.printSchema(config.Schema())
		},
	}
	schema.Flags().BoolVar(&policies, "policy", false, "print the schema of the guardrail's policies")
	check := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and everything it names",
		Args:  cli.NoArgs,
		Long: `Check the configuration and everything it names: its form, the agents, their tools,
models' files, each plugin. What is allowed but probably not meant is a warning. Of an
SQLite store the directory is looked at; no store is opened, no server is started, no model is
asked, and no key is needed. Plugins that are commands
are not started: their files are compared with the digests that there are, and their settings are
checked when they start. The last line on standard error names the environment variables that are
needed when the configuration runs, set or not.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.checkConfig(cmd.Context()) },
	}
	return cli.Group(&cobra.Command{Use: "config",
		Short: "Check a configuration, or print its schema"}, check, schema)
}

func (p *program) checkConfig(ctx context.Context) error {
	c, err := p.NeedConfig(ctx)
	if err != nil {
		return err
	}
	report, err := c.Check(ctx, config.Options{Log: p.Log})
	if report == nil {
		return exit.OfConfig(err)
	}
	for _, warning := range report.Warnings {
		p.Note("%s: warning: %s", c.Name(), warning)
	}
	if len(report.NotStarted) > 0 {
		p.Note("%s: these plugins are not started here, so their settings are not checked: %s", c.Name(),
			strings.Join(report.NotStarted, ", "))
	}
	if len(report.Needs) > 0 {
		p.Note("%s: when it runs, it needs: %s", c.Name(), strings.Join(report.Needs, ", "))
	}
	if keys := report.NotForCallers; len(keys) > 0 && c.Server().State.Write == nil {
		p.Note("%s: the agent and plugins read these state keys, so callers of runner serve may not write them "+
			"(see server.state): %s", c.Name(), strings.Join(keys, ", "))
	}
	if err != nil {
		return exit.OfConfig(err)
	}
	_, err = fmt.Fprintf(p.Out, "%s: ok, %s\n", c.Name(), phrase.Count(len(c.Plugins()), "plugin"))
	return err
}

func (p *program) printSchema(s *jsonschema.Schema, err error) error {
	if err != nil {
		return exit.Other.As(err)
	}
	data, err := json.Marshal(s, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return exit.Other.As(err)
	}
	_, err = fmt.Fprintf(p.Out, "%s\n", data)
	return err
}
