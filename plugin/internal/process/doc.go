// Package process starts a plugin's process, and ends it. In order, with the files:
//
//  1. Start (process.go) compares the executable and the files with their digests (executable.go,
//     digests.go), makes a private directory for the socket (dir.go) and the environment
//     (environment.go).
//  2. It starts the process in a session and, on Linux, in namespaces of its own (spawn.go,
//     isolation.go), with limits set before its first instruction, from a sealed copy if the
//     executable is pinned (image_linux.go).
//  3. It finds the line on standard output that says where the plugin listens (handshake.go,
//     handshake_scan.go), connects, and makes sure that the plugin is at the other end.
//     Everything else that the process prints is logged (output.go, stdio.go).
//  4. Stop (end.go) asks the process to end, kills it if it does not, and releases everything.
//     Explain and Died say why a process did not start, or why it ended.
package process
