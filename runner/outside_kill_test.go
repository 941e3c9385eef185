package runner_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sqlite"
)

// outsideEnv tells the test binary to offer turns of an agent outside, from turn n on, to a store: "n/file".
const outsideEnv = "PLUGHOOK_TEST_OUTSIDE"

// offerTurns offers one turn after the other, and prints what becomes of each event: "turn step: outcome".
func offerTurns(file string, turn int) error {
	svc, err := sqlite.Open(ctx, file)
	if err != nil {
		return err
	}
	judge := &plugin.Plugin{
		Name: "judge",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if calls := e.FunctionCalls(); len(calls) > 0 {
				call := calls[0]
				if call.Args["denied"] == true {
					return plugin.Outcome{Emit: []*session.Event{session.Respond(call, map[string]any{"error": "no"})}}, nil
				}
				return plugin.Outcome{Emit: []*session.Event{session.Reply("note on " + call.ID)}}, nil
			}
			if e.Text() == "secret" {
				return plugin.Outcome{Emit: []*session.Event{session.Reply("withheld")}, Withhold: true, Reason: "a secret"}, nil
			}
			return plugin.Outcome{}, nil
		},
	}
	r, err := runner.New(runner.Options{Agent: agent.Outside("claude", ""), Sessions: svc, Plugins: []*plugin.Plugin{judge}})
	if err != nil {
		return err
	}
	o := runner.Outside{Runner: r, Key: key, Agent: "claude"}
	for ; ; turn++ {
		n := strconv.Itoa(turn)
		secret := session.Reply("secret")
		secret.ID = "secret " + n
		for _, e := range []*session.Event{
			prompt("in "+n, "do it"), calling("a"+n, nil), calling("d"+n, map[string]any{"denied": true}), result("a"+n, "done"), secret,
		} {
			got, err := o.Offer(ctx, e)
			if err != nil {
				return err
			}
			outcome := "invocation " + got.Invocation
			for _, c := range got.Calls {
				outcome += fmt.Sprintf(", answered %v", c.Result != nil && c.Result.Response["error"] != nil)
			}
			if got.Withheld != nil {
				outcome += ", withheld by " + got.Withheld.Plugin + ": " + got.Withheld.Reason
			}
			fmt.Printf("%s %s: %s\n", n, e.ID, outcome)
		}
		if _, err := o.End(ctx, plugin.End{}); err != nil {
			return err
		}
		fmt.Printf("%s end: \n", n)
	}
}

// A process that offers what an agent does is killed at any time. Another one offers the turn again: what was told before is
// told again, and each thing is in the log once.
func TestOutsideIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that are killed take a while: run without -short")
	}
	file := filepath.Join(t.TempDir(), "s.db")
	told := map[string]string{} // by turn and step
	turn := 0
	for range contract.Times(4) {
		offers := exec.Command(os.Args[0])
		offers.Env = append(os.Environ(), outsideEnv+"="+strconv.Itoa(turn)+file)
		out, err := offers.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, offers.Start())
		lines := bufio.NewScanner(out)
		left := 1 + rand.N(30)
		for lines.Scan() {
			step, outcome, found := strings.Cut(lines.Text(), ": ")
			require.True(t, found, lines.Text())
			if before, again := told[step]; again {
				require.Equal(t, before, outcome, step)
			}
			told[step] = outcome
			n, _, _ := strings.Cut(step, " ")
			turn, err = strconv.Atoi(n)
			require.NoError(t, err, lines.Text())
			if left--; left == 0 {
				time.Sleep(rand.N(3 * time.Millisecond)) // it goes on meanwhile
				require.NoError(t, offers.Process.Kill())
			}
		}
		_ = offers.Wait()
		require.LessOrEqual(t, left, 0, "it ended by itself")
	}

	svc, err := sqlite.Open(ctx, file)
	require.NoError(t, err)
	defer func() { require.NoError(t, svc.Close()) }()
	log, err := session.ReadAll(ctx, svc, key, session.Selection{})
	require.NoError(t, err)
	has := map[string]int{}
	for i, e := range log {
		require.EqualValues(t, i+1, e.Seq)
		require.NotEqual(t, "secret", e.Text())
		has[e.ID]++
		has[e.Text()]++
		for _, r := range e.FunctionResponses() {
			has["response "+r.ID]++
		}
		if mark, ok := e.Actions.StateDelta["runner:outside"].(map[string]any); ok {
			has[fmt.Sprint(mark["phase"], " ", mark["input"])]++
		}
	}
	for i := range turn {
		n := strconv.Itoa(i)
		for _, once := range []string{
			"in " + n, "call a" + n, "note on a" + n, "call d" + n, "response d" + n, "result a" + n, "response a" + n,
			"began in " + n, "done in " + n,
		} {
			require.Equal(t, 1, has[once], once)
		}
	}
	require.Equal(t, turn, has["withheld"]-min(1, has["withheld"]-turn))
	live, err := session.ReadAll(ctx, svc, key, session.Selection{Live: true})
	require.NoError(t, err)
	require.Len(t, live, len(session.Live(log)))
	for _, c := range session.Calls(log) {
		require.Truef(t, c.Response != nil || c.ID == "a"+strconv.Itoa(turn), "the call %s is open", c.ID)
	}
	t.Logf("%d turns, %d events", turn, len(log))
}
