// Package remote runs plugins in processes of their own. A plugin in a process is a plugin.Plugin
// like any other: the runner cannot tell.
//
//	guard, err := remote.Start(ctx, remote.Config{Command: []string{"./guard"}})
//
// The program of such a plugin is written with package serve, or in another language by
// docs/protocol.md. This package is the host's side. In order, with the files in which it
// happens:
//
//  1. Start (start.go) checks the configuration (config.go), starts the process (package
//     plugin/internal/process, with pinned, privatedir and sandbox for pinned files, sockets,
//     isolation and limits), connects to it, gives it its settings, learns which hooks it has, and opens one
//     stream for all calls (stream.go).
//  2. A Host (host.go) looks after that process: it is the first generation. watch.go sends
//     heartbeats and sees the process end.
//  3. A hook that the runner calls goes through calls.go: it gets a timeout, finds the generation
//     that serves its invocation (affinity.go), and asks the breaker of its hook whether it may
//     pass (breaker.go).
//  4. conn.go encodes the call, without what the plugin has been sent before (package
//     plugin/internal/caller), sends it, and waits for the answer. Many calls wait at once.
//  5. If the process ends by itself, the calls that wait fail, and restart.go starts a
//     replacement, after a pause if that happens often. Too often, and the plugin is in
//     quarantine.
//  6. Host.Reload (reload.go) starts a process by a new configuration. The old one serves the
//     invocations that it has, and is stopped then.
//  7. Close (close.go) waits for the calls that run and stops all processes.
//
// A plugin can also be started by hand, under a debugger, and attached to (Config.Attach,
// attach.go). Loopback (loopback.go) encodes and decodes all calls of a plugin without any
// process, for tests. health.go says how a plugin is.
//
// A new setting of a plugin's process: a field of Config with its check in config.go, passed on to process.Spec if it is
// about the start. A new fault that the host has to survive: a row of faults or processFaults in the tests.
package remote
