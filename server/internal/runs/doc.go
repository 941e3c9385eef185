// Package runs keeps the runs of a server's process. A run belongs to the server, not to the request that
// has started it: its events are collected, and any number of followers read them, from the beginning or from
// where they were when their connection broke.
//
//	Runs             all runs of this process: starts, joins and cancels them
//	Run              one of them, with its events so far
//	Follower         one reader of a run, or of everything that happens on a session: position, resume, end
//
// To look for what a stream shows twice or not at all, begin at Follower. A new reason for a run to be
// refused goes into Start, another way to treat a busy session into Busy and makeRoom, another way to end
// into Kind and End.note.
package runs
