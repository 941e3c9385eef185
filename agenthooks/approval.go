package agenthooks

import (
	"bytes"
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// A Resolver decides whether a denial is lifted: a person, or a program that asks one. It must be safe for concurrent use.
type Resolver interface {
	Resolve(ctx context.Context, r Request) (Resolution, error)
}

// ResolverFunc is a function that is a Resolver.
type ResolverFunc func(ctx context.Context, r Request) (Resolution, error)

// Resolve calls the function.
func (f ResolverFunc) Resolve(ctx context.Context, r Request) (Resolution, error) { return f(ctx, r) }

// A Request asks about a denial that may be lifted.
type Request struct {
	// Identity is that of Context, nil if the host has no identities.
	Identity *string        `json:"context_identity"`
	Point    Point          `json:"interception_point"`
	Verdict  Verdict        `json:"verdict"`
	Context  jsontext.Value `json:"context,omitzero"`
}

// A Resolution answers a Request. Approve has a Verdict that permits, Reject one that denies, Unresolved none.
type Resolution struct {
	Outcome string `json:"outcome"`
	// Identity repeats the request's.
	Identity *string  `json:"context_identity"`
	Verdict  *Verdict `json:"verdict,omitzero"`
}

// Outcomes of a Resolution.
const (
	Approve    = "approve"
	Reject     = "reject"
	Unresolved = "unresolved"
)

var emptyObject = jsontext.Value("{}")

// mayConsult reports whether a verdict is a denial that is asked about.
func (e *emission) mayConsult(v *Verdict) bool {
	return v.Liftable() && e.Resolver != nil && e.host.Mode == Enforce && e.Point != AgentShutdown
}

// consult asks about a denial, and returns the verdict that stands in its place. lifted says that it permits.
func (e *emission) consult(v Verdict) (by Verdict, lifted bool) {
	e.resolved = "rejection"
	reason, err := e.resolve(v, &by)
	switch {
	case errors.Is(err, errIdentity):
		return denial(ContextInvalid, ""), false
	case err != nil:
		return denial(ApprovalResolverFailed, ""), false
	case reason != "":
		return denial(reason, ""), false
	case by.Decision == Deny:
		return by, false
	}
	e.resolved = "approval"
	e.returned = append(e.returned, by)
	return by, true
}

var errIdentity = errors.New("the identity of what is shown was not computed")

// resolve asks the resolver and checks its answer, in the order of the specification (section 9).
func (e *emission) resolve(v Verdict, by *Verdict) (reason string, err error) {
	shown, err := e.now.bytes()
	if err == nil && e.host.Redact != nil {
		err = safely(func() (err error) {
			shown, err = e.host.Redact(shown)
			return err
		})
	}
	if err != nil {
		return "", err
	}
	request := Request{Point: e.Point, Verdict: v.clone(), Context: jsontext.Value(bytes.Clone(shown))}
	if !e.host.Unbound {
		id, err := e.identify(shown)
		if err != nil {
			return "", errIdentity
		}
		request.Identity = new(id)
	}
	expected := request.Identity
	if expected != nil {
		expected = new(*expected)
	}
	r, err := within(e.host, e.ctx, e.host.ApprovalTimeout, func(ctx context.Context) (Resolution, error) {
		return e.Resolver.Resolve(ctx, request)
	})
	if err != nil {
		return "", err
	}
	same := (r.Identity == nil) == (expected == nil) && (expected == nil || *r.Identity == *expected)
	known := r.Outcome == Approve || r.Outcome == Reject || r.Outcome == Unresolved
	switch {
	case !same:
		return ApprovalIdentityMismatch, nil
	case !known || (r.Verdict != nil) != (r.Outcome != Unresolved):
		return ApprovalResolverFailed, nil
	case r.Outcome == Unresolved:
		return ApprovalUnresolved, nil
	}
	*by = r.Verdict.clone()
	if err := by.check(); err != nil || (by.Decision == Deny) != (r.Outcome == Reject) {
		return VerdictInvalid, nil
	}
	return "", nil
}
