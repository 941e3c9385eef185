package hooks_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Answers in an agent's place, before it has asked its model for the first time in this run.
func Example_beforeAgent() {
	closed := &plugin.Plugin{
		Name: "hours",
		BeforeModel: func(_ context.Context, inv *session.Invocation, req *model.Request) (plugin.Outcome, error) {
			begun := slices.ContainsFunc(inv.Live, func(e *session.Event) bool {
				return e.InvocationID == inv.ID && e.Author == req.Agent && e.Branch == req.Branch
			})
			if req.Agent != "billing" || begun {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{
				Emit:     []*session.Event{session.Reply("Billing opens at nine.")},
				Withhold: true,
			}, nil
		},
	}
	front := newAgent(llm.Config{Name: "front", Model: says(handOver("billing")),
		SubAgents: []agent.Agent{newAgent(llm.Config{Name: "billing", Model: says()})}})
	run(front, []*plugin.Plugin{closed}, "I want my money back.")
	// Output:
	// user: I want my money back.
	// front: transfer_to_agent({"agent_name":"billing"})
	// front: transfer_to_agent = {"result":"handed over to billing"}
	// plugin/hours: Billing opens at nine.
}

// Adds a line to what an agent says last. An agent's last word is its text without calls and
// without a failure.
func Example_afterAgent() {
	disclaimer := &plugin.Plugin{
		Name: "disclaimer",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author != "lawyer" || e.Text() == "" || e.ErrorCode != "" ||
				len(session.Calls([]*session.Event{e})) > 0 {
				return plugin.Outcome{}, nil
			}
			longer := e.Clone()
			longer.Content.Parts = append(
				longer.Content.Parts,
				session.Reply("This is no legal advice.").Content.Parts...)
			return plugin.Outcome{Replace: longer}, nil
		},
	}
	lawyer := newAgent(llm.Config{Name: "lawyer", Model: says("You may.")})
	run(lawyer, []*plugin.Plugin{disclaimer}, "May I?")
	// Output:
	// user: May I?
	// lawyer: You may. This is no legal advice.
}

// Says when each agent began and ended, by position in the log. That needs no memory: once the run
// is over the log has it all.
func Example_agentSpans() {
	spans := &plugin.Plugin{
		Name: "spans",
		AfterRun: func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
			first, last := map[string]int64{}, map[string]int64{}
			var order []string
			for _, e := range inv.Live {
				if e.InvocationID != inv.ID || !e.FromAgent() {
					continue
				}
				if first[e.Author] == 0 {
					first[e.Author], order = e.Seq, append(order, e.Author)
				}
				last[e.Author] = e.Seq
			}
			for _, agent := range order {
				fmt.Println(agent, "from", first[agent], "to", last[agent])
			}
			return plugin.Outcome{}, nil
		},
	}
	writer := newAgent(llm.Config{Name: "writer", Model: says(call("look_up", nil), "A draft.")})
	critic := newAgent(llm.Config{Name: "critic", Model: says("It is fine.")})
	run(workflow.Sequential("paper", "", writer, critic), []*plugin.Plugin{spans}, "Write.")
	// Output:
	// user: Write.
	// writer: look_up(null)
	// writer: look_up = {"error":"there is no function \"look_up\"; there are: "}
	// writer: A draft.
	// critic: It is fine.
	// writer from 2 to 4
	// critic from 5 to 5
}

// Sees what an agent is asked that is called like a tool. The request begins a branch of its own;
// here the customer's name is taken out of it.
func Example_branch() {
	private := &plugin.Plugin{
		Name: "private",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if !strings.HasPrefix(e.Branch, "expert@") || e.Author == "expert" ||
				!strings.Contains(e.Text(), "Ada") {
				return plugin.Outcome{}, nil
			}
			masked := e.Clone()
			for _, p := range masked.Content.Parts {
				p.Text = strings.ReplaceAll(p.Text, "Ada", "a customer")
			}
			return plugin.Outcome{Replace: masked}, nil
		},
	}
	expert := newAgent(llm.Config{Name: "expert", Model: says("Yes.")})
	front := newAgent(llm.Config{Name: "front", AgentTools: []agent.Agent{expert},
		Model: says(call("expert", map[string]any{"request": "May Ada have a refund?"}),
			"You may.")})
	run(front, []*plugin.Plugin{private}, "May I have a refund?")
	// Output:
	// user: May I have a refund?
	// front: expert({"request":"May Ada have a refund?"})
	// front in expert@c-expert: May a customer have a refund?
	// expert in expert@c-expert: Yes.
	// front: expert = {"result":"Yes."}
	// front: You may.
}
