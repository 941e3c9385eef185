// Package process starts a plugin's process, talks to it until it is ready, and ends it. In order, with the files:
//
//  1. Start (process.go) compares the executable and the files with their digests (package pinned), makes a private
//     directory for the socket (package privatedir) and the environment (environment.go).
//  2. It starts the process (package sandbox): in a session, on Linux in namespaces of its own, with limits.
//  3. It finds the line on standard output that says where the plugin listens (handshake.go, handshake_scan.go),
//     connects, and makes sure that the plugin is at the other end. Everything else that the process prints is logged
//     (output.go, stdio.go).
//  4. Stop (end.go) asks the process to end, kills it if it does not, and releases everything. Explain and Died say
//     why a process did not start, or why it ended.
//
// A new setting of a plugin's process: a field of Spec (spec.go) and of remote.Config, with its check in Spec.Check;
// what it does is here or, if it is about isolation or limits, in package sandbox.
package process
