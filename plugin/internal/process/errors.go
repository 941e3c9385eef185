package process

import (
	"errors"

	"google.golang.org/grpc/status"
)

var (
	// ErrGone says that a plugin's process has ended, or its connection broke, before it answered.
	ErrGone = errors.New("remote: the plugin is gone")
	// ErrProtocol says that a plugin speaks another protocol.
	ErrProtocol = errors.New("remote: the plugin speaks another protocol")
	// ErrKilled says that a process that was stopped did not end by itself.
	ErrKilled = errors.New("was killed")
)

// PluginError returns what the plugin says of an error, without what gRPC adds.
func PluginError(err error) error {
	if s, ok := status.FromError(err); ok {
		return errors.New(s.Message())
	}
	return err
}
