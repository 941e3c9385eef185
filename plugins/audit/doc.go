// Package audit is a plugin that keeps a record of what agents did, for people who have to answer for it: a
// file of JSON Lines, one for each event and for the begin and end of each invocation. It says who, when, which
// tools, how large, how many tokens, what was denied or changed and by which plugin, and by which rule of a policy; it
// does not say what was said.
//
// # What a line promises
//
// The plugin is no observer, for an observer may miss calls. Its hooks return once the line is in the file
// (and, with Sync "always", on the disk), and the runner appends an event only after that: as long as the
// plugin stands last in the list and fails closed, no event is in the log without its line. The reverse is not
// promised: a line is about an event that was about to be appended, and the append may have failed, or a
// plugin further down the list may have withheld it. The id of the event tells.
//
// If the line cannot be written (a full disk, a file that is gone and cannot be made again), the hook fails,
// and the run ends: what cannot be recorded does not happen.
//
//	kind    says
//	event   an event is about to be appended: the input, the agent's, a plugin's
//	begin   the input is in the log, agents are about to run; there is none for an input that was withheld
//	end     how the invocation ended
//	repair  the last line was cut off when its writer died; it was taken away
//
// # What is not in it
//
// No text, no thoughts, no arguments, no responses, no values of the state, no names of files or artifacts, no
// messages of errors. What models and clients choose as a name (of a tool, a call, a state key, a code) is
// written only if it looks like one: at most 128 letters, digits and "._:/@+-$"; else its length is. Reasons are
// written, in their first 200 bytes: they are what plugins' authors say, who must not quote (see plugin.Outcome).
// App, user and session are written as they are, for a record has to say who.
//
// # Evidence
//
// Each line has the number n and prev, the hash of the line before; so a line that was changed, removed, added
// or moved shows (Verify). Without a key that is SHA-256 of the line without its line feed: who can write the
// file can compute it anew, unless you keep the last hash somewhere else. With a key it is an HMAC, which needs
// the key. That lines were cut off at the end shows only against a number that you know.
//
// Several processes may write one file: they take turns with a lock on it (flock; elsewhere than on Linux, macOS and
// the BSDs there is none, and one process writes a file). The chain is the file's, not the writer's, and goes on
// over rotated files, restarts and repairs.
//
// # Two runs, one file
//
// A line has no clock and nothing random of its own. Times are those of events (an end has that of the
// invocation's last event), so who replays a recording twice, one session after the other and with no plugin that adds
// events, gets the same file twice, to the byte, in process or out of it. Config.Clock gives that up.
package audit
