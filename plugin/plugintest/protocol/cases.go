//go:build unix

package protocol

// verifyCases are the cases of Verify, in order: name, why, whether nothing else can be said without it, whether it is
// about the stream of calls.
var verifyCases = []testCase{
	{"starts", "Start: the plugin listens on a Unix socket in PLUGIN_UNIX_SOCKET_DIR and prints one line to standard output, 1|1|unix|PATH|grpc. What it prints before is noise.", true, false, verifyStarts},
	{"describe", "Start, 1: Describe needs no settings and is the same always: protocol 1, a name, the JSON Schema of the settings.", true, false, verifyDescribe},
	{"configure", "Start, 2: Configure answers with the subscription: hooks that there are, flags that fit together, a filter of what there is.", true, false, verifyConfigure},
	{"refuses settings", "Start, 2: settings that the plugin refuses are INVALID_ARGUMENT, with a message for a person; it does not end by them.", false, false, verifySettings},
	{"conversation", "Calls: each call is answered once, with its seq, by an Outcome that the hook may have or by a Failure.", true, true, verifyConversation},
	{"what is not sent again", "What the host does not send again: events, state and contents are sent once, and kept by their position; the plugin answers as if all of it were sent each time.", false, true, verifyKept},
	{"forget", "What the host does not send again: after Forget a session is sent anew, with fresh. What is told of a session that is not known changes nothing.", false, true, verifyForget},
	{"unknown fields", "Unknown fields: both sides ignore them, in every message.", false, true, verifyUnknown},
	{"unknown messages", "Unknown fields: a message of a kind that the plugin does not know is ignored.", false, true, verifyUnknownMessage},
	{"unknown hook", "Calls: each call is answered, and a hook must not end the process. A hook that the plugin does not know is no reason either.", false, true, verifyUnknownHook},
	{"large event", "Start: the plugin takes messages up to PLUGHOOK_MAX_MESSAGE bytes, which is far more than the 4 MB that gRPC takes by default.", false, true, verifyLarge},
	{"many calls", "Calls: calls of several invocations run at once and may be answered in any order.", false, true, verifyMany},
	{"cancel", "Calls: Cancel says that nobody waits any more. The call is answered all the same, as soon as may be, and the stream goes on. One that comes late, or is about no call, is ignored.", false, true, verifyCancel},
	{"no time left", "Calls: remaining is how long the host waits, and may be nothing by the time the call comes.", false, true, verifyRemaining},
	{"duplicates", "What the host does not send again: an event may come twice, under its id in ON_EVENT and by its position in events. It is kept once.", false, true, verifyDuplicates},
	{"ping", "Calls: Ping is answered with Pong at once, whatever else runs.", false, true, verifyPing},
	// how it ends
	{"health", "Start: the plugin's server has grpc.health.v1.Health, as every go-plugin server, where the service plugin is SERVING.", false, false, verifyHealth},
	{"drain", "Calls: after Drain no call comes. The plugin answers what it has and ends the stream; then it ends.", false, true, verifyDrain},
	{"shutdown", "Start: GRPCController's Shutdown ends the process.", false, false, verifyShutdown},
	{"standard input ends", "Start: the host holds standard input open. Its end means that the host is gone: the plugin ends too.", false, true, verifyStdin},
	{"the connection ends", "Start: the end of the stream means that the host is gone, however that came: the plugin ends too.", false, true, verifyGone},
	{"SIGTERM", "Start: to end the plugin, the host drains it, then sends SIGTERM. (As process 1 of its namespace it has to handle that: the system does nothing.)", false, true, verifyTerm},
	{"killed and replaced", "A process that is killed is replaced, and what it had is sent anew: it must not need what another process left behind.", false, false, verifyKilled},
	{"started by hand", "Start: without the cookie PLUGHOOK_PLUGIN=v1 a plugin says what it is and ends.", false, false, verifyByHand},
}
