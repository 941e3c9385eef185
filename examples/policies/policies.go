// Package policies has policies to begin with. Their tests are in them.
//
// A new policy is a file here; TestPolicies runs the tests in it.
package policies

import _ "embed"

// CodingAgent is the policy for coding agents, which "runner hook install" puts beside a new configuration.
//
//go:embed coding-agent.yaml
var CodingAgent string
