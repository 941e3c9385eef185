package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sqlite"
)

var demoLongKey = session.Key{App: "demo", User: "ada", ID: "lisbon"}

// demoTalkOf has what was said in the long conversation, the customer first, in turn.
var demoTalkOf = []string{
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

// demoLong shows a compaction and a rewind across it, in the demo's file.
func (p *program) demoLong(ctx context.Context, file string, st style) (err error) {
	svc, err := sqlite.Open(ctx, file)
	if err != nil {
		return exitStore.as(err)
	}
	defer closeStore(svc, &err)
	if err := demoBegin(ctx, svc); err != nil {
		return exitStore.as(err)
	}
	settings := compaction.Config{Window: 1000, Trigger: 400, Summary: 75, Tail: 30, MinGain: 50, Foreground: true, Log: lowered(p.log)}
	compacts, err := compaction.New(settings)
	if err != nil {
		return exitUsage.as(err)
	}
	a, _, err := demoAgent()
	if err != nil {
		return exitUsage.as(err)
	}
	r, finish, err := p.newRunner(ctx, runner.Options{Agent: a, Sessions: svc, Plugins: []*plugin.Plugin{compacts, rewind.New(svc)}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, finish()) }()
	prompt := func(who string) error {
		inv, err := lookAt(ctx, svc, demoLongKey)
		if err != nil {
			return exitStore.as(err)
		}
		plan, err := compaction.Preview(settings, inv)
		if err != nil {
			return exitUsage.as(err)
		}
		p.demoLine(st, who, fmt.Sprintf("a prompt has %s, about %d tokens; the log has %d", counted(len(inv.Live), "event"), plan.Before, inv.Position))
		return nil
	}
	fmt.Fprintf(p.out, "\n%s\n", st.bold("6. A plugin compacts. A summary stands in for the older part of a conversation; the log keeps it all."))
	if err := prompt("before"); err != nil {
		return err
	}
	made, err := demoCommand(ctx, r, compaction.Now(""))
	if err != nil {
		return err
	}
	if made.Actions.Compaction == nil {
		return exitOther.errorf("the demo's conversation was not compacted: %s", made.ErrorMessage)
	}
	if err := prompt("after"); err != nil {
		return err
	}
	who := "summary"
	for _, part := range made.Actions.Compaction.Content.Parts {
		for line := range strings.Lines(part.Text) {
			if line = strings.TrimSpace(line); line != "" {
				p.demoLine(st, who, printable(line))
				who = ""
			}
		}
	}
	fmt.Fprintf(p.out, "\n%s\n", st.bold("7. A plugin rewinds, across the summary: the originals are back, and the last turn never happened."))
	back, err := demoCommand(ctx, r, rewind.To(int64(len(demoTalkOf)-2)))
	if err != nil {
		return err
	}
	p.demoEvent(st, back)
	if err := prompt("after"); err != nil {
		return err
	}
	for e, err := range svc.Read(ctx, demoLongKey, session.Selection{Live: true, Last: 2}) {
		if err != nil {
			return exitStore.as(err)
		}
		p.demoEvent(st, e)
	}
	return nil
}

// demoBegin puts the conversation into the store.
func demoBegin(ctx context.Context, svc session.Service) error {
	if _, err := svc.Create(ctx, demoLongKey, nil); err != nil {
		return err
	}
	var events []*session.Event
	at := time.Date(2026, time.March, 2, 18, 0, 0, 0, time.UTC)
	for i, text := range demoTalkOf {
		e := session.Message(text)
		if i%2 == 1 {
			e = session.Reply(text)
			e.Author = demoName
		}
		e.InvocationID, e.Timestamp = fmt.Sprintf("lisbon-%d", i/2+1), at.Add(time.Duration(i)*time.Minute)
		events = append(events, e)
	}
	_, err := svc.Append(ctx, session.At{Key: demoLongKey}, events...)
	return err
}

// demoCommand runs a command and returns the event that a plugin answers with.
func demoCommand(ctx context.Context, r *runner.Runner, command session.Command) (answer *session.Event, err error) {
	for e, err := range r.Run(ctx, demoLongKey, command.Event(), session.RunConfig{}) {
		if err != nil {
			return nil, runFailure(err)
		}
		answer = e
	}
	if answer == nil {
		return nil, exitOther.errorf("no plugin has answered the command %s", command.Name)
	}
	return answer, nil
}
