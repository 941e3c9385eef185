// Package workflow has agents that run other agents: one after the other (Sequential), at the same time
// (Parallel), in a loop (Loop), or as a graph of nodes (New). They ask no model themselves. An invocation
// whose input answers a call (a human's yes, a long-running tool's response) continues with the agent
// that made the call.
//
// # Graphs
//
// The nodes of a graph are functions, agents, tools, joins, workers for each item of a list, and graphs.
// What has happened is in the log and nowhere else. A run of a node that has ended has written one event
// that ends it, with its output, its route and its state; while that event counts, the run is not made
// again. A run without one is. So a first run, an answer that comes days later, a crash and a rewind are
// all the same: the ends in the log, in their order, trigger the nodes after them along the edges, the
// n-th trigger of a node is its run n, and what has a trigger and has not ended is started.
//
// The path of a run has an element for each graph and node around it: "desk@mon/review@2" is the second
// run of the node review in the run of the workflow desk that the invocation mon has begun.
//
// A run of a graph that waits for a person, was cut off, or has failed goes on with an invocation that
// answers its question, or that has no input. A new message begins another run; the old one stays. Abandon
// ends one.
//
// A new kind of node is a type with the methods of kind (node.go) and a function that makes its Node, in a
// file of its own; join in each.go is the smallest one. What is wrong with a graph before it runs is found in
// graph.go. What else the scheduler has to ask the log goes into the fold, ledger.go.
package workflow
