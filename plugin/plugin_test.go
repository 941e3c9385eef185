package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func before(f func(context.Context) (plugin.Outcome, error)) *plugin.Plugin {
	return &plugin.Plugin{
		Name:      "p",
		BeforeRun: func(ctx context.Context, _ *session.Invocation) (plugin.Outcome, error) { return f(ctx) },
	}
}

func TestValidate(t *testing.T) {
	nop := func(context.Context) (plugin.Outcome, error) { return plugin.Outcome{}, nil }
	named := func(name string) *plugin.Plugin { p := before(nop); p.Name = name; return p }
	require.NoError(t, plugin.Validate())
	require.NoError(t, plugin.Validate(named("a"), named("b-1_x.y")))
	err := plugin.Validate(nil, named(""), named("Upper"), named("twice"), named("twice"),
		&plugin.Plugin{Name: "idle"})
	for _, want := range []string{"plugin 1 is nil", `plugin 2 ("")`, `plugin 3 ("Upper")`, `plugin 5 ("twice"): another plugin has this name`, `plugin 6 ("idle"): it has no hook`} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "plugin 4")
}

func TestNotes(t *testing.T) {
	e := session.Message("hi")
	e.CustomMetadata = map[string]any{"mine": 1.0}
	notes := plugin.Notes{
		Reason:    "r",
		Changed:   []plugin.Note{{Plugin: "a", Reason: "x"}},
		Unchecked: []plugin.Note{{Plugin: "b", Hook: plugin.OnEvent}},
	}
	noted := notes.With(e)
	require.Equal(t, map[string]any{"mine": 1.0}, e.CustomMetadata, "the event is not changed")
	require.Equal(t, notes, plugin.NotesOf(noted))

	data, err := noted.MarshalJSON()
	require.NoError(t, err)
	var read session.Event
	require.NoError(t, read.UnmarshalJSON(data))
	require.Equal(t, notes, plugin.NotesOf(&read))
	require.Equal(t, noted.CustomMetadata, read.CustomMetadata,
		"notes look the same before and after they were stored")

	require.Equal(t, e.CustomMetadata, plugin.Notes{}.With(noted).CustomMetadata)
	require.Nil(t, plugin.Notes{}.With(session.Message("x")).CustomMetadata)
	odd := session.Message("odd")
	odd.CustomMetadata = map[string]any{session.NotesKey: "what?"}
	require.Zero(t, plugin.NotesOf(odd))
}

func TestTimeoutForSomeHooks(t *testing.T) {
	slow := func(ctx context.Context) (plugin.Outcome, error) {
		_, bounded := ctx.Deadline()
		return plugin.Outcome{Reason: fmt.Sprint(bounded)}, nil
	}
	p := before(slow)
	p.AfterRun = func(ctx context.Context, _ *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
		return slow(ctx)
	}
	p = plugin.Timeout(p, time.Hour, plugin.BeforeRun)
	out, err := p.BeforeRun(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "true", out.Reason)
	out, err = p.AfterRun(t.Context(), nil, plugin.End{})
	require.NoError(t, err)
	require.Equal(t, "false", out.Reason)
	require.NoError(t, p.Close(t.Context()))
}

func TestTimeoutHonoursTheContext(t *testing.T) {
	called := false
	p := plugin.Timeout(before(func(ctx context.Context) (plugin.Outcome, error) {
		called = true
		<-ctx.Done()
		return plugin.Outcome{}, ctx.Err()
	}), time.Hour)
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("mine")
	cancel(mine)
	_, err := p.BeforeRun(ctx, nil)
	require.ErrorIs(t, err, mine)
	require.False(t, called)

	ctx, cancel = context.WithCancelCause(t.Context())
	context.AfterFunc(ctx, func() {})
	go cancel(mine)
	_, err = p.BeforeRun(ctx, nil)
	require.ErrorIs(t, err, mine)
	require.NoError(t, p.Close(t.Context()))
}

// A request that a failed or late hook has half changed is not sent.
func TestWrappedRequests(t *testing.T) {
	for name, wrap := range map[string]func(*plugin.Plugin) *plugin.Plugin{
		"open":    plugin.FailOpen,
		"timeout": func(p *plugin.Plugin) *plugin.Plugin { return plugin.Timeout(p, time.Hour) },
		"both":    func(p *plugin.Plugin) *plugin.Plugin { return plugin.FailOpen(plugin.Timeout(p, time.Hour)) },
	} {
		fail := false
		p := wrap(&plugin.Plugin{
			Name: "p",
			BeforeModel: func(_ context.Context, _ *session.Invocation, r *model.Request) (plugin.Outcome, error) {
				if r.Model = "changed"; fail {
					return plugin.Outcome{}, errors.New("no")
				}
				return plugin.Outcome{}, nil
			},
		})
		r := &model.Request{Model: "m"}
		_, err := p.BeforeModel(t.Context(), nil, r)
		require.NoError(t, err, name)
		require.Equal(t, "changed", r.Model, name)
		fail, r.Model = true, "m"
		_, _ = p.BeforeModel(t.Context(), nil, r)
		require.Equal(t, "m", r.Model, name)
	}
}

// FailOpen and Timeout are copies of the struct with fields replaced.
func ExampleFailOpen() {
	flaky := before(
		func(context.Context) (plugin.Outcome, error) { return plugin.Outcome{}, errors.New("no connection") },
	)
	open := plugin.FailOpen(plugin.Timeout(flaky, time.Second))
	out, err := open.BeforeRun(context.Background(), nil)
	fmt.Println(out.Unchecked, err)
	// Output: no connection <nil>
}

// A program owns the state keys of its own name as long as no other program does.
func TestOwnersOfStateKeys(t *testing.T) {
	own := &plugin.Plugin{Name: "guard"}
	renamed := &plugin.Plugin{Name: "mine", StateName: "guard", Program: "guard"}
	again := &plugin.Plugin{Name: "other", StateName: "guard", Program: "guard"}
	liar := &plugin.Plugin{Name: "liar", StateName: "guard", Program: "liar"}
	for _, c := range []struct {
		plugins []*plugin.Plugin
		want    []string
	}{
		{plugins: []*plugin.Plugin{own, liar}, want: []string{"guard"}},
		{plugins: []*plugin.Plugin{liar, own}, want: []string{"guard"}},
		{plugins: []*plugin.Plugin{renamed}, want: []string{"mine"}},
		{plugins: []*plugin.Plugin{renamed, again}, want: []string{"mine", "other"}},
		{plugins: []*plugin.Plugin{liar, renamed, again}},
	} {
		owners := plugin.OwnersOf(c.plugins...)
		got, owned := owners.Of("user:guard:count")
		require.True(t, owned)
		require.Equal(t, c.want, got)
		for _, p := range c.plugins {
			err := owners.CheckEvent(&session.Event{
				Author: session.PluginPrefix + p.Name,
				Actions: session.Actions{
					StateIncrement: map[string]float64{"user:guard:count": -1},
				},
			})
			if slices.Contains(c.want, p.Name) {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, session.ErrInvalid)
			}
		}
	}
	_, owned := plugin.OwnersOf(own).Of("user:mood")
	require.False(t, owned)
}
