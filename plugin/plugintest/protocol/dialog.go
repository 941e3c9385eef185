//go:build unix

package protocol

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// moment is one call in a made-up conversation.
type moment struct {
	plugin.Args
	inv *session.Invocation
}

// String says which call it is, for an error.
func (m moment) String() string {
	what := string(m.Hook)
	if m.Event != nil {
		what += fmt.Sprintf(" of event %s by %s", m.Event.ID, m.Event.Author)
	}
	return fmt.Sprintf("%s in invocation %s of session %s, with %d live events", what, m.inv.ID, m.inv.Key.ID, len(m.inv.Live))
}

// A dialog makes up a conversation: it keeps the log as a runner would, and notes the calls of hooks that the plugin
// has, and of events that its filter selects.
type dialog struct {
	plugin *plugin.Plugin
	agent  string // who answers in it
	other  string // another plugin, which says something, too
	// reply answers a call. What it emits gets into the log, and nothing else that it asks is done, so that the
	// conversation goes on as it was made up. It may be nil.
	reply func(moment) (plugin.Outcome, error)
	err   error // of the first call that reply could not answer
	// change is what other sessions do to the state before a call. It may be nil.
	change func(call int, state map[string]any)

	moments   []moment
	inv       *session.Invocation
	log, live []*session.Event
	before    []*session.Event // the live view before the run
	state     map[string]any
	frontier  int64
	events    int       // how many were made up
	time      time.Time // by the clock of the conversation
}

// newDialog begins a conversation in a session. Who speaks in it are authors that the plugin's filter selects.
func newDialog(p *plugin.Plugin, key session.Key) *dialog {
	d := &dialog{
		plugin: p,
		agent:  "bot",
		other:  session.PluginPrefix + "other",
		inv:    &session.Invocation{Key: key, Number: 1, Config: session.RunConfig{Create: true}},
		state:  map[string]any{"mood": "fine", "n": 1.0},
		time:   time.Unix(1_700_000_000, 0).UTC(),
	}
	if p.Filter == nil || p.Filter.Match(&session.Event{Author: d.agent}) {
		return d
	}
	for _, author := range p.Filter.Authors {
		name := strings.Replace(author, "*", "x", 1)
		switch {
		case strings.HasPrefix(name, session.PluginPrefix):
			d.other = name
		case name != session.User:
			d.agent = name
		}
	}
	return d
}

// now returns the invocation as it is.
func (d *dialog) now() *session.Invocation {
	inv := *d.inv
	d.time = d.time.Add(time.Second)
	now := d.time
	inv.Clock = func() time.Time { return now }
	inv.Live = d.live[:len(d.live):len(d.live)]
	inv.State = d.state
	inv.Position = int64(len(d.log))
	inv.Frontier = d.frontier
	return &inv
}

// call calls a hook, and puts what it emits into the log.
func (d *dialog) call(args plugin.Args) (emitted []*session.Event) {
	if d.err != nil {
		return nil
	}
	if d.change != nil {
		d.state = maps.Clone(d.state)
		d.change(len(d.moments), d.state)
	}
	m := moment{Args: args, inv: d.now()}
	d.moments = append(d.moments, m)
	if d.reply == nil {
		return nil
	}
	out, err := d.reply(m)
	d.err = err
	return out.Emit
}

// hook calls a hook that is not OnEvent, if the plugin has it.
func (d *dialog) hook(args plugin.Args) {
	for _, h := range d.plugin.Subscribes() {
		if h == args.Hook {
			d.takeIn(d.call(args))
		}
	}
}

// takeIn puts what the plugin emits into the log: it is not offered what it has emitted itself.
func (d *dialog) takeIn(emitted []*session.Event) {
	for _, e := range emitted {
		if e.Marker() { // that would be another conversation
			continue
		}
		c := e.Clone()
		c.ID = d.id()
		c.Author = session.PluginPrefix + d.plugin.Name
		c.InvocationID = d.inv.ID
		c.Timestamp = d.time
		d.append(c)
		state := maps.Clone(d.state)
		maps.Copy(state, c.Actions.StateDelta)
		for key, n := range c.Actions.StateIncrement {
			was, _ := state[key].(float64)
			state[key] = was + n
		}
		maps.DeleteFunc(state, func(_ string, v any) bool { return v == nil })
		d.state = state
	}
}

// id returns the ID of the next event.
func (d *dialog) id() string {
	d.events++
	return fmt.Sprintf("%s-%d", d.inv.ID, d.events)
}

// append puts an event into the log and into the live view, and returns it as it is there.
func (d *dialog) append(e *session.Event) *session.Event {
	c := *e
	c.Seq = int64(len(d.log) + 1)
	d.log = append(d.log, &c)
	switch a := &c.Actions; {
	case a.Compaction != nil: // the summary stands in for what it covers
		d.live = append([]*session.Event{&c}, after(d.live, a.Compaction.Through)...)
		d.frontier = c.Seq
	case a.Rewind != nil:
		d.live = d.before
		d.frontier = c.Seq
	default:
		d.live = append(d.live[:len(d.live):len(d.live)], &c)
	}
	return &c
}

// after returns those of the live events that come after a position in the log. Summaries come first.
func after(live []*session.Event, position int64) []*session.Event {
	for i, e := range live {
		if e.Seq > position && !e.Marker() {
			return live[i:]
		}
	}
	return nil
}

// put offers an event, and appends it as it was offered.
func (d *dialog) put(author string, e *session.Event) *session.Event {
	e.ID = d.id()
	e.Author = author
	e.InvocationID = d.inv.ID
	e.Timestamp = d.time
	var emitted []*session.Event
	if d.plugin.OnEvent != nil && d.plugin.Filter.Match(e) {
		emitted = d.call(plugin.Args{Hook: plugin.OnEvent, Event: e})
	}
	e = d.append(e)
	d.takeIn(emitted)
	return e
}

// say puts a text of the agent.
func (d *dialog) say(text string) { d.put(d.agent, session.Reply(text)) }

// part puts an event of the agent with one part.
func (d *dialog) part(role string, part *genai.Part) {
	d.put(d.agent, &session.Event{Content: &genai.Content{Role: role, Parts: []*genai.Part{part}}})
}

// tool puts a call of a tool, and its response.
func (d *dialog) tool(id, city string) {
	d.part(genai.RoleModel, &genai.Part{FunctionCall: &genai.FunctionCall{
		ID:   id,
		Name: "get_weather",
		Args: map[string]any{"city": city, "days": 1.0},
	}})
	d.part(genai.RoleUser, &genai.Part{FunctionResponse: &genai.FunctionResponse{
		ID:       id,
		Name:     "get_weather",
		Response: map[string]any{"celsius": 21.0},
	}})
}

// ask asks the model.
func (d *dialog) ask() {
	req := &model.Request{
		Agent:  d.agent,
		Model:  "none",
		Config: &genai.GenerateContentConfig{SystemInstruction: genai.NewContentFromText("Be brief.", genai.RoleUser)},
	}
	for _, e := range d.live {
		if e.Content != nil {
			req.Contents = append(req.Contents, e.Content)
		}
	}
	d.hook(plugin.Args{Hook: plugin.BeforeModel, Request: req})
}

// run has one run with an input.
func (d *dialog) run(name, input string, end plugin.End, course func()) {
	d.time = d.time.Add(13 * time.Hour) // so that days begin between runs
	d.inv = &session.Invocation{ID: d.inv.Key.ID + "-" + name, Key: d.inv.Key, Number: d.inv.Number, Config: d.inv.Config}
	d.before = d.live[:len(d.live):len(d.live)]
	d.inv.Input = d.put(session.User, session.Message(input))
	d.hook(plugin.Args{Hook: plugin.BeforeRun})
	course()
	d.hook(plugin.Args{Hook: plugin.AfterRun, End: end})
}
