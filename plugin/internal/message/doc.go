// Package message has the messages between a host and a plugin in a process of its own, as both
// sides know them: events, model requests, errors, subscriptions and settings, encoded, decoded
// and bounded in size. The messages themselves are generated, in package wire. Package transport
// sends them.
//
// A new message or field: plugin.proto in plugin/remote/wire, its encoding and decoding here, and its bound in bounds.go. A
// new field of plugin.Plugin: Subscription and Hooks in subscription.go.
package message
