//go:build unix

package protocol

// checks are what Verify checks, in this order.
var checks = []check{
	{
		name:      "starts",
		why:       "Start: the plugin listens on a Unix socket in PLUGIN_UNIX_SOCKET_DIR and prints one line to standard output, 1|1|unix|PATH|grpc. What it prints before is noise.",
		essential: true,
		run:       with(newProbe, checkStarts),
	},
	{
		name:      "describe",
		why:       "Start, 1: Describe needs no settings and is the same always: protocol 1, a name, the JSON Schema of the settings.",
		essential: true,
		run:       checkDescribe,
	},
	{
		name:      "configure",
		why:       "Start, 2: Configure answers with the subscription: hooks that there are, flags that fit together, a filter of what there is.",
		essential: true,
		run:       with(newProbe, checkConfigure),
	},
	{
		name: "refuses settings",
		why:  "Start, 2: settings that the plugin refuses are INVALID_ARGUMENT, with a message for a person; it does not end by them.",
		run:  with(newProbe, checkSettings),
	},
	{
		name:      "conversation",
		why:       "Calls: each call is answered once, with its seq, by an Outcome that the hook may have or by a Failure.",
		essential: true,
		stream:    true,
		run:       with(ready, checkConversation),
	},
	{
		name:   "what is not sent again",
		why:    "What the host does not send again: events, state and contents are sent once. From the second event of a run on, one that the plugin was offered comes as appended: only its id and its position. The plugin keeps it, and answers as if all of it were sent each time.",
		stream: true,
		run:    checkKept,
	},
	{
		name:   "state of other sessions",
		why:    "What the host does not send again, 5: state holds the keys that have changed, in any call, also if no event says so: another session of the user may have changed a key with user: or app:. Merge them into what you have; null removes a key.",
		stream: true,
		run:    checkShared,
	},
	{
		name:   "made again",
		why:    "What the host does not send again, 1: fresh says that what the plugin has of the session does not count any more. The session was deleted, and another one was made under its key: nothing of the old one, in its state or its events, may get into the new one.",
		stream: true,
		run:    checkMadeAgain,
	},
	{
		name:   "sessions side by side",
		why:    "What the host does not send again: each session has events and state of its own. Its key is app, user and id together: other users, and other apps, may have sessions of the same id.",
		stream: true,
		run:    checkSideBySide,
	},
	{
		name:   "each call by itself",
		why:    "docs/plugins.md, What a plugin may keep: the process can be replaced between two events of one run, so what counts is the log and the state, which come with each call. Who notes in memory what it has answered, or counts there, answers otherwise then.",
		stream: true,
		run:    checkEachByItself,
	},
	{
		name:   "forget",
		why:    "What the host does not send again: after Forget a session is sent anew, with fresh. What is told of a session that is not known changes nothing.",
		stream: true,
		run:    with(ready, checkForget),
	},
	{
		name:   "unknown fields",
		why:    "Unknown fields: both sides ignore them, in every message.",
		stream: true,
		run:    with(newProbe, checkUnknown),
	},
	{
		name:   "unknown messages",
		why:    "Unknown fields: a message of a kind that the plugin does not know is ignored.",
		stream: true,
		run:    with(ready, checkUnknownMessage),
	},
	{
		name:   "unknown hook",
		why:    "Calls: each call is answered, and a hook must not end the process. A hook that the plugin does not know is no reason either.",
		stream: true,
		run:    with(ready, checkUnknownHook),
	},
	{
		name:   "large event",
		why:    "Start: the plugin takes messages up to PLUGHOOK_MAX_MESSAGE bytes, which is far more than the 4 MB that gRPC takes by default.",
		stream: true,
		run:    with(ready, checkLarge),
	},
	{
		name:   "many calls",
		why:    "Calls: calls of several invocations run at once and may be answered in any order.",
		stream: true,
		run:    with(ready, checkMany),
	},
	{
		name:   "cancel",
		why:    "Calls: Cancel says that nobody waits any more. The call is answered all the same, as soon as may be, and the stream goes on. One that comes late, or is about no call, is ignored.",
		stream: true,
		run:    with(ready, checkCancel),
	},
	{
		name:   "no time left",
		why:    "Calls: remaining is how long the host waits, and may be nothing by the time the call comes.",
		stream: true,
		run:    with(ready, checkRemaining),
	},
	{
		name:   "duplicates",
		why:    "What the host does not send again: an event may come twice, under its id in ON_EVENT and by its position in events. It is kept once.",
		stream: true,
		run:    with(ready, checkDuplicates),
	},
	{
		name:   "ping",
		why:    "Calls: Ping is answered with Pong at once, whatever else runs.",
		stream: true,
		run:    with(ready, checkPing),
	},

	// How the process ends.
	{
		name: "health",
		why:  "Start: the plugin's server has grpc.health.v1.Health, as every go-plugin server, where the service plugin is SERVING.",
		run:  with(ready, checkHealth),
	},
	{
		name:   "drain",
		why:    "Calls: after Drain no call comes. The plugin answers what it has and ends the stream; then it ends.",
		stream: true,
		run:    with(ready, checkDrain),
	},
	{
		name: "shutdown",
		why:  "Start: GRPCController's Shutdown ends the process.",
		run:  with(ready, checkShutdown),
	},
	{
		name:   "standard input ends",
		why:    "Start: the host holds standard input open. Its end means that the host is gone: the plugin ends too.",
		stream: true,
		run:    with(ready, checkStdin),
	},
	{
		name:   "the connection ends",
		why:    "Start: the end of the stream means that the host is gone, however that came: the plugin ends too.",
		stream: true,
		run:    with(ready, checkGone),
	},
	{
		name:   "SIGTERM",
		why:    "Start: to end the plugin, the host drains it, then sends SIGTERM. (As process 1 of its namespace it has to handle that: the system does nothing.)",
		stream: true,
		run:    with(ready, checkTerm),
	},
	{
		name: "killed and replaced",
		why:  "A process that is killed is replaced, and what it had is sent anew: it must not need what another process left behind.",
		run:  checkKilled,
	},
	{
		name: "started by hand",
		why:  "Start: without the cookie PLUGHOOK_PLUGIN=v1 a plugin says what it is and ends.",
		run:  checkByHand,
	},
}
