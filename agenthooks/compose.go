package agenthooks

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// A Profile says how the verdicts of many interceptors become one. The set is closed.
type Profile string

// Profiles.
const (
	FirstDeny Profile = "sequential/first_deny" // each sees what those before it left; the first denial ends it
	RunAll    Profile = "sequential/run_all"    // likewise, but all are asked; the strictest verdict counts
	Strictest Profile = "parallel/strictest"    // all see the same; the strictest verdict counts
	Unanimous Profile = "parallel/unanimous"    // all see the same, and all must allow
)

// A Composition is a profile with what it leaves to the host. The zero Composition is FirstDeny.
type Composition struct {
	Profile Profile `json:"profile" yaml:"profile"`
	// OnApproval says what follows when a human has lifted a denial under FirstDeny: "stop" ends the emission, "resume"
	// goes on with the next interceptor.
	OnApproval string `json:"on_approval,omitzero" yaml:"on_approval"`
	// OnDisagreement says what it is under Unanimous if not all allow: "deny", or "approval", which asks a human.
	OnDisagreement string `json:"on_disagreement,omitzero" yaml:"on_disagreement"`
	// OnTransformConflict says what two transforms of the same are under a parallel profile: "deny" or "approval".
	OnTransformConflict string `json:"on_transform_conflict,omitzero" yaml:"on_transform_conflict"`
}

// resolved returns the composition with its defaults, and without what its profile does not read.
func (c Composition) resolved() (Composition, error) {
	r := Composition{Profile: cmp.Or(c.Profile, FirstDeny)}
	choose := func(name, got string, words ...string) (string, error) {
		got = cmp.Or(got, words[0])
		if !slices.Contains(words, got) {
			return "", fmt.Errorf("agenthooks: %s is %q; it must be one of %q", name, got, words)
		}
		return got, nil
	}
	approval, err1 := choose("on_approval", c.OnApproval, "stop", "resume")
	disagreement, err2 := choose("on_disagreement", c.OnDisagreement, "deny", "approval")
	conflict, err3 := choose("on_transform_conflict", c.OnTransformConflict, "deny", "approval")
	switch r.Profile {
	case FirstDeny:
		r.OnApproval = approval
	case RunAll:
	case Strictest:
		r.OnTransformConflict = conflict
	case Unanimous:
		r.OnDisagreement = disagreement
		r.OnTransformConflict = conflict
	default:
		return r, fmt.Errorf("agenthooks: there is no profile %q", c.Profile)
	}
	return r, errors.Join(err1, err2, err3)
}

// severity orders verdicts: that of the strictest is the greatest.
func severity(v *Verdict) int {
	switch {
	case v.Liftable():
		return 2
	case v.Decision == Deny:
		return 3
	case v.Decision == Transform:
		return 1
	}
	return 0
}

// strictest returns the index of the strictest verdict: of denials and permissions the first, of transforms the last.
func strictest(verdicts []Verdict) int {
	winner := 0
	for i := range verdicts {
		s, best := severity(&verdicts[i]), severity(&verdicts[winner])
		if s > best || s == best && s == 1 {
			winner = i
		}
	}
	return winner
}

// run composes the verdicts of the interceptors. It leaves the verdict in e.verdict, and the context after it in e.now.
func (e *emission) run() {
	switch e.host.Composition.Profile {
	case FirstDeny:
		e.firstDeny()
	case RunAll:
		e.runAll()
	default:
		e.parallel()
	}
}

// firstDeny asks one after the other until one denies.
func (e *emission) firstDeny() {
	n := len(e.host.Interceptors)
	for i := range n {
		v := e.ask(i, e.now)
		e.returned = append(e.returned, v)
		lifted := false
		if e.mayConsult(&v) {
			v, lifted = e.consult(v)
			e.decidedBy = i
		}
		switch {
		case v.Decision == Deny:
			e.finish(v, n-1-i)
			e.decidedBy = i
			return
		case v.Decision == Transform && !e.apply(v, n-1-i):
			return
		case lifted && e.host.Composition.OnApproval == "stop":
			e.finish(v, n-1-i)
			return
		case lifted:
			e.lifted = &v
		}
		if v.Decision == Transform {
			e.verdict = v
			e.decidedBy = i
		}
	}
	if e.verdict.Decision == Transform {
		return
	}
	e.verdict = e.returned[0]
	if e.lifted != nil {
		e.verdict = *e.lifted
	}
}

// runAll asks all, one after the other.
func (e *emission) runAll() {
	n := len(e.host.Interceptors)
	for i := range n {
		v := e.ask(i, e.now)
		e.returned = append(e.returned, v)
		if v.Decision == Transform && !e.apply(v, n-1-i) {
			return
		}
	}
	e.aggregate(false)
}

// aggregate lets the strictest verdict count. A denial that a human may lift is asked about, once. applies says that a
// transform was not applied yet.
func (e *emission) aggregate(applies bool) {
	i := strictest(e.returned)
	v := e.returned[i]
	if v.Decision != Allow {
		e.decidedBy = i
	}
	if e.mayConsult(&v) {
		v, _ = e.consult(v)
		applies = true
	}
	if v.Decision == Transform && applies && !e.apply(v, 0) {
		return
	}
	e.finish(v, 0)
}

// parallel asks all about the same.
func (e *emission) parallel() {
	e.returned = e.askAll()
	transforms, allow := 0, 0
	for i := range e.returned {
		switch e.returned[i].Decision {
		case Transform:
			transforms++
		case Allow:
			allow++
		}
	}
	n := len(e.returned)
	strict := e.returned[strictest(e.returned)].Decision
	switch {
	case e.host.Composition.Profile == Unanimous && allow < n:
		e.synthesize(CompositionDisagreement, e.host.Composition.OnDisagreement)
	case strict == Transform && transforms > 1:
		e.synthesize(TransformConflict, e.host.Composition.OnTransformConflict)
	default:
		e.aggregate(true)
	}
}

// synthesize denies for the host. A human may lift that if the host says so.
func (e *emission) synthesize(reason, knob string) {
	v := denial(reason, "")
	if knob == "approval" {
		v.Approval = emptyObject
	}
	if e.mayConsult(&v) {
		v, _ = e.consult(v)
	}
	if v.Decision == Transform && !e.apply(v, 0) {
		return
	}
	e.finish(v, 0)
}
