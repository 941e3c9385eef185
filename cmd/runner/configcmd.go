package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

func (p *program) configCommand() *cobra.Command {
	policies := false
	schemaOf := &cobra.Command{
		Use: "schema", Short: "Print the configuration's JSON Schema, for editors", Args: arguments(cobra.NoArgs),
		Long: `Print the JSON Schema of configurations, or that of policies of the kind guardrail. Editors with a YAML
language server complete and check a file that names its schema in its first line:

  # yaml-language-server: $schema=policy.schema.json`,
		Example: `  runner config schema > runner.schema.json
  runner config schema --policy > policy.schema.json`,
		RunE: func(*cobra.Command, []string) error {
			if policies {
				return p.printSchema(policy.Schema())
			}
			return p.printSchema(schema())
		},
	}
	schemaOf.Flags().BoolVar(&policies, "policy", false, "print the schema of the guardrail's policies")
	return group(&cobra.Command{Use: "config", Short: "Check a configuration, or print its schema"},
		&cobra.Command{
			Use: "check", Short: "Check the configuration and everything it names", Args: arguments(cobra.NoArgs),
			Long: `Check the configuration and everything it names: the form, the agents, their tools, models' files, each
plugin. What is allowed but hardly meant is a warning. No store is opened, no server is started, no
model is asked, and no key is needed. Plugins that are commands are not started either: their files
are compared with the digests that there are; their settings are checked when they start. The last line
on standard error names the environment variables with keys that it needs when it runs, set or not.`,
			RunE: func(cmd *cobra.Command, _ []string) error { return p.checkConfig(cmd.Context()) },
		},
		schemaOf)
}

func (p *program) checkConfig(ctx context.Context) error {
	c, err := p.loadConfig(ctx)
	if err != nil {
		return err
	}
	if c.source.Name() == "" {
		return exitUsage.errorf("there is no %s here; name a configuration with --config", defaultConfig)
	}
	plugins, err := c.plugins(ctx, lent{log: p.log, artifacts: c.dryArtifacts(), dry: true})
	b := p.builder(ctx, c, true, c.dryArtifacts(), nil)
	if c.Agent != nil {
		_, bad := b.agent()
		err = errors.Join(bad, err)
	}
	if err != nil {
		return err
	}
	for _, advice := range slices.Concat(plugin.Advise(plugins...), c.uncheckedSummaries(), c.unguarded(), c.unknownTools()) {
		p.note("%s: warning: %s", c.source.Name(), advice)
	}
	if c.Agent == nil {
		p.note("%s: warning: no agent is configured, so run and chat have nobody who answers", c.source.Name())
	} else {
		for _, name := range b.unused() {
			p.note("%s: warning: no agent uses %s", c.source.Name(), name)
		}
	}
	var unstarted []string
	for i := range c.Plugins {
		if c.Plugins[i].process() {
			unstarted = append(unstarted, c.Plugins[i].Name)
		}
	}
	if len(unstarted) > 0 {
		p.note("%s: not started here, so their settings are checked when they are: %s", c.source.Name(), strings.Join(unstarted, ", "))
	}
	if needs := b.needs(); len(needs) > 0 {
		p.note("%s: when it runs, it needs: %s", c.source.Name(), strings.Join(needs, ", "))
	}
	if err := closePlugins(ctx, plugins); err != nil {
		return exitPlugin.as(err)
	}
	_, err = fmt.Fprintf(p.out, "%s: ok, %d plugins\n", c.source.Name(), len(c.Plugins))
	return err
}

// schema returns the JSON Schema of the configuration, made from its types.
func schema() (*jsonschema.Schema, error) {
	agents := &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Ref: "#/$defs/agent"}}
	s, err := jsonschema.For[config](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Duration](): {Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`},
		reflect.TypeFor[[]agentConfig](): agents, // which have agents
		reflect.TypeFor[size]():          {Types: []string{"integer", "string"}, Pattern: sizeForm.String()},
		reflect.TypeFor[pluginFile](): {Types: []string{"string", "object"}, MinProperties: jsonschema.Ptr(1), MaxProperties: jsonschema.Ptr(1),
			AdditionalProperties: &jsonschema.Schema{Type: "string", Pattern: sha256Digits.String()}},
	}})
	if err != nil {
		return nil, err
	}
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "Configuration of runner"
	s.Defs = map[string]*jsonschema.Schema{"agent": s.Properties["agent"]}
	s.Properties["agent"] = &jsonschema.Schema{Ref: "#/$defs/agent", Description: s.Defs["agent"].Description}
	for _, k := range modelKinds {
		s.Properties["models"].Items.OneOf = append(s.Properties["models"].Items.OneOf, &jsonschema.Schema{Required: []string{k.name}})
	}
	item := s.Properties["plugins"].Items
	item.Properties["on_error"].Enum = []any{onErrors[0], onErrors[1]}
	item.DependentRequired = map[string][]string{}
	item.DependentSchemas = map[string]*jsonschema.Schema{}
	for _, key := range commandKeys {
		if slices.Contains(startKeys, key) {
			item.DependentRequired[key] = []string{processKind}
		} else {
			item.DependentSchemas[key] = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Required: []string{processKind}}, {Required: []string{attachKind}}}}
		}
	}
	for _, k := range kinds {
		item.OneOf = append(item.OneOf, &jsonschema.Schema{Required: []string{k.name}})
	}
	return s, nil
}

func (p *program) printSchema(s *jsonschema.Schema, err error) error {
	if err != nil {
		return exitOther.as(err)
	}
	data, err := json.Marshal(s, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return exitOther.as(err)
	}
	_, err = fmt.Fprintf(p.out, "%s\n", data)
	return err
}
