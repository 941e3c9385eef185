package policy_test

import (
	"fmt"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// A policy is tried on a text.
func ExamplePolicy_Judge() {
	p, err := policy.Parse("policy.yaml", []byte(`
version: 1
rules:
  - {id: cards, stages: [output], detect: {pii: [CREDIT_CARD]}, action: mask}
  - {id: cards-in, stages: [input], detect: {pii: [CREDIT_CARD]}, action: block, message: Please leave out card numbers.}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, stage := range []policy.Stage{policy.Input, policy.Output} {
		v := p.Judge(stage, policy.Scope{App: "shop"}, "It is 4111 1111 1111 1111.")
		fmt.Println(v.Action, v.Rule, v.Message, v.Text)
	}
	// Output:
	// block cards-in Please leave out card numbers. It is [CREDIT_CARD].
	// mask cards  It is **** **** **** 1111.
}

// What is wrong with a policy is told with its place.
func ExampleParse() {
	_, err := policy.Parse("policy.yaml",
		[]byte("rules:\n  - id: mail\n    detekt: {pii: [EMAIL_ADDRESS]}\n    action: redact\n"))
	fmt.Println(err)
	// Output: guardrail: policy.yaml:3:5: unknown key "detekt"; did you mean "detect"?
}
