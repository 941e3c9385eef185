package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/agent/replay"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// policyReplay is what policy replay is asked for.
type policyReplay struct {
	policy, against string
	json            bool
}

func (p *program) policyReplayCommand() *cobra.Command {
	r := &policyReplay{}
	cmd := &cobra.Command{
		Use: "replay FILE…", Short: "Say what a policy makes of recorded sessions",
		Long: `Play the sessions of the files (as "session export" writes them; "-" is standard input) through the plugin guardrail, and
count what the policy's rules find. The plugin is in shadow: each event is judged as it was recorded, with what the
session had said and read before it, and what would not have happened after a block is judged all the same. So are
rules in shadow, which are marked. Nothing of a text is written.

A line of the table is a rule at a stage with an action: in how many events and sessions it finds something, how often,
and of which types. Below stands what becomes of the events: the strictest that a rule not in shadow asks for.

With --against OLD only differences to another policy are told: what a rule finds in an event that it did not (new), no
more (gone), or otherwise (changed: another action, other findings). Rules are the same if they have the same id.
What stands in a finding's place, and messages, are not compared.

No recording has prompts. Rules about them judge the conversation as it stood before each answer of a model, and not the
instruction; what they find counts for that answer's event, with each answer again.

Not seen is what is not in the log, such as a text that was blocked then; what was redacted then is judged as it is. --app, --user and --session narrow which sessions are played. Differences are no
failure: the exit code is 0.`,
		Example: `  runner session export --all --store sqlite:sessions.db > yesterday.jsonl
  runner policy replay yesterday.jsonl --policy new.yaml
  runner policy replay yesterday.jsonl --policy new.yaml --against policy.yaml`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error {
			return p.replayPolicy(cmd.Context(), r, files, cmd.Flags().Changed("against"))
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.policy, "policy", "", policyUsage)
	f.StringVar(&r.against, "against", "", "tell only what is otherwise than under the policy of this `file`; \"\" is the one without a file")
	f.BoolVar(&r.json, "json", false, jsonUsage)
	return cmd
}

func (p *program) replayPolicy(ctx context.Context, r *policyReplay, files []string, against bool) error {
	pol, err := policyOf(ctx, r.policy)
	if err != nil {
		return err
	}
	old := pol
	if against {
		if old, err = policyOf(ctx, r.against); err != nil {
			return err
		}
	}
	if pol = p.local(pol); against {
		old = p.local(old)
	}
	recs, err := p.recordings(ctx, files)
	if err != nil {
		return err
	}
	events := 0
	for _, rec := range recs {
		rec.Events = unjudged(rec.Events)
		events += len(rec.Events)
	}
	key := make([]byte, 32) // one for both, so that equal findings have equal fingerprints
	_, _ = rand.Read(key)
	now, err := p.judged(ctx, pol, key, recs)
	if err != nil {
		return err
	}
	report := &replayReport{Policy: pol.Name(), Revision: pol.Revision(), Sessions: len(recs), Events: events, Rules: []*ruleLine{}, Outcomes: []outcomeLine{}}
	if against {
		was, err := p.judged(ctx, old, key, recs)
		if err != nil {
			return err
		}
		report.Against, report.AgainstRevision = old.Name(), old.Revision()
		report.differ(was, now)
	} else {
		report.all(now)
	}
	if r.json || p.jsonl {
		return p.writeJSON(report)
	}
	return p.writeReplay(report)
}

// judged plays recordings under a policy in shadow.
func (p *program) judged(ctx context.Context, pol *policy.Policy, key []byte, recs []*session.Recording) (*judgedEvents, error) {
	j := &judgedEvents{records: map[found][]guardrail.Record{}, failures: map[string]int{}}
	for _, r := range pol.Rules() {
		if j.rules = append(j.rules, r.ID); r.Shadow {
			j.shadow = append(j.shadow, r.ID)
		}
	}
	guard, err := guardrail.New(guardrail.Config{Policy: pol.InShadow(), Key: key, Log: slog.New(j)})
	if err != nil {
		return nil, exitUsage.as(err)
	}
	if err := j.promptsOf(guard, pol, key); err != nil {
		return nil, err
	}
	plugins := []*plugin.Plugin{guard}
	player, err := replay.New("agent", recs...)
	if err != nil {
		return nil, exitUsage.as(err)
	}
	svc := newReplayStore()
	defer svc.Close()
	tally := newTally(plugins, recs)
	r, finish, err := p.newRunner(ctx, runner.Options{Agent: player, Sessions: svc, Plugins: plugins, Restore: true, Trace: both(tally.call, j.call)})
	if err != nil {
		return nil, err
	}
	made := func(s *sessionTally) error {
		_, err := svc.Create(ctx, s.key, s.state)
		return exitUsage.as(err)
	}
	err = p.play(ctx, r, player, tally, runtime.GOMAXPROCS(0), made)
	if closed := finish(); err == nil {
		err = closed
	}
	if err == nil && tally.first != nil {
		err = exitPlugin.errorf("%d invocations ended with a failure of the plugin; the first: %w", tally.failedRuns(), tally.first)
	}
	for _, why := range slices.Sorted(maps.Keys(j.failures)) {
		p.note("%s: %d events could not be judged: %s", pol.Name(), j.failures[why], why)
	}
	return j, err
}
