// Package plughook is the root of a plugin-driven runner for LLM agents. It holds no code; the house is:
//
//	cmd/runner           the command: configuration, subcommands, exit codes
//	examples             programs to begin with
//	plugin/plugintest    the tests that every plugin should pass, and scripts to test what one does
//	runner               the one path: an agent, plugins and a session become a run
//	plugins/…            ready-made plugins: logger, earlyexit, retry, rewind, compaction, uploads,
//	                     guardrail, audit
//	plugin               Plugin, Outcome, Timeout, FailOpen
//	plugin/remote        plugins in a process of their own: Start, Serve, Loopback
//	agent                Agent; agent/llm asks a model and calls tools, agent/workflow runs agents one after
//	                     the other, at once or in a loop, agent/replay plays a recorded session
//	tool                 Tool, Call; tool/command has tools that are commands, tool/mcp those of MCP servers
//	artifact             files beside the log; artifact/artifacttest is the contract of artifact.Service, as tests
//	model                Model, Request, Response; model/gemini, model/openai, model/script; internal/geminitest is
//	                     a Gemini server for tests
//	session              Event, Service, Live, State; Memory
//	session/sqlite       sessions in one file
//	session/postgres     sessions in PostgreSQL
//	session/sessiontest  the contract of session.Service, as tests
//	yamlfile             YAML whose errors have positions
//	internal/child       processes that run tools: environment, process group, end
//
// Imports point down that list only.
package plughook
