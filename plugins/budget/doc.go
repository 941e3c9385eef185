// Package budget is a plugin that limits how much runs may use: runs, model calls, tool calls and
// tokens. Each limit counts for a session, a user, a tenant or the whole app. It counts for ever,
// in a rolling window, or until a time of day in a time zone.
//
// When a limit is used up, an input or a model call is denied and the run stops; a tool call is
// answered with an error, or held until a human has approved it. Before that, at a share that the
// limit names, the plugin emits one warning in each window.
//
// # What is exact
//
// Runs and tool calls are counted before they happen. The event that begins a run, or calls tools,
// carries the addition to the count and the greatest number that the count may reach
// (session.Actions.StateBound). The store refuses an event whose addition would pass that number,
// and the runner then offers the event again. So no number of sessions and processes together
// passes such a limit.
//
// Model calls and tokens are known when the model has answered, so they are counted afterwards.
// Before each model call the plugin looks whether something is left. The model calls that are
// under way when a limit is used up can pass it. A model call whose answer does not become an
// event, because the caller left while it was streamed, is not counted; limit runs too where that
// matters. Tokens are what the model reports (Event.UsageMetadata); a model that reports none uses
// none.
//
// # Where the counts are
//
// The counts are numbers in the state, under keys that begin with the plugin's name: in the user's
// state for a user, in the app's for a tenant or the app, in the session's own for a session. They
// outlast restarts and hold across processes.
//
// A rewind gives nothing back: what a rewound run has used is paid for all the same. The app's and
// the user's state is not rewound. A session's own state is, so behind each rewind the plugin emits
// an event that sets the session's counts again. For that it must stand after the plugin that
// rewinds. (A session's counts could be in its user's state, which no rewind changes. But then each
// session would leave numbers there for ever, and each event of the user would read them.)
//
// The session's own state has no increments. So if one append brings several events that count (an
// event, and what another plugin emits on it), a limit per session counts only the last of them.
//
// A new thing to count: where it is counted in counts.go, its name in config.go, and its words for people in words.go.
package budget
