// Package sandbox starts the process of a plugin apart from this one and from others, and ends it. In order, with
// the files:
//
//  1. Start (process.go) decides how far the process can be isolated here: never less than was possible once
//     (isolation.go).
//  2. On Linux it starts this program once more, in namespaces and in a control group of their own (spawn_linux.go,
//     cgroup_linux.go). Package inside then prepares the process from within and executes the plugin.
//  3. When the process has ended, what is left of its process group and its control group is killed.
//
// A new limit: a field of Limits (and of remote.Limits), set by inside.Orders or by cgroup_linux.go. A new namespace:
// spawn_linux.go attributes, and what has to be mounted in it in inside_linux.go.
package sandbox
