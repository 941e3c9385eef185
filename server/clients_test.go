package server_test

import (
	"context"
	"iter"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// The official clients of AG-UI, A2A and Vercel's AI SDK, in Node.js, run against the server.
func TestOfficialClients(t *testing.T) {
	why := ""
	if _, err := exec.LookPath("node"); err != nil {
		why = "node is not in PATH: install Node.js 20 or later"
	} else if _, err := os.Stat("testdata/clients/node_modules/ai"); err != nil {
		why = "the clients are not installed: run npm ci in server/testdata/clients"
	}
	switch {
	case why == "":
	case os.Getenv("PLUGHOOK_TEST_ALL") != "" && os.Getenv("PLUGHOOK_WITHOUT_NPM") == "":
		t.Fatal(why)
	default:
		t.Skip(why)
	}
	for _, script := range []string{"agui.mjs", "a2a.mjs", "aisdk.mjs"} {
		t.Run(script, func(t *testing.T) {
			s := serve(t, tellerOrAct, nil, servertest.Policy())
			node := exec.CommandContext(t.Context(), "node", script, s.URL)
			node.Dir = "testdata/clients"
			out, err := node.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// goOn lets an answer to "tell" go on.
var goOn = make(chan struct{})

// tellerOrAct is servertest.Act. A message "tell" makes it tell a text, whose second half comes when somebody
// says "go on" in another session; and "picture" has a picture for an answer.
func tellerOrAct(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		switch host.Now().Input.Text() {
		case "tell":
			whole := session.Reply("Once upon a time.")
			whole.ID = session.NewID()
			for _, piece := range []string{"Once ", "upon ", "a ", "time."} {
				e := session.Reply(piece)
				e.ID = whole.ID
				e.Partial = true
				if !yield(e, nil) {
					return
				}
				if piece == "upon " {
					select {
					case <-goOn:
					case <-ctx.Done():
					}
				}
			}
			yield(whole, nil)
		case "go on":
			select {
			case goOn <- struct{}{}:
			case <-ctx.Done():
			}
		case "picture":
			e := session.Reply("Here it is.")
			e.Content.Parts = append(e.Content.Parts, genai.NewPartFromBytes([]byte("\x89PNG"), "image/png"))
			yield(e, nil)
		default:
			servertest.Act(ctx, host)(yield)
		}
	}
}
