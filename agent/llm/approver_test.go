package llm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// A tool that two people of a role have to approve runs after the second yes. After the first, no model is asked. The
// customer's yes, and a plugin's question that the customer has answered, do not count for the tool.
func TestATwoPeoplesTool(t *testing.T) {
	m := answers(calls("pay", `{"text":"5"}`), "paid")
	two := session.Approver{By: "finance", Names: 2}
	b := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{tool.Confirm(echo(t, "pay"), "pay?", two)}})
	b.says("go", "user: go", `bot: pay({"text":"5"})`, "bot: confirm(c1 pay? false)")
	_, err := b.run(session.Decision(true, "c1"))
	require.ErrorIs(t, err, runner.ErrNotYours)

	b.cfg.Sender = session.Sender{Name: "bob", Roles: []string{"finance"}}
	b.says(session.Decision(true, "c1"), "user: confirm(c1  true)")
	require.Len(t, m.asked, 1, "another yes is needed")
	_, err = b.run(session.Decision(true, "c1"))
	require.ErrorIs(t, err, runner.ErrNotYours)

	b.cfg.Sender.Name = "eve"
	b.says(session.Decision(true, "c1"), "user: confirm(c1  true)", `bot: pay={"result":"pay 5"}`, "bot: paid")
}
