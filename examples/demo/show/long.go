package show

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

var longKey = session.Key{App: "demo", User: "ada", ID: "lisbon"}

// conversation is the long conversation: the customer and the agent in turn.
var conversation = []string{
	"I want to go to Lisbon in May, for five days, with my sister Grace.",
	"Lovely. From which city would you fly, and what should it cost at most?",
	"From Bergen. All in all 1,800 EUR for both of us.",
	"There is TP1043 on 4 May at 9:40, by way of Oslo, for 312 EUR each.",
	"That is fine, but not on a Monday: Grace works until the evening.",
	"Then TP1047 on Tuesday, 5 May, at 7:15, for 298 EUR each.",
	"Good, take that one. Grace needs a seat on the aisle, she has a bad knee.",
	"Booked under QX7P2L: 14C on the aisle for Grace, 14B for you.",
	"Where do we stay? Somewhere quiet, and no stairs, because of the knee.",
	"Casa do Rio in Alfama is quiet, but on a hill. Hotel Avenida has a lift, 96 EUR a night.",
	"The one with the lift then, four nights.",
	"Hotel Avenida, 5 to 9 May, is booked: reservation 88231, 384 EUR.",
	"What is left of our money?",
	"1,800 less 596 for the flight and 384 for the hotel: 820 EUR.",
	"Cancel the hotel please, we sleep at a friend's!",
	"Reservation 88231 is cancelled.",
}

// long compacts the long conversation, and rewinds it across the summary.
func (d *Demo) long(ctx context.Context, dir string) (err error) {
	svc, closeStore, err := d.store().Open(ctx, dir)
	if err != nil {
		return err
	}
	defer closing(closeStore, &err)
	if err := begin(ctx, svc, longKey); err != nil {
		return err
	}
	settings := compaction.Config{
		Window:     1000,
		Trigger:    400,
		Summary:    75,
		Tail:       30,
		MinGain:    50,
		Foreground: true,
		Log:        d.log(),
	}
	compacts, err := compaction.New(settings)
	if err != nil {
		return err
	}
	a, _, err := newAgent()
	if err != nil {
		return err
	}
	r, closeRunner, err := d.newRunner(ctx, runner.Options{
		Agent:    a,
		Sessions: svc,
		Plugins:  []*plugin.Plugin{compacts, rewind.New(svc)},
	})
	if err != nil {
		return err
	}
	defer closing(closeRunner, &err)

	// prompt says how much of the conversation a model would be sent.
	prompt := func(who string) error {
		s, err := svc.Get(ctx, longKey)
		if err != nil {
			return err
		}
		live, err := read(ctx, svc, session.Selection{Live: true})
		if err != nil {
			return err
		}
		events := fmt.Sprintf("%d events", len(live))
		if len(live) == 1 {
			events = "1 event"
		}
		plan, err := settings.Preview(ctx, &session.Invocation{
			Key:      longKey,
			Live:     live,
			State:    s.State,
			Position: s.Position,
			Frontier: s.Frontier,
		}, "")
		if err != nil {
			return err
		}
		d.line(who, fmt.Sprintf("a prompt has %s, about %d tokens; the log has %d", events, plan.Before, s.Position))
		return nil
	}

	d.title("7. A plugin compacts. A summary stands in for the older part of a conversation; the log keeps it all.")
	if err := prompt("before"); err != nil {
		return err
	}
	made, err := command(ctx, r, compaction.Now(""))
	if err != nil {
		return err
	}
	if made.Actions.Compaction == nil {
		return &BrokenError{"the conversation was not compacted: " + made.ErrorMessage}
	}
	if err := prompt("after"); err != nil {
		return err
	}
	who := "summary"
	for _, part := range made.Actions.Compaction.Content.Parts {
		for line := range strings.Lines(part.Text) {
			line = strings.TrimSpace(line)
			if line != "" {
				d.line(who, eventtext.Printable(line))
				who = ""
			}
		}
	}

	d.title("8. A plugin rewinds, across the summary: the originals are back, and the last turn never happened.")
	back, err := command(ctx, r, rewind.To(int64(len(conversation)-2)))
	if err != nil {
		return err
	}
	d.event(back)
	if err := prompt("after"); err != nil {
		return err
	}
	last, err := read(ctx, svc, session.Selection{Live: true, Last: 2})
	for _, e := range last {
		d.event(e)
	}
	return err
}

// begin puts the conversation into the store, as a session.
func begin(ctx context.Context, svc session.Service, key session.Key) error {
	if _, err := svc.Create(ctx, key, nil); err != nil {
		return err
	}
	var events []*session.Event
	at := time.Date(2026, time.March, 2, 18, 0, 0, 0, time.UTC)
	for i, text := range conversation {
		e := session.Message(text)
		if i%2 == 1 {
			e = session.Reply(text)
			e.Author = agentName
		}
		e.InvocationID = fmt.Sprintf("lisbon-%d", i/2+1)
		e.Timestamp = at.Add(time.Duration(i) * time.Minute)
		events = append(events, e)
	}
	_, err := svc.Append(ctx, session.AppendTarget{Key: key}, events...)
	return err
}

// read reads events of the conversation.
func read(ctx context.Context, svc session.Service, sel session.Selection) ([]*session.Event, error) {
	return session.ReadAll(ctx, svc, longKey, sel)
}

// command runs a command, and returns the event that a plugin answers with.
func command(ctx context.Context, r *runner.Runner, c session.Command) (answer *session.Event, err error) {
	for e, err := range r.Run(ctx, longKey, c.Event(), session.RunConfig{}) {
		if err != nil {
			return nil, err
		}
		answer = e
	}
	if answer == nil {
		return nil, &BrokenError{"no plugin has answered the command " + c.Name}
	}
	return answer, nil
}
