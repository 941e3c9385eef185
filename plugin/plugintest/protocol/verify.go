package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/plughook/plughook/plugin/internal/sandbox"
	"iter"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/plughook/plughook/plugin/internal/process"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote"
)

// A Result is what one check of Verify has found. The plugin keeps the rule if Err is nil and
// Skip is empty.
type Result struct {
	// Case names the rule.
	Case string
	// Why says what docs/protocol.md demands, and what goes wrong otherwise.
	Why string
	// Skip says why the check does not apply to this plugin; "" if it does.
	Skip string
	// Err says what the plugin does wrong.
	Err error
	// Duration is how long the check took.
	Duration time.Duration
}

// Verify checks a plugin's program, in any language, against docs/protocol.md. It starts the
// program, mostly anew for each check, and talks to it as hosts do often, and as they do seldom.
// It yields a result for each check, in order. It ends early after a failed check without which
// the others mean nothing, such as that the program starts. Package plugintest checks what the
// hooks do, of plugins in process too.
//
// The plugin is called with made-up conversations. Give it settings with which it does no harm.
func Verify(ctx context.Context, c remote.Config) iter.Seq[Result] {
	c = withDefaults(c)
	return func(yield func(Result) bool) {
		for _, check := range checks {
			result := Result{Case: check.name, Why: check.why}
			began := time.Now()
			err := check.try(ctx, c)
			result.Duration = time.Since(began)
			skip, isSkip := errors.AsType[skipped](err)
			if isSkip {
				result.Skip = string(skip)
			} else {
				result.Err = err
			}
			if !yield(result) || ctx.Err() != nil || result.Err != nil && check.essential {
				return
			}
		}
	}
}

// skipped is an error that says why a check does not apply to a plugin.
type skipped string

// Error implements error.
func (s skipped) Error() string { return string(s) }

// check is one rule, and how to see whether a plugin keeps it.
type check struct {
	name      string
	why       string
	essential bool // if it fails, the other checks mean nothing
	stream    bool // it is about the stream of calls, so it runs again with frames
	run       func(ctx context.Context, c target) error
}

// target is the plugin that is checked.
type target struct {
	remote.Config
	frames bool // messages go as frames, and not over Serve
}

// spec returns the part of the configuration that says which process to start.
func (c target) spec() process.Spec {
	name := c.Name
	if name == "" && len(c.Command) > 0 {
		name = filepath.Base(c.Command[0])
	}
	return process.Spec{
		Name:       name,
		Command:    c.Command,
		Dir:        c.Dir,
		Env:        c.Env,
		SHA256:     c.SHA256,
		Files:      c.Files,
		Network:    c.Network,
		Limits:     sandbox.Limits(c.Limits),
		MaxMessage: c.MaxMessage,
	}
}

// withDefaults returns the configuration with the defaults of the fields that a probe uses.
func withDefaults(c remote.Config) remote.Config {
	c.StartTimeout = cmp.Or(c.StartTimeout, 10*time.Second)
	c.MaxMessage = cmp.Or(c.MaxMessage, transport.DefaultMaxMessage)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

var errNoFrames = errors.New("it takes no frames")

// How long things may take. Tests make it longer, on machines that do much else.
var (
	checkLimit  = 90 * time.Second // for a check
	answerLimit = 10 * time.Second // for an answer
	endLimit    = 10 * time.Second // for the end of a process that is to end by itself
)

// try runs a check. One about the stream of calls runs twice: over gRPC, and as frames if the
// plugin takes them.
func (k *check) try(ctx context.Context, c remote.Config) error {
	late := fmt.Errorf("the check took more than %v", checkLimit)
	ctx, cancel := context.WithTimeoutCause(ctx, checkLimit, late)
	defer cancel()
	err := k.run(ctx, target{Config: c})
	if err != nil || !k.stream {
		return err
	}
	err = k.run(ctx, target{Config: c, frames: true})
	_, isSkip := errors.AsType[skipped](err)
	switch {
	case errors.Is(err, errNoFrames):
		return nil
	case err == nil, isSkip:
		return err
	default:
		return fmt.Errorf("with frames: %w", err)
	}
}
