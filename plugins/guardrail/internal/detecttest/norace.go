//go:build !race

package detecttest

// counted is whether allocations are: the race detector makes pools forget what they have.
const counted = true
