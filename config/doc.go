// Package config makes a runner of a configuration file: it reads runner.yaml, says with file, line
// and column what is wrong in it, and opens what it names: the agent with its models, tools and
// servers, the plugins, the store of sessions and the store of artifacts.
//
// The command runner is made of this package, and any program can be:
//
//	c, err := config.Load(ctx, "runner.yaml")
//	…
//	parts, err := c.Open(ctx, config.Options{})
//	…
//	defer parts.Close(ctx)
//	r, err := runner.New(runner.Options{Agent: parts.Agent, Sessions: parts.Sessions, Plugins: parts.Plugins})
//	…
//	defer r.Close(ctx)
//
// The keys of a file, with what they mean, are in its JSON Schema: Schema returns it, and "runner
// config schema" prints it. Paths in a file are relative to the file's directory. Environment
// variables in it are not expanded; keys of models and servers are read from variables that the
// file names, so that no secret stands in it.
//
// A new key of runner.yaml: a field with its tags in config.go, agent.go, plugin.go or the file named after the section
// (the tags make the schema and the errors about unknown keys), and what is wrong with a value in that file's check
// function. A new kind of plugin: a field of pluginConfig and a row of kinds in kinds.go. A kind of store of your own
// needs no change here: Options.Stores.
package config
