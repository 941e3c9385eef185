package policy

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/cmd/runner/internal/playback"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// policyReplay is what policy replay is asked for.
type policyReplay struct {
	policy, against string
	keyEnv          string
	examples        int  // events that are named of each line
	texts           bool // quotes what was found
	json            bool
}

func (p *commands) replayCommand() *cobra.Command {
	r := &policyReplay{}
	cmd := &cobra.Command{
		Use:   "replay FILE…",
		Short: "Say what a policy makes of recorded sessions",
		Long: `Play the sessions of the files (as "session export" writes them; "-" is standard
input) through the plugin guardrail, and count what the policy's rules find. The plugin is in
shadow: each event is judged as it was recorded, with what the session had said and read before
it. What follows an event that the policy would block is judged too. Rules in shadow take part,
and are marked.

Each line of the table is a rule at a stage with an action: in how many events and sessions it
finds something, how often, and of which types. Under the table the first events of each line are
named, --examples of them: session, number in it, id, author, tools, time and types. "session show"
has the same numbers; in a file that has none, they are those of the session's lines. No text is
printed, unless you ask with --text for what was found, and what stands around it. Then comes what
becomes of the events: the strictest action that a rule not in shadow asks for; and, if rules are
in shadow, what it would be if none were.

With --against OLD only the differences from another policy are printed: what a rule finds in an
event and the old one did not (new), what it no longer finds (gone), and where its action or its
findings are others (changed). Rules with the same id are the same rule. Messages, and what
replaces a finding, are not compared.

A recording has no prompts. Rules about prompts judge the conversation as it was before each
answer of a model, without the instruction. What they find counts for the event of that answer,
and again for each later answer.

What is not in the log is not seen, such as a text that was blocked then. What was redacted then
is judged as it is in the log. Tokens of the vault are judged as they are; conditions see what they
stand for if --key-env names the key with which they were made. --app, --user and --session narrow
which sessions are played. Differences are not a failure: the exit code is 0.`,
		Example: `  runner session export --all --store sqlite:sessions.db > yesterday.jsonl
  runner policy replay yesterday.jsonl --policy new.yaml
  runner policy replay yesterday.jsonl --policy new.yaml --against policy.yaml`,
		Args: cli.Args(1, -1, "which recordings? Name a session file, or - for standard input"),
		RunE: func(cmd *cobra.Command, files []string) error {
			return p.replayPolicy(cmd.Context(), r, files, cmd.Flags().Changed("against"))
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.policy, "policy", "", policyUsage)
	f.StringVar(&r.against, "against", "",
		"print only the differences from the policy of this `file`; \"\" is the built-in one")
	r.flags(f)
	return cmd
}

func (p *commands) diffCommand() *cobra.Command {
	r := &policyReplay{}
	var files []string
	cmd := &cobra.Command{
		Use:   "diff OLD NEW --sessions FILE…",
		Short: "Say what a new policy would change in recorded sessions",
		Long: `Play recorded sessions under two policies in shadow, and say what the new one would do otherwise: by rule
and stage what is new, gone or changed, with examples, and what becomes of the events. It is "policy replay FILE…
--policy NEW --against OLD".`,
		Example: `  runner session export --all --store sqlite:sessions.db > yesterday.jsonl
  runner policy diff policy.yaml new.yaml --sessions yesterday.jsonl`,
		Args: cli.Args(2, 2, "which policies? Name the old one and the new one"),
		RunE: func(cmd *cobra.Command, policies []string) error {
			if len(files) == 0 {
				return exit.Usage.Errorf("policy diff: of which sessions? --sessions names a file of them, or - for standard input")
			}
			r.against = policies[0]
			r.policy = policies[1]
			return p.replayPolicy(cmd.Context(), r, files, true)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&files, "sessions", nil, "play the sessions of this `file`; can be given again")
	r.flags(f)
	return cmd
}

// flags are those of replay and diff.
func (r *policyReplay) flags(f *pflag.FlagSet) {
	f.IntVar(&r.examples, "examples", 3, "name this `number` of events of each line")
	f.BoolVar(&r.texts, "text", false, "quote what was found in the events that are named, and what stands around it")
	f.StringVar(&r.keyEnv, "key-env", "", keyUsage)
	f.BoolVar(&r.json, "json", false, jsonUsage)
}

// check refuses flags that do not go together.
func (r *policyReplay) check() error {
	switch {
	case r.examples < 0:
		return exit.Usage.Errorf("--examples %d: it is 0 or more", r.examples)
	case r.examples == 0 && r.texts:
		return exit.Usage.Errorf("--text quotes from the events that are named, and --examples 0 names none")
	}
	return nil
}

func (p *commands) replayPolicy(ctx context.Context, r *policyReplay, files []string,
	against bool) error {
	if err := r.check(); err != nil {
		return err
	}
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
	pol = p.local(pol)
	if against {
		old = p.local(old)
	}
	recs, err := playback.Recordings(ctx, p.Program, files)
	if err != nil {
		return err
	}
	events := 0
	for _, rec := range recs {
		rec.Events = unjudged(rec.Events)
		events += len(rec.Events)
	}
	key, err := keyOf(r.keyEnv) // one for both, so that equal findings have equal fingerprints
	if err != nil {
		return err
	}
	now, err := p.judged(ctx, pol, key, recs)
	if err != nil {
		return err
	}
	report := &replayReport{
		Policy:   pol.Name(),
		Revision: pol.Revision(),
		Sessions: len(recs),
		Events:   events,
		Rules:    []*ruleLine{},
		Outcomes: []outcomeLine{},
	}
	if against {
		was, err := p.judged(ctx, old, key, recs)
		if err != nil {
			return err
		}
		report.Against = old.Name()
		report.AgainstRevision = old.Revision()
		report.differ(was, now)
		report.addExamples(recs, r.examples, r.texts, now, was)
	} else {
		report.all(now)
		report.addExamples(recs, r.examples, r.texts, now)
	}
	if r.json || p.JSONL {
		return p.WriteJSON(report)
	}
	return p.writeReplay(report)
}

// judged plays recordings under a policy in shadow.
func (p *commands) judged(ctx context.Context, pol *policy.Policy, key []byte,
	recs []*session.Recording) (*judgedEvents, error) {
	j := &judgedEvents{findings: map[found][]finding{}, failures: map[string]int{}}
	for _, r := range pol.Rules() {
		j.rules = append(j.rules, r.ID)
		if r.Shadow {
			j.shadow = append(j.shadow, r.ID)
		}
	}
	guard, err := guardrail.New(guardrail.Config{
		Policy: pol.InShadow(),
		Key:    key,
		Log:    j.log(),
		Found: func(inv *session.Invocation, e *session.Event, stage policy.Stage, f policy.Finding, text string) {
			j.add(judgedEvent{session: inv.Key, id: e.ID}, stage, f, text)
		},
	})
	if err != nil {
		return nil, exit.Usage.As(err)
	}
	if err := j.promptsOf(guard, pol, key); err != nil {
		return nil, err
	}
	svc := memory.New()
	defer svc.Close()
	counters, err := playback.Play(ctx, p.Program, svc, []*plugin.Plugin{guard}, recs, runtime.GOMAXPROCS(0))
	if err == nil {
		err = counters.Err()
	}
	for _, why := range slices.Sorted(maps.Keys(j.failures)) {
		p.Note("%s: %s could not be judged: %s", pol.Name(), phrase.Count(j.failures[why], "event"), why)
	}
	return j, err
}

// unjudged returns the events without the notes of a guardrail that has judged them. (It takes off
// itself what they add to its counts.) Each has an id, and a time that is not before that of the
// event before it; an event without a time gets the time of the one before it.
func unjudged(events []*session.Event) []*session.Event {
	list := make([]*session.Event, len(events))
	last := time.Unix(0, 0).UTC()
	for i, e := range events {
		c := e.Clone()
		delete(c.CustomMetadata, guardrail.Key)
		if c.ID == "" { // by which its findings are told apart
			c.ID = fmt.Sprintf("event-%d", i+1)
		}
		if c.Timestamp.Before(last) {
			c.Timestamp = last
		}
		last = c.Timestamp
		list[i] = c
	}
	return list
}
