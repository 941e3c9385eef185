package playback

import (
	"fmt"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// Counters count what happens while recordings are played.
type Counters struct {
	took     time.Duration
	plugins  []string
	sessions []*recorded // in the order of the files

	mu    sync.Mutex // guards the plugins' counters and first
	by    map[session.Key]*recorded
	first error // of a plugin
}

// recorded is a recorded session that is played, and what happens in it.
type recorded struct {
	key   session.Key
	state map[string]any // that it begins with

	invocations, events, denied, failed int
	took                                time.Duration
	plugins                             map[string]*pluginCounters
}

// pluginCounters count what one plugin does.
type pluginCounters struct {
	Calls     int           `json:"calls"`
	Replaced  int           `json:"replaced,omitzero"`
	Emitted   int           `json:"emitted,omitzero"`
	Withheld  int           `json:"withheld,omitzero"`
	Stopped   int           `json:"stopped,omitzero"`
	Failed    int           `json:"failed,omitzero"`
	Unchecked int           `json:"unchecked,omitzero"`
	Took      time.Duration `json:"-"`
}

// newCounters returns counters for playing recordings under plugins.
func newCounters(plugins []*plugin.Plugin, recs []*session.Recording) *Counters {
	c := &Counters{by: map[session.Key]*recorded{}}
	for _, p := range plugins {
		c.plugins = append(c.plugins, p.Name)
	}
	for _, rec := range recs {
		s := &recorded{key: rec.Key, state: rec.State, plugins: map[string]*pluginCounters{}}
		for _, name := range c.plugins {
			s.plugins[name] = &pluginCounters{}
		}
		c.sessions = append(c.sessions, s)
		c.by[rec.Key] = s
	}
	return c
}

// call counts a hook's call. It is a Runner's trace.
func (c *Counters) call(call runner.HookCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.by[call.Key].plugins[call.Plugin]
	if p == nil {
		return
	}
	add := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	p.Calls++
	p.Took += call.Duration
	p.Emitted += len(call.Outcome.Emit)
	add(&p.Replaced, call.Outcome.Replace != nil)
	add(&p.Withheld, call.Outcome.Withhold)
	add(&p.Stopped, call.Outcome.Stop)
	add(&p.Failed, call.Err != nil)
	add(&p.Unchecked, call.Outcome.Unchecked != "")
}

// failure takes in an invocation that has ended with a plugin's failure.
func (c *Counters) failure(s *recorded, err error) {
	s.failed++
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first == nil {
		c.first = err
	}
}

// Err returns an error if plugins have failed: how often, and the first failure.
func (c *Counters) Err() error {
	failed := 0
	for _, s := range c.sessions {
		failed += s.failed
	}
	if failed == 0 {
		return nil
	}
	return exit.Plugin.Errorf("%s ended with a plugin's failure; the first: %w", phrase.Count(failed, "invocation"), c.first)
}

// note counts an event.
func (s *recorded) note(e *session.Event) {
	var r exit.Result
	r.Note(e)
	if r.Denied() {
		s.denied++
	}
	s.events++
}

// Print prints what was counted: with --jsonl a line for each session, else a table of the plugins
// and the sums.
func (c *Counters) Print(p *cli.Program) error {
	var invocations, events, denied int
	for _, s := range c.sessions {
		invocations += s.invocations
		events += s.events
		denied += s.denied
	}
	sums := fmt.Sprintf("%s, %s, %s, %s, %.2f s",
		phrase.Count(len(c.sessions), "session"), phrase.Count(invocations, "invocation"),
		phrase.Count(events, "event"), phrase.Count(denied, "denial"), c.took.Seconds())
	if p.JSONL {
		for _, s := range c.sessions {
			if err := p.WriteJSON(s.line()); err != nil {
				return err
			}
		}
		p.Note("%s", sums)
		return nil
	}
	if len(c.plugins) > 0 {
		w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "plugin\tcalls\treplaced\temitted\twithheld\tstopped\tfailed\tunchecked\ttime\t")
		for _, name := range c.plugins {
			n := c.sum(name)
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f ms\t\n", name, n.Calls, n.Replaced,
				n.Emitted, n.Withheld, n.Stopped,
				n.Failed, n.Unchecked, float64(n.Took.Microseconds())/1000)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(p.Out)
	}
	_, err := fmt.Fprintln(p.Out, sums)
	return err
}

// sum adds up what a plugin did in all sessions.
func (c *Counters) sum(name string) (sum pluginCounters) {
	for _, s := range c.sessions {
		n := s.plugins[name]
		sum.Calls += n.Calls
		sum.Replaced += n.Replaced
		sum.Emitted += n.Emitted
		sum.Withheld += n.Withheld
		sum.Stopped += n.Stopped
		sum.Failed += n.Failed
		sum.Unchecked += n.Unchecked
		sum.Took += n.Took
	}
	return sum
}

// line returns the session's line for --jsonl.
func (s *recorded) line() any {
	return struct {
		cli.KeyLine
		Invocations int                        `json:"invocations"`
		Events      int                        `json:"events"`
		Denied      int                        `json:"denied"`
		Failed      int                        `json:"failed"`
		Seconds     float64                    `json:"seconds"`
		Plugins     map[string]*pluginCounters `json:"plugins,omitempty"`
	}{
		KeyLine:     cli.KeyLine(s.key),
		Invocations: s.invocations,
		Events:      s.events,
		Denied:      s.denied,
		Failed:      s.failed,
		Seconds:     float64(s.took.Microseconds()) / 1e6,
		Plugins:     s.plugins,
	}
}
