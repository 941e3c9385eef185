package workflow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
)

// ErrNameMissing says that a run has called Do for one node twice without a name. Calls without names can be
// told apart by their order only, and that changes: when the function is changed while a run waits, and when it
// ranges over a map.
var ErrNameMissing = errors.New("workflow: a second call of a node needs a name")

// ErrOtherInput says that Do was called for a child that has begun with another input: its output belongs to
// that one.
var ErrOtherInput = errors.New("workflow: the child has another input")

// Do runs a node within the run of another, and returns its output. The child's run is named by its
// node and name. The name may be empty if the run calls the node once; another such call is
// ErrNameMissing. A name is not a number, and has no '/', '@' or '#'; it says what the child is for, and does
// not depend on the order of the calls.
//
// A child that has ended is not run again: Do returns what its end in the log says. The log has a digest of the
// child's input; a call with another input is ErrOtherInput. Calls with the same name and input share one run. A
// child that waits makes Do return ErrWaits. A child that has failed, after its own Retry, makes Do return an
// *Error, which the caller may go on after. A child that is an agent, or has one in it, must be one of Graph.Children.
func Do[Out any](ctx context.Context, r *Run, n *Node, name string, in any) (out Out, err error) {
	return do[Out](ctx, r, n, name, in, false)
}

// Delegate is Do for a child whose output is that of the run, too. The log has it once: the end of the
// child says that it is for both (NodeInfo.OutputFor), that of the run names the child (NodeInfo.OutputOf),
// and what the function returns beside its error is not used. A run has one such child; after a child that
// has failed it may have another. A node with Once has none.
func Delegate[Out any](ctx context.Context, r *Run, n *Node, name string, in any) (Out, error) {
	return do[Out](ctx, r, n, name, in, true)
}

// do returns the output of a child as a value of type Out.
func do[Out any](ctx context.Context, r *Run, n *Node, name string, in any, delegate bool) (out Out, err error) {
	value, err := r.do(ctx, n, name, in, delegate)
	if err != nil || value == nil {
		return out, err
	}
	if err := convert(reflect.ValueOf(&out).Elem(), value, nil); err != nil {
		return out, fmt.Errorf("workflow: the output of %s does not fit: %w", n.Name, err)
	}
	return out, nil
}

// A child is a run that Do has begun.
type child struct {
	digest string        // of its input
	done   chan struct{} // closed when the other fields are set
	output any
	err    error
}

// do runs a node as a child of the run, or waits for the child with that name that runs already.
func (r *Run) do(ctx context.Context, n *Node, name string, in any, delegate bool) (_ any, err error) {
	if err := r.checkDo(n, name, delegate); err != nil {
		return nil, fmt.Errorf("workflow: %w", err)
	}
	input, err := plainInput(in)
	if err != nil {
		return nil, fmt.Errorf("workflow: Do: the input of %s: %w", n.Name, err)
	}
	s, c, first, err := r.child(n, name, input, delegate)
	if err != nil {
		return nil, err
	}
	if delegate {
		defer func() {
			if err != nil {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.delegate = ""
			}
		}()
	}
	if !first {
		select {
		case <-c.done:
			return c.output, c.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}

	// Run it. If it panics, those who wait for it get this error.
	defer close(c.done)
	c.err = errors.New("workflow: the run has panicked")
	res := s.run(ctx)
	switch res.outcome {
	case hasEnded:
		c.err = agent.ErrEnded
		if run := s.invocation.ended(s.path); run != nil { // else it was rewound
			c.output = run.Output
			c.err = nil
		}
	case waits:
		c.err = fmt.Errorf("%s: %w", s.path, ErrWaits)
	case hasFailed:
		c.err = res.err
	default:
		c.err = agent.ErrEnded
		if cause := context.Cause(ctx); cause != nil {
			c.err = cause
		}
	}
	return c.output, c.err
}

// checkDo refuses what Do and Delegate do not run.
func (r *Run) checkDo(n *Node, name string, delegate bool) error {
	if n == nil {
		return errors.New("Do got no node")
	}
	if err := n.check(); err != nil {
		return err
	}
	if err := n.checkState(r.task.state, r.task.reduce); err != nil {
		return fmt.Errorf("Do: %w", err)
	}
	switch {
	case r.task.graph.called[n.Name] != n && len(n.kind.agents()) > 0:
		return fmt.Errorf("Do: the node %s is an agent or has one in it; list it in Graph.Children", n.Name)
	case delegate && r.task.node.Once:
		return errors.New("Delegate: the output of a node with Once is its own; use Do")
	case name != "" && (strings.Trim(name, "0123456789") == "" || strings.ContainsAny(name, "/@#")):
		return fmt.Errorf("Do: the name %q of a run must not be a number, and not contain '/', '@' or '#'", name)
	}
	return nil
}

// child returns the child with that name, and the site where it is run. first says that this call of Do is
// the one that runs it. It is an error to call a node a second time without a name, to call a child with another
// input than before, and to delegate to a second child.
func (r *Run) child(n *Node, name string, input any, delegate bool) (t *task, c *child, first bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.children == nil {
		r.children = map[string]*child{}
		r.counts = map[string]int{}
	}
	unnamed := name == ""
	if unnamed {
		r.counts[n.Name]++
		name = fmt.Sprint(r.counts[n.Name])
	}
	t = r.task.below(n, name, input)

	// Is it the same call as before, if there was one? A log from before there are digests has numbered children.
	begun := r.task.invocation.read(t.path)
	if unnamed && r.counts[n.Name] > 1 && (begun.first == nil || begun.digest != "") {
		return nil, nil, false, fmt.Errorf("%w: %s calls the node %s again; give each call a name that says what it is for",
			ErrNameMissing, r.Path, n.Name)
	}
	t.inTurn = true
	t.began = r.task.invocation.now()
	t.digest = digestOf(input)
	c = r.children[t.path]
	before := begun.digest
	if c != nil {
		before = c.digest
	}
	if before != "" && before != t.digest {
		return nil, nil, false, fmt.Errorf("%w: %s has begun with the input %s, and is called with the input %s "+
			"(digests); call it as before, or give this call a name of its own", ErrOtherInput, t.path, before, t.digest)
	}
	if delegate {
		if r.delegate != "" && r.delegate != t.path {
			return nil, nil, false, fmt.Errorf("workflow: Delegate: the output of this run is already that of %s; a run has one", r.delegate)
		}
		r.delegate = t.path
		t.outputFor = append([]string{t.path}, r.task.outputFor...)
		if r.task.outputFor == nil {
			t.outputFor = append(t.outputFor, r.Path)
		}
	}
	if c != nil {
		return t, c, false, nil
	}
	c = &child{digest: t.digest, done: make(chan struct{})}
	r.children[t.path] = c
	return t, c, true, nil
}

// plainInput returns what a node gets as input: a content as it is, or JSON values.
func plainInput(in any) (any, error) {
	if c, ok := in.(*genai.Content); ok && c != nil {
		return c, nil
	}
	return plain(in)
}

// digestOf returns the digest of an input: the first 8 bytes of the SHA-256 of its JSON, whose keys are sorted.
func digestOf(input any) string {
	data, err := json.Marshal(input)
	if err != nil { // it is a JSON value, or a content
		data = []byte(err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// newDigests returns the digests of the run's input and of those around it that the log does not have yet, as
// NodeInfo.Inputs has them.
func (t *task) newDigests() string {
	digests := ""
	separators := ""
	for run := t; run != nil; run = run.around {
		if run.digest != "" && t.invocation.read(run.path).digest == "" {
			digests += separators + run.digest
			separators = ""
		}
		separators += "/"
	}
	return digests
}
