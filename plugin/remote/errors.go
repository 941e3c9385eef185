package remote

import (
	"errors"
	"github.com/plughook/plughook/plugin/internal/pinned"
	"github.com/plughook/plughook/plugin/internal/sandbox"

	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/process"
)

// Why a plugin does not start. A new attempt with the same files and settings would fail in the
// same way.
var (
	// ErrDigest says that a file is not the one that is pinned.
	ErrDigest = pinned.ErrDigest
	// ErrSettings says that the plugin refuses its settings. The error text has the path of each
	// bad value.
	ErrSettings = message.ErrSettings
	// ErrProtocol says that the plugin speaks another protocol, or another version of it.
	ErrProtocol = process.ErrProtocol
)

// ErrIsolation says that a plugin does not start because it cannot be isolated: see
// Config.Isolation. A later attempt may succeed.
var ErrIsolation = sandbox.ErrIsolation

// Why a call of a hook fails. Besides, it may fail with plugin.ErrTimeout, plugin.ErrPanic,
// plugin.ErrOutcome, or with what the hook returned.
var (
	// ErrGone says that the plugin's process has ended, or its connection broke, before it
	// answered.
	ErrGone = process.ErrGone
	// ErrTooLarge says that the call or the answer is larger than Config.MaxMessage allows.
	ErrTooLarge = message.ErrTooLarge
	// ErrBreaker says that the hook was not called, because it failed too often just before.
	ErrBreaker = errors.New("remote: the hook failed too often and is not called for a while")
	// ErrQuarantined says that the plugin's process is not started again, because it has ended
	// too often, or is not the one that the configuration asks for. Host.Reload ends that.
	ErrQuarantined = errors.New("remote: the plugin is in quarantine")
	// ErrClosed says that the plugin was closed.
	ErrClosed = errors.New("remote: the plugin is closed")
)
