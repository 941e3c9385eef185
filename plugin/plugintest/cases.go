package plugintest

import (
	"context"
	"errors"
	"testing"

	"github.com/plughook/plughook/plugin"
)

// A Case is one rule that every plugin keeps.
type Case struct {
	// Name says the rule in a few words.
	Name string
	// Why explains it: what goes wrong with a plugin that breaks it, and what to do.
	Why string

	run func(ctx context.Context, p *plugin.Plugin) error
}

// Run tests a plugin. It returns nil if the plugin keeps the rule, a Skip if the rule does not
// apply to this plugin, and otherwise an error that says what the plugin did wrong. If ctx is
// done before the end, the plugin has failed.
func (c Case) Run(ctx context.Context, p *plugin.Plugin) error { return c.run(ctx, p) }

// A Skip is an error that says why a case does not apply to a plugin.
type Skip string

// Error implements error.
func (s Skip) Error() string { return "skipped: " + string(s) }

// Cases returns the cases in order. The last one closes the plugin.
func Cases() []Case {
	o := new(oddities)
	return []Case{
		{
			Name: "valid",
			Why:  "A runner refuses a plugin whose name is not one, that has no hook, or whose fields contradict each other (plugin.Validate).",
			run:  func(_ context.Context, p *plugin.Plugin) error { return plugin.Validate(p) },
		},
		{
			Name: "no panic",
			Why:  "Events without content, with parts that are empty or null, with calls and responses that do not fit, with other kits' marks and with very much text are in real logs. A panic is a failure, and ends the run. A hook that cannot go on returns an error.",
			run:  o.keep(noPanic),
		},
		{
			Name: "returns",
			Why:  "A hook returns by itself, whatever its context: within 10 seconds here, and within the time that the runner's configuration gives it, which is 250 ms for a plugin in a process of its own.",
			run:  o.keep(returns),
		},
		{
			Name: "nothing in place",
			Why:  "Events, invocations and what the contents of requests point to are shared with the log, other plugins and other runs. To change an event, answer Replace with a changed Clone; to change a request, put a changed copy of a content in its place.",
			run:  o.keep(inPlace),
		},
		{
			Name: "allowed outcomes",
			Why:  "Replace is for OnEvent only and excludes Withhold; AfterRun cannot withhold or stop; nil and partial events cannot be emitted; customMetadata.plughook is the runner's. See the table in package plugin's documentation.",
			run:  o.keep(allowed),
		},
		{
			Name: "events that can be appended",
			Why:  "What a plugin emits, and what it makes of an event, goes into the log. If the store refuses it (a rewind that carries content, an event id that is taken, a compaction of what is not there), the run fails.",
			run:  o.acceptable,
		},
		{
			Name: "observers ask nothing",
			Why:  "Observer says that the plugin only looks. What it answers is not carried out, so an answer is a mistake: either drop it or do not say Observer.",
			run: func(ctx context.Context, p *plugin.Plugin) error {
				if !p.Observer {
					return Skip("it is no observer")
				}
				return o.keep(observes)(ctx, p)
			},
		},
		{
			Name: "unknown keys survive",
			Why:  "Events have keys that this version does not know. A replacement is a Clone with the change in it; an event that is built anew loses what its author did not think of. (Who must have seen all that is kept takes session.Event.WithoutUnknown, and keeps what is known.)",
			run:  o.unknownKeys,
		},
		{
			Name: "partial events",
			Why:  "Partials says that OnEvent takes the pieces of a streamed answer: they have the id of the event they lead to, and are not in the log.",
			run:  partials,
		},
		{
			Name: "requests settle",
			Why:  "What BeforeModel emits changes the log, so the request is built anew and the hook starts over. A plugin that emits each time never lets the model be called; look in the live view for what you have emitted already.",
			run:  settles,
		},
		{
			Name: "every end",
			Why:  "AfterRun is called once for each invocation, however it ended: done, stopped, failed, cancelled or left. The error of an end may be nil, and the live view empty.",
			run:  ends,
		},
		{
			Name: "cancelled in time",
			Why:  "When the context of a hook is done nobody waits for its answer any more: it returns, within 5 seconds here, with an error or without.",
			run:  cancelled,
		},
		{
			Name: "usable after a cancelled run",
			Why:  "A caller may leave at any time. What a plugin keeps for an invocation must not keep it from the next one.",
			run:  afterCancel,
		},
		{
			Name: "usable after a failed append",
			Why:  "The store may refuse an append, or be away. What was emitted then is not in the log, is not emitted again for ever, and the next run works.",
			run:  afterFailure,
		},
		{
			Name: "sessions at once",
			Why:  "One plugin serves many runs at once, so its hooks are safe for concurrent use (go test -race sees more than this case), and nothing of one session gets into another.",
			run:  concurrent,
		},
		{
			Name: "the same through the wire",
			Why:  "A plugin that keeps to what hooks are given answers alike in process and in a process of its own: nothing is passed by pointers, contexts or globals.",
			run:  encoded,
		},
		{
			Name: "closes",
			Why:  "Close is called once no hook is running, and returns by the time its context is done. A second call does no harm.",
			run:  closes,
		},
	}
}

// Check runs all cases with a plugin, each as a subtest, and closes the plugin at the end. Give
// it a plugin as it is used, with settings that make it do something, and without files or
// services that others need.
func Check(t *testing.T, p *plugin.Plugin) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			var skip Skip
			err := c.Run(t.Context(), p)
			switch {
			case errors.As(err, &skip):
				t.Skip(string(skip))
			case err != nil:
				t.Errorf("%v\n\n%s", err, c.Why)
			}
		})
	}
}
