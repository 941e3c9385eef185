package remote

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// A fault is what goes wrong in one hook of a plugin, each time.
type fault struct {
	name string
	is   error // what the failure is, if that is one thing
	// do is what the hook does, if that is the fault.
	do func(ctx context.Context, p *fakeProcess) (plugin.Outcome, error)
	// answer is what becomes of the hook's answer, if that is the fault.
	answer func(p *fakeProcess, m *wire.PluginMessage) bool
}

func raw(p *fakeProcess, data string) bool {
	select {
	case p.toHost <- []byte(data):
	case <-p.ctx.Done():
	}
	return false
}

func answerWith(m *wire.PluginMessage, o *wire.Outcome) bool {
	m.Message = &wire.PluginMessage_Outcome{Outcome: o}
	return true
}

var faults = []fault{
	{
		name: "error",
		do:   func(context.Context, *fakeProcess) (plugin.Outcome, error) { return plugin.Outcome{}, errBoom },
	},
	{
		name: "panic",
		is:   plugin.ErrPanic,
		do:   func(context.Context, *fakeProcess) (plugin.Outcome, error) { panic("boom") },
	},
	{
		name: "hangs for ever",
		is:   plugin.ErrTimeout,
		do: func(_ context.Context, p *fakeProcess) (plugin.Outcome, error) {
			<-p.ctx.Done()
			return plugin.Outcome{}, nil
		},
	},
	{
		name: "hangs until cancelled",
		is:   plugin.ErrTimeout,
		do: func(ctx context.Context, _ *fakeProcess) (plugin.Outcome, error) {
			<-ctx.Done()
			return plugin.Outcome{}, ctx.Err()
		},
	},
	{
		name: "takes too long",
		is:   plugin.ErrTimeout,
		do: func(context.Context, *fakeProcess) (plugin.Outcome, error) {
			time.Sleep(time.Second)
			return plugin.Outcome{}, nil
		},
	},
	{
		name: "crashes",
		is:   ErrGone,
		do: func(_ context.Context, p *fakeProcess) (plugin.Outcome, error) {
			p.die()
			return plugin.Outcome{}, nil
		},
	},
	{
		name: "stops taking and sending messages",
		is:   plugin.ErrTimeout,
		do: func(_ context.Context, p *fakeProcess) (plugin.Outcome, error) {
			p.freeze()
			return plugin.Outcome{}, nil
		},
	},
	{
		name: "asks what it cannot",
		is:   plugin.ErrOutcome,
		do: func(context.Context, *fakeProcess) (plugin.Outcome, error) {
			return plugin.Outcome{Emit: []*session.Event{{Partial: true}}}, nil
		},
	},
	{
		name: "answers with an event that is none",
		is:   plugin.ErrOutcome,
		answer: func(_ *fakeProcess, m *wire.PluginMessage) bool {
			return answerWith(m, &wire.Outcome{Emit: [][]byte{[]byte(`{"id":`)}})
		},
	},
	{
		name: "answers with nothing",
		is:   plugin.ErrOutcome,
		answer: func(_ *fakeProcess, m *wire.PluginMessage) bool {
			m.Message = nil
			return true
		},
	},
	{
		name: "answers with a request that keeps what there is not",
		is:   plugin.ErrOutcome,
		answer: func(_ *fakeProcess, m *wire.PluginMessage) bool {
			return answerWith(m, &wire.Outcome{Request: &wire.ModelRequest{Keep: 7}})
		},
	},
	{
		name:   "garbage on the stream",
		is:     ErrGone,
		answer: func(p *fakeProcess, _ *wire.PluginMessage) bool { return raw(p, "\xff\xff\xff\xff") },
	},
	{
		name: "answers another call",
		is:   plugin.ErrTimeout,
		answer: func(_ *fakeProcess, m *wire.PluginMessage) bool {
			m.Seq += 1000
			return true
		},
	},
	{name: "answers with too much", answer: func(_ *fakeProcess, m *wire.PluginMessage) bool {
		return answerWith(m, &wire.Outcome{Reason: strings.Repeat("x", 2<<20)})
	}},
	{
		name: "answers with an event of too many parts",
		is:   ErrTooLarge,
		answer: func(_ *fakeProcess, m *wire.PluginMessage) bool {
			return answerWith(m, &wire.Outcome{Emit: [][]byte{manyParts(message.MaxValues)}})
		},
	},
	{
		name: "answers with too many fields",
		is:   ErrTooLarge,
		answer: func(_ *fakeProcess, m *wire.PluginMessage) bool {
			m.Message = &wire.PluginMessage_Failure{
				Failure: &wire.Failure{
					Error: &wire.Error{Kinds: make([]string, message.MaxValues+1)},
				},
			}
			return true
		},
	},
	{
		name: "says that it goes on unchecked",
		answer: func(_ *fakeProcess, m *wire.PluginMessage) bool {
			return answerWith(m, &wire.Outcome{Unchecked: "so what"})
		},
	},
	{
		name: "crashes instead of answering",
		is:   ErrGone,
		answer: func(p *fakeProcess, _ *wire.PluginMessage) bool {
			p.die()
			return false
		},
	},
}

// processes returns processes whose plugin has the fault in one hook.
func (x fault) processes(hook plugin.Hook) *fakeProcesses {
	f := &fakeProcesses{}
	f.plugin = func(p *fakeProcess) *plugin.Plugin {
		return pluginWith(
			func(ctx context.Context, at plugin.Hook, _ *session.Invocation) (plugin.Outcome, error) {
				if at == hook && x.do != nil {
					return x.do(ctx, p)
				}
				if at == hook && x.answer != nil {
					return plugin.Outcome{Reason: "the fault"}, nil
				}
				return plugin.Outcome{}, nil
			},
			allHooks...)
	}
	if x.answer != nil {
		f.answer = func(p *fakeProcess, m *wire.PluginMessage) bool {
			return m.GetOutcome().GetReason() != "the fault" || x.answer(p, m)
		}
	}
	return f
}

func TestFaultsAreClosed(t *testing.T) {
	for _, x := range faults {
		for _, hook := range allHooks {
			t.Run(x.name+"/"+string(hook), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := x.processes(hook)
					h := f.open(t, Config{})
					began := time.Now()
					events, models, err := turn(t, "hello", h.Plugin())
					var failure *plugin.Error
					require.ErrorAs(t, err, &failure)
					require.Equal(t, "guard", failure.Plugin)
					require.Equal(t, hook, failure.Hook)
					if x.is != nil {
						require.ErrorIs(t, err, x.is)
					}
					switch hook {
					case plugin.OnEvent:
						require.Empty(t, events)
					case plugin.BeforeRun, plugin.BeforeModel:
						require.Len(t, events, 1, "the input")
					case plugin.AfterRun:
						require.Len(t, events, 2)
						models--
					}
					require.Zero(t, models, "a model was called after the failure")
					// The hook's time, AfterRun's if the plugin froze, and that of Close.
					require.LessOrEqual(t, time.Since(began),
						2*250*time.Millisecond+500*time.Millisecond)
					f.done(t, h)
				})
			})
		}
	}
}

func TestFaultsThatFailOpenAreMarked(t *testing.T) {
	for _, x := range faults {
		for _, hook := range allHooks {
			t.Run(x.name+"/"+string(hook), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := x.processes(hook)
					h := f.open(t, Config{})
					events, models, err := turn(t, "hello", plugin.FailOpen(h.Plugin()))
					require.NoError(t, err)
					require.Equal(t, 1, models)
					require.Len(t, events, 2)
					require.Equal(t, "answer", events[1].Text())
					if hook != plugin.AfterRun { // after it there is nothing to mark
						require.Contains(t, plugin.NotesOf(events[1]).Unchecked,
							plugin.Note{Plugin: "guard", Hook: hook})
					}
					f.done(t, h)
				})
			})
		}
	}
}

// A process that has crashed before a call is replaced, and the call waits for the replacement:
// nobody notices. A process that crashes after its answer has answered.
func TestCrashBetweenCallsIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProcesses{start: func(ctx context.Context, p *fakeProcess) error {
			if p.n > 1 {
				time.Sleep(100 * time.Millisecond)
			}
			return nil
		}}
		var ended []int
		var live []string
		f.plugin = func(p *fakeProcess) *plugin.Plugin {
			return pluginWith(
				func(_ context.Context, hook plugin.Hook, inv *session.Invocation) (plugin.Outcome, error) {
					if hook == plugin.AfterRun {
						ended = append(ended, p.n)
						for _, e := range inv.Live {
							live = append(live, e.Text())
						}
					}
					return plugin.Outcome{}, nil
				},
				allHooks...)
		}
		f.answer = func(p *fakeProcess, m *wire.PluginMessage) bool {
			if p.n < 4 { // dies once it has answered, three times
				_ = pluginEnd{p.loop}.Send(m)
				p.kill()
				return false
			}
			return true
		}
		h := f.open(t, Config{Timeout: time.Second})
		f.process(1).die()
		later := message.Hooks(
			h.sub,
			func(ctx context.Context, inv *session.Invocation, a plugin.Args) (plugin.Outcome, error) {
				time.Sleep(time.Millisecond) // by then it is known to be gone
				return h.call(ctx, inv, a)
			},
		)
		later.Name = "guard"
		events, models, err := turn(t, "hello", later)
		require.NoError(t, err)
		require.Len(t, events, 2)
		require.Equal(t, 1, models)
		require.Equal(t, []int{4}, ended, "the replacement is told the end")
		require.Equal(t, []string{"hello", "answer"}, live, "and what happened before its time")
		f.done(t, h)
	})
}

// What never comes up fails by its own timeout, and at once when it is given up.
func TestPluginThatDoesNotComeUpAgain(t *testing.T) {
	for name, open := range map[string]bool{"closed": false, "open": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeProcesses{
					plugin: func(*fakeProcess) *plugin.Plugin { return pluginWith(nil, allHooks...) },
				}
				f.start = func(ctx context.Context, p *fakeProcess) error {
					if p.n == 1 {
						return nil
					}
					time.Sleep(time.Second)
					return errors.New("no such file")
				}
				h := f.open(t, Config{})
				f.process(1).die()
				why := "remote: the plugin is gone"
				for _, want := range []error{plugin.ErrTimeout, ErrQuarantined} {
					p := h.Plugin()
					if open {
						p = plugin.FailOpen(p)
					}
					p.Close = nil
					began := time.Now()
					events, models, err := turn(t, "hello", p)
					if open {
						require.NoError(t, err)
						require.Equal(t, 1, models)
						require.NotEmpty(t, plugin.NotesOf(events[1]).Unchecked)
					} else {
						var failure *plugin.Error
						require.ErrorAs(t, err, &failure)
						require.ErrorIs(t, err, want)
						require.Zero(t, models)
						require.ErrorContains(t, err, why)
					}
					if want == ErrQuarantined {
						require.Zero(t, time.Since(began))
					}
					time.Sleep(time.Minute)
					why = "no such file"
				}
				f.done(t, h)
			})
		})
	}
}

// manyParts returns an event in JSON with n parts.
func manyParts(n int) []byte {
	return []byte(`{"content":{"parts":[` + strings.Repeat("{},", n-1) + `{}]}}`)
}
