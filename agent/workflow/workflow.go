// Package workflow has agents that run other agents: one after the other, at the same time, or in a
// loop. They ask no model themselves. An invocation whose input answers a call (a human's yes, a
// long-running tool's response) continues with the agent that made the call.
package workflow
