package agenthooks

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Decision is what a verdict comes to.
type Decision string

// Decisions.
const (
	Allow     Decision = "allow"
	Deny      Decision = "deny"
	Transform Decision = "transform"
)

// A Verdict is what an interceptor answers.
type Verdict struct {
	Decision Decision `json:"decision"`
	// Reason is for programs, Message for people. No interceptor's reason begins with "host_error:".
	Reason   string    `json:"reason,omitzero"`
	Message  string    `json:"message,omitzero"`
	Warnings []Warning `json:"warnings,omitzero"`
	// Approval is an object, {} at least, on a denial that a human may lift.
	Approval jsontext.Value `json:"approval,omitzero"`
	// Transform says what changes, if the decision is Transform.
	Transform *Change `json:"transform,omitzero"`
	// Evidence points at a proof, in at most 10,240 bytes of JSON: {"artefact": …, "verification_pointers": {…}}.
	Evidence jsontext.Value `json:"evidence,omitzero"`
	// ResultLabels stay with the data that the verdict lets through.
	ResultLabels []string `json:"result_labels,omitzero"`
}

// A Warning is a concern that changes nothing.
type Warning struct {
	Reason  string `json:"reason,omitzero"`
	Message string `json:"message,omitzero"`
}

// A Change puts a value at a path of the target: "$target.args[0].name". No value is null.
type Change struct {
	Path  string         `json:"path"`
	Value jsontext.Value `json:"value,omitzero"`
}

// Liftable reports whether the verdict is a denial that a human may lift.
func (v *Verdict) Liftable() bool { return v.Decision == Deny && v.Approval != nil }

// Reasons that only a host gives.
const (
	reserved = "host_error:"

	ContextInvalid           = reserved + "context_invalid"
	InterceptorFailed        = reserved + "interceptor_failed"
	InterceptorTimeout       = reserved + "interceptor_timeout"
	VerdictInvalid           = reserved + "verdict_invalid"
	TransformInvalid         = reserved + "transform_invalid"
	TransformTargetForbidden = reserved + "transform_target_forbidden"
	TransformConflict        = reserved + "transform_conflict"
	CompositionDisagreement  = reserved + "composition_disagreement"
	ApprovalResolverFailed   = reserved + "approval_resolver_failed"
	ApprovalUnresolved       = reserved + "approval_unresolved"
	ApprovalIdentityMismatch = reserved + "approval_identity_mismatch"
	AdapterUnsupported       = reserved + "adapter_unsupported"
	NoInterceptor            = reserved + "no_interceptor"
	StreamingUnsupported     = reserved + "streaming_unsupported"
)

// HostError reports whether a reason is a host's own.
func HostError(reason string) bool { return strings.HasPrefix(reason, reserved) }

const maxEvidence = 10240

var (
	maybeText = &schema{kinds: `"n`}

	verdictSchema = must{
		"reason":        maybeText,
		"message":       maybeText,
		"warnings":      {kinds: "[n", items: &schema{kinds: "{", maybe: must{"reason": maybeText, "message": maybeText}}},
		"approval":      object,
		"transform":     of(must{"path": text}),
		"evidence":      evidenceSchema,
		"result_labels": {kinds: "[n", items: text},
	}
	evidenceSchema = &schema{kinds: "{", maybe: must{
		"artefact":              maybeText,
		"verification_pointers": {kinds: "{", items: text},
	}}
)

// ParseVerdict reads a verdict from JSON. It returns an error if it is none that an interceptor may give.
func ParseVerdict(data []byte) (Verdict, error) {
	var v Verdict
	var members map[string]jsontext.Value
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		return v, errors.New("the verdict is not a JSON object")
	}
	if err := checkMembers(members, "", must{"decision": text}, verdictSchema); err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v, json.RejectUnknownMembers(true)); err != nil {
		return v, errors.New("the verdict has a member that it may not have")
	}
	return v, v.check()
}

// check returns an error if an interceptor may not give the verdict.
func (v *Verdict) check() error {
	switch v.Decision {
	case Allow, Deny, Transform:
	default:
		return errors.New("decision is none of allow, deny and transform")
	}
	if HostError(v.Reason) {
		return fmt.Errorf("the reason begins with %s", reserved)
	}
	for _, w := range v.Warnings {
		if HostError(w.Reason) {
			return fmt.Errorf("a warning's reason begins with %s", reserved)
		}
	}
	if (v.Transform != nil) != (v.Decision == Transform) {
		return errors.New("transform is there exactly if the decision is transform")
	}
	if v.Approval != nil && (v.Decision != Deny || v.Approval.Kind() != '{' || !v.Approval.IsValid()) {
		return errors.New("approval is an object, and only on a deny")
	}
	if v.Transform != nil && v.Transform.Value != nil && !v.Transform.Value.IsValid() {
		return errors.New("transform.value is not JSON")
	}
	return v.checkEvidence()
}

func (v *Verdict) checkEvidence() error {
	if v.Evidence == nil {
		return nil
	}
	var e struct {
		Artefact jsontext.Value `json:"artefact"`
		Pointers jsontext.Value `json:"verification_pointers"`
	}
	err := evidenceSchema.check(v.Evidence, "evidence")
	if err == nil {
		err = json.Unmarshal(v.Evidence, &e, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return errors.New("evidence is not what it may be")
	}
	c := v.Evidence.Clone()
	if err := c.Canonicalize(); err != nil || len(c) > maxEvidence {
		return fmt.Errorf("evidence has more than %d bytes", maxEvidence)
	}
	return nil
}

// clone returns a copy that shares nothing that its receiver might change.
func (v Verdict) clone() Verdict {
	v.Warnings = append([]Warning(nil), v.Warnings...)
	v.ResultLabels = append([]string(nil), v.ResultLabels...)
	v.Approval = v.Approval.Clone()
	v.Evidence = v.Evidence.Clone()
	if v.Transform != nil {
		change := *v.Transform
		change.Value = change.Value.Clone()
		v.Transform = &change
	}
	return v
}

// denial is a verdict of the host.
func denial(reason, message string) Verdict {
	return Verdict{Decision: Deny, Reason: reason, Message: message}
}
