// Package eval lets an agent talk through cases, each in a session of its own, and compares what it does with what
// the case expects: which tools it calls, what it says, what plugins make of that, which nodes of a workflow run, what
// it costs and how long it takes.
//
//   - Read reads cases: eval sets of the Agent Development Kit, and this project's YAML and CSV.
//   - An Evaluator runs them. Its Trace and Tools belong into the Runner that it is given.
//   - A Result says what came of each case. Compare tells two of them apart.
//
// A new expectation: a field of Expect, and its case in check.go. A new criterion of the kit: its name in criteria.go
// and its score in score.go.
package eval
