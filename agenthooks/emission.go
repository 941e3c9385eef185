package agenthooks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An emission is one that is being made.
type emission struct {
	Ask
	ctx       context.Context
	host      *Host
	session   *Session
	sequence  int64
	timestamp string

	before, now members // the context, and as transforms have left it
	input       string  // identity of before
	enforced    *string // identity of now
	unbound     bool    // there are no identities, since the context was refused

	verdict   Verdict
	lifted    *Verdict // what a human has put in the place of a denial, where the fold went on
	returned  []Verdict
	decidedBy int // -1 for none
	resolved  string
	truncated bool
}

// context makes the emission's context.
func (e *emission) context() (members, error) {
	agent, err1 := json.Marshal(map[string]string{"id": e.session.Agent, "framework": e.session.Framework}, json.Deterministic(true))
	id, err2 := json.Marshal(map[string]string{"id": e.session.ID})
	m := members{
		"spec":               jsontext.Value(strconv.Quote(Spec)),
		"interception_point": jsontext.Value(strconv.Quote(string(e.Point))),
		"timestamp":          jsontext.Value(strconv.Quote(e.timestamp)),
		"sequence":           jsontext.Value(strconv.FormatInt(e.sequence, 10)),
		"agent":              agent,
		"session":            id,
	}
	for name, v := range e.Fields {
		m[name] = v
	}
	if err := errors.Join(err1, err2); err != nil || shapes[e.Point] == nil {
		return m, errors.New("a name is not Unicode, or the point is none of the eight")
	}
	if target := targetOf(e.Point, e.Fields); target != nil {
		m["target"] = target
	}
	return m, m.check()
}

// judge finds the verdict.
func (e *emission) judge() {
	var err error
	e.before, err = e.context()
	e.now = e.before
	if err == nil {
		e.input, err = e.identity(e.before)
	}
	switch {
	case err != nil:
		e.unbound = true
		e.verdict = denial(ContextInvalid, err.Error())
		return
	case e.Refuse != "":
		e.verdict = denial(e.Refuse, "")
	case len(e.host.Interceptors) == 0:
		e.verdict = denial(NoInterceptor, "")
	default:
		e.run()
	}

	// What proceeds must have an identity, too.
	enforced, err := e.identity(e.now)
	if err != nil {
		e.verdict = denial(ContextInvalid, err.Error())
		e.decidedBy = -1
		e.now = e.before
		return
	}
	e.enforced = &enforced
}

// identity returns the identity of a context, "" without a provider, or why the context is not valid.
func (e *emission) identity(m members) (string, error) {
	data, err := m.bytes()
	if err == nil && len(data) > e.host.MaxBytes {
		err = fmt.Errorf("the context has more than %d bytes", e.host.MaxBytes)
	}
	if err == nil {
		err = checkDepth(data)
	}
	if err != nil {
		return "", err
	}
	return e.identify(data)
}

func (e *emission) identify(c Context) (id string, err error) {
	if e.host.Unbound {
		return "", nil
	}
	p := e.host.Provider
	err = safely(func() (err error) {
		id, err = p.Identify(c)
		return err
	})
	if err != nil && p.Name != JCS {
		err = fmt.Errorf("the identity provider %s failed: %T", p.Name, err)
	}
	return id, err
}

// ask asks one interceptor about a context. What it fails at is a denial.
func (e *emission) ask(i int, about members) Verdict {
	data, err := about.bytes()
	if err != nil {
		return denial(InterceptorFailed, err.Error())
	}
	v, err := within(e.host, e.ctx, e.host.Timeout, func(ctx context.Context) (Verdict, error) {
		return e.host.Interceptors[i].Intercept(ctx, data)
	})
	switch {
	case err != nil && e.ctx.Err() != nil:
		return denial(InterceptorFailed, "the run has ended")
	case errors.Is(err, errLate):
		return denial(InterceptorTimeout, "")
	case errors.Is(err, ErrVerdict):
		return denial(VerdictInvalid, "")
	case err != nil:
		return denial(InterceptorFailed, fmt.Sprintf("%T", err))
	}
	v = v.clone()
	if err := v.check(); err != nil {
		return denial(VerdictInvalid, err.Error())
	}
	return v
}

// ErrVerdict is the error of an interceptor that got something that is no verdict from elsewhere.
var ErrVerdict = errors.New("it is no verdict")

var (
	errPanic = errors.New("panic")
	errLate  = errors.New("the time is over")
)

// within calls what is not ours, and waits for it so long. A panic is an error, and what has failed late is errLate.
func within[T any](h *Host, ctx context.Context, limit time.Duration, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	h.calls.Go(func() {
		a := answer{err: errPanic} // stays if the goroutine is ended
		defer func() { answers <- a }()
		a.err = safely(func() (err error) {
			a.value, err = call(ctx)
			return err
		})
	})
	a := answer{err: errLate}
	select {
	case a = <-answers:
		if a.err != nil && ctx.Err() != nil {
			a.err = errLate
		}
	case <-ctx.Done():
	}
	return a.value, a.err
}

// safely makes an error of a panic. It does not quote it.
func safely(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %T", errPanic, r)
		}
	}()
	return call()
}

// askAll asks all about the same, at once.
func (e *emission) askAll() []Verdict {
	verdicts := make([]Verdict, len(e.host.Interceptors))
	var wait sync.WaitGroup
	for i := range verdicts {
		wait.Go(func() { verdicts[i] = e.ask(i, e.before) })
	}
	wait.Wait()
	return verdicts
}

// apply carries out a transform. If that fails, the emission ends with a denial, left interceptors were not asked, and it
// returns false.
func (e *emission) apply(v Verdict, left int) bool {
	changed, reason := e.transform(v.Transform)
	if reason != "" {
		e.finish(denial(reason, ""), left)
		e.decidedBy = -1
		return false
	}
	if e.host.Mode == Enforce {
		e.now = changed
	}
	return true
}

func (e *emission) transform(c *Change) (changed members, reason string) {
	steps, reason := parsePath(c.Path)
	switch {
	case shapes[e.Point].fixed:
		return nil, TransformTargetForbidden
	case reason != "":
		return nil, reason
	}
	value := c.Value
	if value == nil {
		value = jsontext.Value("null")
	}
	target, ok := replaceAt(e.now["target"], steps, value)
	if !ok {
		return nil, TransformInvalid
	}
	changed, err := e.now.withTarget(target)
	if err == nil {
		err = changed.check()
	}
	if err == nil && e.Usable != nil {
		err = e.Usable(target)
	}
	if err != nil {
		return nil, TransformInvalid
	}
	return changed, ""
}

// finish ends the emission with a verdict; so many interceptors were not asked.
func (e *emission) finish(v Verdict, left int) {
	e.verdict = v
	e.truncated = left > 0
}
