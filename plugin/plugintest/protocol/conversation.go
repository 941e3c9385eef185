//go:build unix

package protocol

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// runs are the runs of a made-up conversation.
var runs = []func(*dialog){weatherRun, secretRun, rewoundRun, busyRun, lastRun}

// converse has runs, in an order.
func (d *dialog) converse(order iter.Seq2[int, func(*dialog)]) *dialog {
	for _, run := range order {
		run(d)
	}
	return d
}

// moments returns the calls of the conversation with a plugin of which nothing gets into the log.
func moments(p *plugin.Plugin, key session.Key) []moment {
	return newDialog(p, key).converse(slices.All(runs)).moments
}

// weatherRun has a tool, a change of the state, and an event that a later plugin has changed.
func weatherRun(d *dialog) {
	d.run("weather", "What is the weather in Rome?", plugin.End{Kind: plugin.EndDone}, func() {
		d.ask()
		d.state = maps.Clone(d.state) // a key has come, and one has gone
		d.state["city"] = "Rome"
		delete(d.state, "n")
		d.tool("weather", "Rome")
		d.ask()
		d.say("It is 21 degrees")
		last := len(d.live) - 1
		changed := *d.live[last]
		changed.Content = genai.NewContentFromText("It is 21 degrees in Rome", genai.RoleModel)
		d.live = append(d.live[:last:last], &changed)
		d.log[changed.Seq-1] = &changed
	})
}

// secretRun has a secret, a compaction, and an end by a failure.
func secretRun(d *dialog) {
	failure := &plugin.Error{Plugin: "other", Hook: plugin.OnEvent, Err: errors.New("no luck")}
	d.run("secret", "My card is 4111 1111 1111 1111, write to ann@example.com", plugin.End{Kind: plugin.EndFailed, Err: failure}, func() {
		d.say("I have noted 4111 1111 1111 1111")
		d.compact("They spoke of the weather.", d.inv.Input.Seq-1)
		d.ask()
		d.say("Anything else?")
	})
}

// compact has another plugin put a summary in place of what comes before a position.
func (d *dialog) compact(summary string, through int64) {
	d.put(d.other, &session.Event{Actions: session.Actions{Compaction: &session.Compaction{
		Through: through,
		Content: genai.NewContentFromText(summary, genai.RoleUser),
	}}})
}

// rewoundRun comes after a rewind of the run before.
func rewoundRun(d *dialog) {
	to := int64(0)
	if n := len(d.before); n > 0 {
		to = d.before[n-1].Seq
	}
	d.append(&session.Event{
		ID:           d.id(),
		Author:       session.PluginPrefix + "rewind",
		InvocationID: d.inv.ID,
		Timestamp:    d.time,
		Actions:      session.Actions{Rewind: &session.Rewind{To: to}},
	})
	d.run("rewound", "And in Paris?", plugin.End{Kind: plugin.EndStopped, Plugin: "other", Reason: "enough"}, func() {
		d.ask()
		d.say("I do not know")
	})
}

// busyRun has each kind of event that a filter can select several times.
func busyRun(d *dialog) {
	d.run("busy", "Compare the weather in a few cities", plugin.End{Kind: plugin.EndCancelled, Err: session.ErrCancelled}, func() {
		for i, city := range []string{"Oslo", "Bern"} {
			call := fmt.Sprint("busy-", i)
			d.ask()
			d.say("Now " + city)
			d.tool(call, city)
			d.part(genai.RoleModel, &genai.Part{InlineData: &genai.Blob{MIMEType: "text/plain", Data: []byte("A map of " + city)}})
			d.put(d.agent, &session.Event{Actions: session.Actions{StateDelta: map[string]any{"city": city}}})
			d.put(d.agent, &session.Event{ErrorCode: "MAX_TOKENS", ErrorMessage: "too much was to be said of " + city})
			d.put(d.agent, &session.Event{Actions: session.Actions{RequestedToolConfirmations: map[string]session.Confirmation{
				call: {Hint: "May I book a flight to " + city + "?"},
			}}})
			d.put(d.agent, &session.Event{Actions: session.Actions{TransferToAgent: "helper"}})
			d.put(d.other, session.Reply("That was "+city))
			d.compact("They compare cities.", d.inv.Input.Seq-1)
		}
		d.put(session.User, &session.Event{Interrupted: true, ErrorCode: session.Cancelled, ErrorMessage: "the run was cancelled"})
	})
}

// lastRun has a tool again.
func lastRun(d *dialog) {
	d.run("last", "And in Rome?", plugin.End{Kind: plugin.EndDone}, func() {
		d.ask()
		d.tool("last", "Rome")
		d.ask()
		d.say("It is 21 degrees there")
	})
}
