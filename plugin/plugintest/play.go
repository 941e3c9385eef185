package plugintest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// Play plays a script with a plugin, and returns the script with its output. It closes the plugin.
func Play(ctx context.Context, data []byte, p *plugin.Plugin) (out []byte, err error) {
	defer func() {
		if p.Close != nil {
			err = errors.Join(err, p.Close(ctx))
		}
	}()
	c, err := parse(data)
	if err != nil {
		return nil, err
	}
	sessions := memory.New()
	if _, err := sessions.Create(ctx, c.key, c.state); err != nil {
		return nil, err
	}
	var log strings.Builder
	var all []*session.Event
	for i, t := range c.turns {
		if err := c.run(ctx, p, sessions, i, t, &log, &all); err != nil {
			return nil, err
		}
	}
	s, err := sessions.Get(ctx, c.key)
	if err != nil {
		return nil, err
	}
	live, err := spans(ctx, sessions, c.key)
	if err != nil {
		return nil, err
	}
	c.set(logSection, steady(log.String(), all))
	c.set(liveSection, live)
	c.set(endSection, steady(stateLines(s.State), all))
	return txtar.Format(c.archive), nil
}

// run runs a turn with a runner of its own. Closing that runner waits for what the plugin does in
// the background.
func (c *conversation) run(ctx context.Context, p *plugin.Plugin, sessions session.Service, i int, t turn, log *strings.Builder, all *[]*session.Event) error {
	open := *p
	open.Close = nil
	o := runner.Options{Agent: c.agent, Sessions: sessions, Plugins: []*plugin.Plugin{&open}}
	if !t.now.IsZero() {
		o.Now = func() time.Time { return t.now }
	}
	r, err := runner.New(o)
	if err != nil {
		return err
	}
	in := t.input.Clone()
	in.InvocationID = fmt.Sprintf("turn-%d", i+1)
	var failed error
	for _, err := range r.Run(ctx, c.key, in, session.RunConfig{}) {
		failed = err
	}
	if err := r.Close(ctx); err != nil {
		return err
	}
	after := int64(0)
	if n := len(*all); n > 0 {
		after = (*all)[n-1].Seq
	}
	if i > 0 {
		log.WriteString("\n")
	}
	for e, err := range sessions.Read(ctx, c.key, session.Selection{After: after}) {
		if err != nil {
			return err
		}
		show(log, e)
		if !t.now.IsZero() { // a time that the script has set is shown as it is
			c := *e
			c.Timestamp = time.Time{}
			e = &c
		}
		*all = append(*all, e)
	}
	if failed != nil {
		fmt.Fprintf(log, "! %s\n", strings.ReplaceAll(failed.Error(), "\n", "\n  "))
	}
	return ctx.Err()
}

// spans returns the positions of the live view in its order.
func spans(ctx context.Context, sessions session.Service, key session.Key) (string, error) {
	live, err := session.ReadAll(ctx, sessions, key, session.Selection{Live: true})
	if err != nil {
		return "", err
	}
	var ranges [][2]int64
	for _, e := range live {
		if n := len(ranges); n > 0 && ranges[n-1][1]+1 == e.Seq {
			ranges[n-1][1] = e.Seq
		} else {
			ranges = append(ranges, [2]int64{e.Seq, e.Seq})
		}
	}
	var words []string
	for _, r := range ranges {
		if r[0] == r[1] {
			words = append(words, fmt.Sprint(r[0]))
		} else {
			words = append(words, fmt.Sprintf("%d-%d", r[0], r[1]))
		}
	}
	return strings.Join(words, " ") + "\n", nil
}

func stateLines(state map[string]any) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(state)) {
		fmt.Fprintf(&b, "%s = %s\n", key, eventtext.JSON(state[key]))
	}
	return b.String()
}

// set sets a section of the output. An empty section is left out.
func (c *conversation) set(name, text string) {
	at := slices.IndexFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == name })
	switch {
	case strings.TrimSpace(text) == "" && at >= 0:
		c.archive.Files = slices.Delete(c.archive.Files, at, at+1)
	case strings.TrimSpace(text) == "":
	case at >= 0:
		c.archive.Files[at].Data = []byte(text)
	default:
		c.archive.Files = append(c.archive.Files, txtar.File{Name: name, Data: []byte(text)})
	}
}
