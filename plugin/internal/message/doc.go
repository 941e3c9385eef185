// Package message has the messages between a host and a plugin in a process of its own, as both
// sides know them: events, model requests, errors, subscriptions and settings, encoded, decoded
// and bounded in size. The messages themselves are generated, in package wire. Package transport
// sends them.
package message
