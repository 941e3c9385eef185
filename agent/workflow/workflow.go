// Package workflow has agents that run other agents: one after the other, at once, or in a loop.
// They ask no model. An invocation whose input answers a call (a human's yes, a long-running tool's
// response) goes on with the agent that had made it.
package workflow
