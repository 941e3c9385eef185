package main

import (
	"fmt"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// tally counts what happens in a replay.
type tally struct {
	plugins  []string
	sessions []*sessionTally // in the order of the files
	took     time.Duration

	mu    sync.Mutex // guards the plugins' counts and first
	by    map[session.Key]*sessionTally
	first error // of a plugin
}

// sessionTally is one session's share; all but its plugins belong to the one who plays it.
type sessionTally struct {
	key                                 session.Key
	state                               map[string]any // it begins with
	invocations, events, denied, failed int
	took                                time.Duration
	plugins                             map[string]*pluginTally
}

// pluginTally is what one plugin did.
type pluginTally struct {
	Calls     int           `json:"calls"`
	Replaced  int           `json:"replaced,omitzero"`
	Emitted   int           `json:"emitted,omitzero"`
	Withheld  int           `json:"withheld,omitzero"`
	Stopped   int           `json:"stopped,omitzero"`
	Failed    int           `json:"failed,omitzero"`
	Unchecked int           `json:"unchecked,omitzero"`
	Took      time.Duration `json:"-"`
}

func newTally(plugins []*plugin.Plugin, recs []*session.Recording) *tally {
	t := &tally{by: map[session.Key]*sessionTally{}}
	for _, p := range plugins {
		t.plugins = append(t.plugins, p.Name)
	}
	for _, rec := range recs {
		s := &sessionTally{key: rec.Key, state: rec.State, plugins: map[string]*pluginTally{}}
		for _, name := range t.plugins {
			s.plugins[name] = &pluginTally{}
		}
		t.sessions, t.by[rec.Key] = append(t.sessions, s), s
	}
	return t
}

// call counts a hook's call; it is a Runner's trace.
func (t *tally) call(c runner.HookCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.by[c.Key].plugins[c.Plugin]
	if p == nil {
		return
	}
	p.Calls++
	p.Took += c.Duration
	p.Emitted += len(c.Outcome.Emit)
	for n, is := range map[*int]bool{&p.Replaced: c.Outcome.Replace != nil, &p.Withheld: c.Outcome.Withhold,
		&p.Stopped: c.Outcome.Stop, &p.Failed: c.Err != nil, &p.Unchecked: c.Outcome.Unchecked != ""} {
		if is {
			*n++
		}
	}
}

func (t *tally) failure(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == nil {
		t.first = err
	}
}

func (s *sessionTally) note(e *session.Event) {
	var v verdict
	v.note(e)
	if v.denied != nil {
		s.denied++
	}
	s.events++
}

func (t *tally) failedRuns() (n int) {
	for _, s := range t.sessions {
		n += s.failed
	}
	return n
}

// report prints the tally: a line for each session with --jsonl, or a table and the sums.
func (p *program) report(t *tally) error {
	var invocations, events, denied int
	for _, s := range t.sessions {
		invocations, events, denied = invocations+s.invocations, events+s.events, denied+s.denied
	}
	sums := fmt.Sprintf("%d sessions, %d invocations, %d events, %d denials, %.2f s", len(t.sessions), invocations, events, denied, t.took.Seconds())
	if p.jsonl {
		for _, s := range t.sessions {
			if err := p.writeJSON(s.line()); err != nil {
				return err
			}
		}
		p.note("%s", sums)
		return nil
	}
	if len(t.plugins) > 0 {
		w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "plugin\tcalls\treplaced\temitted\twithheld\tstopped\tfailed\tunchecked\ttime\t")
		for _, name := range t.plugins {
			c := t.sum(name)
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f ms\t\n", name, c.Calls, c.Replaced, c.Emitted, c.Withheld, c.Stopped, c.Failed, c.Unchecked, float64(c.Took.Microseconds())/1000)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(p.out)
	}
	_, err := fmt.Fprintln(p.out, sums)
	return err
}

// sum adds up what a plugin did in all sessions.
func (t *tally) sum(name string) (sum pluginTally) {
	for _, s := range t.sessions {
		c := s.plugins[name]
		sum = pluginTally{sum.Calls + c.Calls, sum.Replaced + c.Replaced, sum.Emitted + c.Emitted, sum.Withheld + c.Withheld,
			sum.Stopped + c.Stopped, sum.Failed + c.Failed, sum.Unchecked + c.Unchecked, sum.Took + c.Took}
	}
	return sum
}

// line returns the session's line for --jsonl.
func (s *sessionTally) line() any {
	return struct {
		App         string                  `json:"appName"`
		User        string                  `json:"userId"`
		ID          string                  `json:"id"`
		Invocations int                     `json:"invocations"`
		Events      int                     `json:"events"`
		Denied      int                     `json:"denied"`
		Failed      int                     `json:"failed"`
		Seconds     float64                 `json:"seconds"`
		Plugins     map[string]*pluginTally `json:"plugins,omitempty"`
	}{s.key.App, s.key.User, s.key.ID, s.invocations, s.events, s.denied, s.failed, float64(s.took.Microseconds()) / 1e6, s.plugins}
}
