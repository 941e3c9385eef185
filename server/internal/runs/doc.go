// Package runs keeps the runs of a server's process. A run belongs to the server, not to the request that
// has started it: its events are collected, and any number of followers read them, from the beginning or from
// where they were when their connection broke.
//
//	Runs             all runs of this process: starts, joins and cancels them
//	Run              one of them, with its events so far
//	Follower         one reader of a run
//	SessionFollower  one reader of everything that happens on a session
package runs
