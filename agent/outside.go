package agent

import (
	"context"
	"iter"

	"github.com/plughook/plughook/session"
)

// RunsElsewhere is the error code with which an agent made by Outside answers a message.
const RunsElsewhere = "RUNS_ELSEWHERE"

// Outside returns an agent that stands for one in another program, which tells a runner what it does (see
// runner.Outside). In a run of the runner it does nothing about a decision or a change of state. A message it
// answers with an event whose ErrorCode is RunsElsewhere, since nobody can hand it to the other program.
func Outside(name, description string) Agent {
	return New(name, description, func(_ context.Context, host *Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			input := host.Now().Input
			if input == nil || input.Content == nil || len(input.FunctionResponses()) > 0 {
				return
			}
			yield(&session.Event{
				ErrorCode:    RunsElsewhere,
				ErrorMessage: "the agent " + name + " runs in another program; talk to it there",
			}, nil)
		}
	})
}
