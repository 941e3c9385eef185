package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/plughook/plughook/plugin/internal/process"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote"
)

// A Verdict is what one case of Verify has come to. The plugin keeps the rule if Err is nil and Skip empty.
type Result struct {
	// Case names the rule.
	Case string
	// Why says what docs/protocol.md demands, and what goes wrong otherwise.
	Why string
	// Skip is why the case says nothing about this plugin.
	Skip string
	// Err is what the plugin did.
	Err      error
	Duration time.Duration
}

// Verify holds a plugin, in any language, against docs/protocol.md: it starts it, mostly anew for each case, and
// talks to it as hosts do, and as hosts do only now and then. It yields a verdict for each case, in order, and ends
// early after one without which nothing else can be said. Package plugintest has the rules that plugins in process
// keep too.
//
// The plugin is called with made-up conversations, so it wants settings with which it does no harm.
func Verify(ctx context.Context, c remote.Config) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		for _, vc := range verifyCases {
			v := Result{Case: vc.name, Why: vc.why}
			v.Duration, v.Err = vc.try(ctx, withVerifyDefaults(c))
			if skip, is := errors.AsType[skipped](v.Err); is {
				v.Skip, v.Err = string(skip), nil
			}
			if !yield(v) || v.Err != nil && vc.first || ctx.Err() != nil {
				return
			}
		}
	}
}

// skipped is an error that says that a case is not about a plugin.
type skipped string

func (s skipped) Error() string { return string(s) }

// verifyCase is one case of Verify.
type testCase struct {
	name, why string
	first     bool // without this nothing else can be said
	calls     bool // it is about the stream of calls
	run       func(ctx context.Context, c target) error
}

// target is what a case is tried on.
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
		Limits:     process.Limits(c.Limits),
		MaxMessage: c.MaxMessage,
	}
}

// withVerifyDefaults returns the configuration with the defaults of the fields that a probe uses.
func withVerifyDefaults(c remote.Config) remote.Config {
	c.StartTimeout = cmp.Or(c.StartTimeout, 10*time.Second)
	c.MaxMessage = cmp.Or(c.MaxMessage, transport.DefaultMaxMessage)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

var errNoFrames = errors.New("it takes no frames")

const (
	caseLimit   = 90 * time.Second // for all of a case
	answerLimit = 10 * time.Second // for an answer
	endLimit    = 10 * time.Second // for the end of a process that is to end by itself
)

// try runs a case, with the stream of calls over Serve and, if the plugin takes them, as frames, and says how
// long it took.
func (vc *testCase) try(ctx context.Context, c remote.Config) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, caseLimit, fmt.Errorf("the case took more than %v", caseLimit))
	defer cancel()
	began := time.Now()
	err := vc.run(ctx, target{Config: c})
	if err == nil && vc.calls {
		if err = vc.run(ctx, target{c, true}); errors.Is(err, errNoFrames) {
			err = nil
		} else if _, skip := errors.AsType[skipped](err); err != nil && !skip {
			err = fmt.Errorf("with frames: %w", err)
		}
	}
	return time.Since(began), err
}
