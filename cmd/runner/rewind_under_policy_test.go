package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/clitest"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// A rewind from the command line is an input like any other: plugins see it first, and may refuse it.
func TestPoliciesSeeRewinds(t *testing.T) {
	onCommand := func(out plugin.Outcome, err error) *plugin.Plugin {
		return &plugin.Plugin{
			Name: "policy",
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if _, ok := e.Command(); !ok {
					return plugin.Outcome{}, nil
				}
				return out, err
			},
		}
	}
	denial := &session.Event{ErrorCode: session.Denied, ErrorMessage: "not after hours"}
	for name, tc := range map[string]struct {
		policy *plugin.Plugin
		code   int
		says   string
		events int64
	}{
		"denied":        {onCommand(plugin.Outcome{Emit: []*session.Event{denial}, Withhold: true, Stop: true}, nil), exit.Denied.Number, "denied by plugin policy: not after hours", 1},
		"swallowed":     {onCommand(plugin.Outcome{Withhold: true, Stop: true}, nil), exit.Denied.Number, "nothing was rewound: a plugin kept the command", 0},
		"it has failed": {onCommand(plugin.Outcome{}, errors.New("no luck")), exit.Plugin.Number, "plugin policy: OnEvent: no luck", 0},
		"let through":   {onCommand(plugin.Outcome{}, nil), exit.OK.Number, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			store := "sqlite:" + filepath.Join(t.TempDir(), "s.db")
			code, _, stderr := clitest.RunLeakless(t, newRoot, nil, "session", "import",
				"testdata/rich.jsonl", "--store", store)
			require.Zero(t, code, stderr)
			before := positionOf(t, store)
			var out, says bytes.Buffer
			p := &cli.Program{Stdout: &out, Stderr: &says, Adjust: func(o *runner.Options) {
				o.Plugins = slices.Insert(o.Plugins, 0, tc.policy)
			}}
			require.Equal(
				t,
				tc.code,
				p.Run(t.Context(), newRoot(p),
					[]string{"session", "rewind", "third", "--turns", "1", "--store", store}),
				says.String(),
			)
			require.Contains(t, says.String(), tc.says)
			require.Equal(t, before+tc.events, positionOf(t, store))
		})
	}
}

func positionOf(t *testing.T, store string) int64 {
	svc, err := config.Options{}.OpenStore(t.Context(), store, false)
	require.NoError(t, err)
	defer func() { require.NoError(t, svc.Close()) }()
	s, err := svc.Get(t.Context(), session.Key{App: "other", User: "ada", ID: "third"})
	require.NoError(t, err)
	return s.Position
}
