// Package serve is what the program of a plugin in a process of its own links. It is the whole
// main:
//
//	func main() { serve.Plugin(quota) }
//
// or, for a plugin with settings,
//
//	func main() { serve.WithSettings(serve.About{Name: "quota"}, quota.New) }
//
// In order, with the files: Plugin makes sure that a host has started the process, prints where
// it listens, and waits (serve.go). The host connects (gate.go), asks who the plugin is, gives it
// its settings, and opens one stream of calls (service.go, limited.go), over which log records go
// too (log.go). When the stream ends, the process does. attach.go is for plugins that a developer
// has started, such as under a debugger.
//
// What a plugin's program should do for every plugin goes here; how a call is decoded, made and answered is in package
// plugin/internal/callee.
package serve
