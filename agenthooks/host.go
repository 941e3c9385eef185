package agenthooks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An Interceptor judges what an agent does. Its errors and panics are denials. It must be safe for concurrent use, and
// return when its context is done.
type Interceptor interface {
	Intercept(ctx context.Context, c Context) (Verdict, error)
}

// InterceptorFunc is a function that is an Interceptor.
type InterceptorFunc func(ctx context.Context, c Context) (Verdict, error)

// Intercept calls the function.
func (f InterceptorFunc) Intercept(ctx context.Context, c Context) (Verdict, error) { return f(ctx, c) }

// A Registered interceptor has the name that records have of it.
type Registered struct {
	Name string
	Interceptor
}

// A Mode says whether verdicts are obeyed.
type Mode string

// Modes. The zero Mode is Enforce.
const (
	Enforce      Mode = "enforce"
	EvaluateOnly Mode = "evaluate_only" // verdicts are recorded; everything proceeds
)

// A Provider computes the identities of contexts. Identify must be a pure function.
type Provider struct {
	Name     string
	Identify func(Context) (string, error)
}

// Config is what a Host is made of. Without interceptors everything is denied.
type Config struct {
	Interceptors []Registered
	Composition  Composition
	Mode         Mode
	// Resolver lifts denials, or not. nil lifts none. Redact, if it is set, makes what it is shown of a context.
	Resolver Resolver
	Redact   func(Context) (Context, error)
	// Provider computes identities, nil is JCS. Unbound says that there are none.
	Provider *Provider
	Unbound  bool
	// Timeout bounds each call of an interceptor, and ApprovalTimeout each call of the Resolver; 0 is 5 s.
	Timeout, ApprovalTimeout time.Duration
	// MaxBytes bounds a context; 0 is 5 MiB.
	MaxBytes int
	// Record takes the record of each emission, before what was judged happens. If it fails, Emit does. It may be nil.
	Record func(Record) error
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// A Host asks interceptors and composes their verdicts.
type Host struct {
	Config
	composition Composition
	calls       sync.WaitGroup
}

var providerName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// NewHost returns a host, or what is wrong with its configuration.
func NewHost(c Config) (*Host, error) {
	h := &Host{Config: c}
	var err error
	h.composition, err = c.Composition.resolved()
	if c.Mode != "" && c.Mode != Enforce && c.Mode != EvaluateOnly {
		err = errors.Join(err, fmt.Errorf("agenthooks: mode is %q; it must be %s or %s", c.Mode, Enforce, EvaluateOnly))
	}
	for i, r := range c.Interceptors {
		if r.Interceptor == nil {
			err = errors.Join(err, fmt.Errorf("agenthooks: interceptor %d is nil", i))
		}
	}
	p := c.Provider
	switch {
	case p != nil && c.Unbound:
		err = errors.Join(err, errors.New("agenthooks: Provider and Unbound exclude each other"))
	case p != nil && (p.Identify == nil || !providerName.MatchString(p.Name) || strings.HasPrefix(p.Name, "jcs")):
		err = errors.Join(err, fmt.Errorf("agenthooks: the identity provider %q needs a function and a name of lower case letters, "+
			"digits, _ and -, that does not begin with jcs", p.Name))
	case p == nil && !c.Unbound:
		h.Provider = &Provider{Name: JCS, Identify: Identity}
	}
	h.Mode = cmp.Or(c.Mode, Enforce)
	h.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	h.ApprovalTimeout = cmp.Or(c.ApprovalTimeout, 5*time.Second)
	h.MaxBytes = cmp.Or(c.MaxBytes, 5<<20)
	if h.Now == nil {
		h.Now = time.Now
	}
	return h, err
}

// Close waits for interceptors and resolvers that did not return in time, until the context is done.
func (h *Host) Close(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		h.calls.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("agenthooks: close: %w: an interceptor or a resolver has not returned", context.Cause(ctx))
	}
}

// A Session is one run of an agent, whose emissions are numbered. It is safe for concurrent use.
type Session struct {
	Host *Host
	// ID names the session in contexts and records; Agent and Framework name the agent and what runs it.
	ID, Agent, Framework string
	next                 atomic.Int64
}

// A Result is what came of one emission.
type Result struct {
	// Verdict is the combined verdict. It is not obeyed if the mode is EvaluateOnly: see Proceed.
	Verdict Verdict
	// Proceed says that what was judged may happen.
	Proceed bool
	// Target is what it may happen with. Changed says that it is not what was judged.
	Target  jsontext.Value
	Changed bool
	// Labels stay with the data.
	Labels []string
	Record Record
}

// An Ask is one emission: what is judged, and by what it may be lifted.
type Ask struct {
	Point  Point
	Fields Fields
	// Usable says whether a changed target can be carried out; nil says that each can.
	Usable func(target jsontext.Value) error
	// Resolver is asked in place of the host's, if it is set.
	Resolver Resolver
	// Refuse, if it is set, is the reason with which the host denies, without asking anybody.
	Refuse string
}

// Emit asks the interceptors about what is to happen, or has happened, and records what they decided. An error is that of
// Config.Record: nothing may happen then.
func (s *Session) Emit(ctx context.Context, a Ask) (Result, error) {
	e := &emission{
		host:        s.Host,
		ctx:         ctx,
		Ask:         a,
		composition: s.Host.composition,
		resolver:    a.Resolver,
		sequence:    s.next.Add(1) - 1,
		timestamp:   s.Host.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		session:     s,
	}
	if e.resolver == nil {
		e.resolver = s.Host.Resolver
	}
	e.judge()
	result := e.result()
	if s.Host.Record == nil {
		return result, nil
	}
	if err := s.Host.Record(result.Record); err != nil {
		return Result{}, fmt.Errorf("agenthooks: record: %w", err)
	}
	return result, nil
}

// An emission is one that is being made.
type emission struct {
	Ask
	ctx         context.Context
	host        *Host
	session     *Session
	composition Composition
	resolver    Resolver
	sequence    int64
	timestamp   string

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
	e.decidedBy = -1
	var err error
	e.before, err = e.context()
	e.now = e.before
	var data Context
	if err == nil {
		data, err = e.before.bytes()
	}
	if err == nil && len(data) > e.host.MaxBytes {
		err = fmt.Errorf("the context has more than %d bytes", e.host.MaxBytes)
	}
	if err == nil {
		err = checkDepth(data)
	}
	if err == nil {
		e.input, err = e.identify(data)
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
	data, err = e.now.bytes()
	if err == nil && len(data) > e.host.MaxBytes {
		err = fmt.Errorf("the context has more than %d bytes", e.host.MaxBytes)
	}
	enforced := e.input
	if err == nil {
		enforced, err = e.identify(data)
	}
	e.enforced = &enforced
	if err != nil {
		e.enforced = nil
		e.verdict = denial(ContextInvalid, err.Error())
		e.decidedBy = -1
		e.now = e.before
	}
}

// identify returns the identity of a context, "" without a provider.
func (e *emission) identify(c Context) (id string, err error) {
	if e.host.Unbound {
		return "", nil
	}
	p := e.host.Provider
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the identity provider %s failed: %T", p.Name, r)
		}
	}()
	id, err = p.Identify(bytes.Clone(c))
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
	ctx, cancel := context.WithTimeout(e.ctx, e.host.Timeout)
	defer cancel()
	type answer struct {
		verdict Verdict
		err     error
	}
	answers := make(chan answer, 1)
	e.host.calls.Go(func() {
		var a answer
		defer func() {
			if r := recover(); r != nil {
				a = answer{err: fmt.Errorf("%w: %T", errPanic, r)}
			}
			answers <- a
		}()
		a.err = errPanic // for runtime.Goexit
		a.verdict, a.err = e.host.Interceptors[i].Intercept(ctx, bytes.Clone(data))
	})
	select {
	case a := <-answers:
		switch {
		case a.err != nil && ctx.Err() != nil && e.ctx.Err() == nil:
			return denial(InterceptorTimeout, "")
		case errors.Is(a.err, ErrVerdict):
			return denial(VerdictInvalid, "")
		case a.err != nil:
			return denial(InterceptorFailed, fmt.Sprintf("%T", a.err))
		}
		v := a.verdict.clone()
		if err := v.check(); err != nil {
			return denial(VerdictInvalid, err.Error())
		}
		return v
	case <-ctx.Done():
		if e.ctx.Err() != nil {
			return denial(InterceptorFailed, "the run has ended")
		}
		return denial(InterceptorTimeout, "")
	}
}

// ErrVerdict is the error of an interceptor that got something that is no verdict from elsewhere.
var ErrVerdict = errors.New("it is no verdict")

var errPanic = errors.New("panic")

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

func (e *emission) decided(i int) { e.decidedBy = i }
