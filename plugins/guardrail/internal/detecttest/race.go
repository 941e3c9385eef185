//go:build race

package detecttest

// race tells whether the race detector is on. Under it an instruction costs ten, and pools forget
// what they have.
const race = true
