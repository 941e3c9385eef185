// Package inside prepares a plugin's process from within, on Linux. Some of what isolates a
// plugin can be done only by the new process itself: mounting a /proc of its own, limiting its
// resources, giving up its privileges.
//
// So the host does not start the plugin's executable, but its own once more, under the name Name
// and in the namespaces that the plugin is to have. This package's init function notices that
// name, does what the Orders say, and executes the plugin in its place: the process is the same,
// and nothing of the host's program is left in it. Every program that can start plugins imports
// this package, so each has that init function.
package inside
