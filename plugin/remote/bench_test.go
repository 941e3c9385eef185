//go:build linux

package remote

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/plugin/remote/serve"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

func init() {
	testplugin.Programs["exits"] = func() {}
	testplugin.Programs["looks"] = func() {
		serve.Plugin(&plugin.Plugin{Name: "looks", OnEvent: asksNothing})
	}
}

func asksNothing(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
	return plugin.Outcome{}, nil
}

// callHook returns a call of a hook in a process, as the runner makes it, with an event of size
// bytes of JSON that nobody has encoded before.
func callHook(b *testing.B, size int) func() error {
	c := command("looks")
	c.Timeout, c.Log = time.Minute, testplugin.Discard
	h, err := Open(b.Context(), c)
	require.NoError(b, err)
	b.Cleanup(func() { _ = h.Close(context.Background()) })
	p := h.Plugin()
	inv := &session.Invocation{ID: "i", Key: session.Key{App: "app", User: "ann", ID: "s"}}
	return func() error {
		_, err := p.OnEvent(b.Context(), inv, sized(size))
		return err
	}
}

// sized returns a new event of size bytes of JSON, about.
func sized(size int) *session.Event {
	e := session.Reply(filler[:size-150])
	e.ID, e.InvocationID, e.Author, e.Timestamp = "0195d3a4-0000-7000-8000-000000000001", "i", "bot", time.Unix(
		1700000000, 0)
	return e
}

var filler = strings.Repeat(
	`Some lines of text, as people and models write it: some sentences to a line, and
most of them without anything that JSON would have to write in another way. Only
now and then there is "something in quotes", a word as `+"naïve"+` as this one, or a blank
line, which ends what belongs together.

`,
	1<<8,
)

// rounds measures ways to call a process in turn, n calls each, and keeps what each round has
// shown: on a machine that others use, only what was measured at the same time can be compared.
type rounds struct {
	n      int
	calls  map[string]func() error
	before func()               // each round
	p50    map[string][]float64 // microseconds, by round
	p99    map[string][]float64
}

func (r *rounds) run(b *testing.B) {
	r.p50, r.p99 = map[string][]float64{}, map[string][]float64{}
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range r.calls {
			if !yield(name) {
				return
			}
		}
	})
	took := make([]float64, r.n)
	round := func() {
		if r.before != nil {
			r.before()
		}
		for _, name := range names {
			call := r.calls[name]
			for i := range took {
				began := time.Now()
				if err := call(); err != nil {
					b.Fatal(name, err)
				}
				took[i] = float64(time.Since(began).Nanoseconds()) / 1000
			}
			slices.Sort(took)
			r.p50[name] = append(r.p50[name], took[len(took)/2])
			r.p99[name] = append(r.p99[name], took[len(took)*99/100])
		}
	}
	round() // what is made once is made now
	clear(r.p50)
	clear(r.p99)
	for b.Loop() {
		round()
	}
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// ratio is the median of the ratios of the rounds.
func ratio(a, b []float64) float64 {
	var list []float64
	for i := range a {
		list = append(list, a[i]/b[i])
	}
	return median(list)
}

// BenchmarkHook compares one call of a hook in a process, one after the other, with the floor,
// which is told as many bytes and reads none, and with a plugin by stock go-plugin that is told
// the same event, for events of 1 KB and of 64 KB. json is the event's encoding and decoding
// alone, which the floor does not have.
func BenchmarkHook(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			data, err := sized(size).MarshalJSON()
			require.NoError(b, err)
			floor := floor(b)
			r := &rounds{
				n: 200,
				calls: map[string]func() error{"floor": func() error { return floor(data) },
					"stock": stock(b, size), "hook": callHook(b, size), "json": func() error {
						data, err := sized(size).MarshalJSON()
						if err == nil {
							_, err = message.DecodeEvent(data)
						}
						return err
					}},
			}
			r.run(b)
			b.ReportMetric(0, "ns/op")
			for name := range r.calls {
				b.ReportMetric(median(r.p50[name]), name+"-p50-µs")
				b.ReportMetric(median(r.p99[name]), name+"-p99-µs")
			}
			for _, name := range []string{"hook", "stock", "json"} {
				b.ReportMetric(ratio(r.p50[name], r.p50["floor"]), name+"/floor")
			}
			b.ReportMetric(ratio(r.p99["hook"], r.p99["stock"]), "hook/stock-p99")
		})
	}
}

// BenchmarkCallers compares how many calls a second 32 callers get answered, of a hook and of
// stock go-plugin.
func BenchmarkCallers(b *testing.B) {
	const callers, each = 32, 100
	rate := map[string][]float64{}
	calls := map[string]func() error{"stock": stock(b, 1<<10), "hook": callHook(b, 1<<10)}
	round := func() {
		for name, call := range calls {
			var all sync.WaitGroup
			began := time.Now()
			for range callers {
				all.Go(func() {
					for range each {
						if err := call(); err != nil {
							b.Error(name, err)
							return
						}
					}
				})
			}
			all.Wait()
			rate[name] = append(rate[name], callers*each/time.Since(began).Seconds())
		}
	}
	round()
	clear(rate)
	for b.Loop() {
		round()
	}
	b.ReportMetric(0, "ns/op")
	for name := range calls {
		b.ReportMetric(median(rate[name]), name+"-calls/s")
	}
	b.ReportMetric(ratio(rate["hook"], rate["stock"]), "hook/stock")
}

// BenchmarkStart measures a start, to the first answer of a hook, beside the executable's alone:
// an exec of the same one that ends at once.
func BenchmarkStart(b *testing.B) {
	c := command("asked")
	r := &rounds{
		n: 1,
		calls: map[string]func() error{
			"exec":  func() error { return exec.Command(os.Args[0], testplugin.AsPlugin, "exits").Run() },
			"start": nil,
		},
	}
	var last *launched
	stop := func() {
		if last != nil {
			_ = last.process.Stop(context.Background())
		}
	}
	defer func() { stop() }()
	r.before = stop
	r.calls["start"] = func() (err error) {
		if last, err = start(b.Context(), c, testplugin.Discard); err != nil {
			return err
		}
		_, err = question(b, last, "say hello")
		return err
	}
	r.run(b)
	b.ReportMetric(0, "ns/op")
	for name := range r.calls {
		b.ReportMetric(median(r.p50[name])/1000, name+"-ms")
	}
	b.ReportMetric(ratio(r.p50["start"], r.p50["exec"]), "start/exec")
}

// BenchmarkNotCalled measures what a plugin costs per event whose hook is not called for it: one
// that has no OnEvent, one whose filter does not select it, and, beside, one that is called in
// process and asks nothing. Each is the difference between a runner with 100 of them and one with
// none, over 100.
func BenchmarkNotCalled(b *testing.B) {
	const plugins, events = 100, 200
	kinds := map[string]func() *plugin.Plugin{
		"none":         nil,
		"unsubscribed": func() *plugin.Plugin { return pluginWith(nil, plugin.BeforeRun) },
		"filtered": func() *plugin.Plugin {
			p := pluginWith(nil, plugin.OnEvent)
			p.Filter = &plugin.Filter{
				Authors: []string{"someone"},
				Has:     []plugin.EventFeature{plugin.HasCall},
			}
			return p
		},
		"called": func() *plugin.Plugin { return &plugin.Plugin{OnEvent: asksNothing} },
	}
	r := &rounds{n: 3, calls: map[string]func() error{}}
	for kind, make := range kinds {
		var list []*plugin.Plugin
		for i := range plugins {
			if make != nil {
				p := make()
				p.Name = fmt.Sprint("p", i)
				list = append(list, p)
			}
		}
		list = append(
			list,
			&plugin.Plugin{Name: "last", OnEvent: asksNothing},
		) // the first that is called costs more
		bot := agent.New(
			"bot",
			"",
			func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
				return func(yield func(*session.Event, error) bool) {
					for range events {
						if !yield(session.Reply("a short answer"), nil) {
							return
						}
					}
				}
			},
		)
		n := 0
		sessions := memory.New()
		run, err := runner.New(runner.Options{Agent: bot, Sessions: sessions, Plugins: list})
		require.NoError(b, err)
		defer run.Close(context.Background())
		r.calls[kind] = func() (err error) {
			n++
			key := session.Key{App: "app", User: "ann", ID: fmt.Sprint(n)}
			for _, failure := range run.Run(b.Context(), key, session.Message("hello"), session.RunConfig{Create: true}) {
				err = errors.Join(err, failure)
			}
			return err
		}
	}
	r.run(b)
	allocations := func(kind string) float64 {
		return testing.AllocsPerRun(5,
			func() { require.NoError(b, r.calls[kind]()) }) / plugins / events
	}
	b.ReportMetric(0, "ns/op")
	for _, kind := range []string{"unsubscribed", "filtered", "called"} {
		// Others on the machine only add to what it takes, so the least is nearest.
		b.ReportMetric((slices.Min(r.p50[kind])-slices.Min(r.p50["none"]))*1000/plugins/events,
			kind+"-ns")
		b.ReportMetric(math.Round(10*(allocations(kind)-allocations("none")))/10, kind+"-allocs")
	}
}
