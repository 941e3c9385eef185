package script

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"iter"

	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/model"
)

// maxFile is how many bytes a file has at most: it may be one that never ends.
const maxFile = 16 << 20

// Load reads a script from a file of at most 16 MiB.
func Load(name string) (model.Model, error) {
	data, err := input.ReadFile(context.Background(), name, maxFile)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return Parse(name, data)
}

// Parse makes a model of a script's text. The name is what errors call it: they say name, line and
// column.
func Parse(name string, data []byte) (model.Model, error) {
	rules, err := parse(name, data)
	if err != nil {
		return nil, err
	}
	return &script{name, rules}, nil
}

type script struct {
	name  string
	rules []*rule
}

// Named implements model.Named.
func (s *script) Named() (provider, name string) { return "script", s.name }

func (s *script) Generate(ctx context.Context,
	req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		a, err := s.answer(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		a.give(ctx, req.Stream, yield)
	}
}

// answer makes the answer of the first rule that matches.
func (s *script) answer(ctx context.Context, req *model.Request) (*scriptedAnswer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q := read(req)
	for _, r := range s.rules {
		groups, ok := r.match(q)
		if !ok {
			continue
		}
		a, err := r.answer(ctx, q.data(groups), s.caller(req))
		if err != nil {
			return nil, invalid(fmt.Errorf("%s:%s: %w", s.name, r.position, err))
		}
		a.estimate(req)
		return a, nil
	}
	what := fmt.Sprintf("the user's text %q", q.user)
	if len(q.responses) > 0 {
		what = fmt.Sprintf("responses of %s to %s", q.names(), what)
	}
	return nil, invalid(fmt.Errorf("%s has no rule for %s (agent %q); add one, or one without conditions at the end", s.name, what, req.Agent))
}

func invalid(err error) error {
	return &model.Error{Code: "INVALID_ARGUMENT", Status: 400, Err: err}
}

// caller returns what makes the ids of function calls: they count what the request's contents have,
// so the same request gets the same ids, and agents that call at the same time get different ones.
func (s *script) caller(req *model.Request) func() string {
	n := 0
	branch := ""
	for _, c := range req.Contents {
		for _, p := range parts(c) {
			if p.FunctionCall != nil {
				n++
			}
		}
	}
	if req.Branch != "" {
		h := fnv.New32a()
		_, _ = h.Write([]byte(req.Branch)) // it never fails
		branch = fmt.Sprintf("-%08x", h.Sum32())
	}
	return func() string {
		n++
		return fmt.Sprintf("%s-%d%s", cmp.Or(req.Agent, "call"), n, branch)
	}
}
