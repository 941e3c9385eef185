package agenthooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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
	calls sync.WaitGroup
}

// NewHost returns a host, or what is wrong with its configuration.
func NewHost(c Config) (*Host, error) {
	h := &Host{Config: c}
	var err error
	h.Composition, err = c.Composition.resolved()
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
	case p != nil && (p.Identify == nil || !slug(p.Name) || p.Name[0] < 'a' || strings.HasPrefix(p.Name, "jcs")):
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
		Ask:       a,
		ctx:       ctx,
		host:      s.Host,
		session:   s,
		sequence:  s.next.Add(1) - 1,
		timestamp: s.Host.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		decidedBy: -1,
	}
	if e.Resolver == nil {
		e.Resolver = s.Host.Resolver
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
