package artifact_test

import (
	"slices"
	"testing"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/internal/contract"
)

// A testCase is one rule of the contract of artifact.Service, with its explanation in words.
//
// A new rule: a case in the list whose name it begins with, with a fault in contract_faults_test.go that only
// this case finds.
type testCase = contract.Case[*tester]

// runContract tests a store against the contract of artifact.Service, each rule in a subtest. When one fails,
// its explanation is printed with the place where the rule is tested.
//
// open is called at the beginning of each case and returns a service that works; what it has to close, it
// closes in a t.Cleanup. The services may share what they keep their artifacts in, or not: every case uses
// an app of its own. So open may call t.Parallel too.
func runContract(t *testing.T, open func(t *testing.T) artifact.Service) {
	cases := slices.Concat(
		versionCases, scopeCases, nameCases, deleteCases,
		partCases, copyCases,
		endCases, concurrentCases, machineCases,
	)
	contract.Run(t, cases, func(t *testing.T) *tester {
		return &tester{Tester: contract.NewTester(t, t), Service: open(t)}
	})
}
