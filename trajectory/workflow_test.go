package trajectory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/trajectory"
)

// A workflow answers with its own output, and not with those of its nodes.
func TestAWorkflowsOutputIsAnAnswer(t *testing.T) {
	of := func(path string, output any) *session.Event {
		return &session.Event{
			Author:   "desk",
			Output:   output,
			NodeInfo: &session.NodeInfo{Path: path, Ended: true},
		}
	}
	for _, c := range []struct {
		output any
		want   string
	}{
		{"sent", "sent"},
		{map[string]any{"sent": true}, `{"sent":true}`},
		{false, "false"},
		{nil, "hello"},
	} {
		events := []*session.Event{
			session.Reply("hello"),
			of("desk@i/send@1", "a step"),
			of("desk@i", c.output),
		}
		events[0].Author = "helper"
		require.Equal(t, c.want, trajectory.FinalOutput(events))
	}
}
