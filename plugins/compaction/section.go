package compaction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction/extract"
	"github.com/plughook/plughook/session"
)

const offline = "offline"

// section writes the summary of one section.
func (k *keeper) section(ctx context.Context, m meter, s *section, budget int, t task, key session.Key) (made, error) {
	prior, _ := json.Marshal(s.state) // it was JSON
	state := extract.Resume(prior, s.prior)
	if t.instructions != "" || k.Instructions != "" {
		state.Stress(k.Instructions + " " + t.instructions)
	}
	state.Add(s.events)
	out := made{by: offline}
	if k.Summarizer != nil && len(s.events)+len(s.prior) > 0 {
		prose, ledger := extract.Split(s.prior)
		_ = ledger // the state has it
		sum, err := k.ask(ctx, key, &Request{Prior: prose, Events: s.events, Count: m.text, Instructions: strings.TrimSpace(k.Instructions + "\n" + t.instructions),
			Budget: budget - budget/ledgerShare})
		if err == nil {
			out.Summary, out.by = *sum, sum.Model
			values := state.Ledger(budget-m.text(sum.Text), m.text)
			out.Text = strings.TrimSpace(sum.Text + "\n\n" + values)
			out.state = stateOf(state)
			return out, nil
		}
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
	}
	out.Text = state.Text(budget, m.text)
	out.state = stateOf(state)
	return out, nil
}

// ledgerShare is the part of a model's summary that is reserved for exact values: one of so many.
const ledgerShare = 4

// ask asks the Summarizer, as often as Config.Attempts says; once it has failed three compactions of a session in
// a row, only every tenth time, until it succeeds.
func (k *keeper) ask(ctx context.Context, key session.Key, r *Request) (*Summary, error) {
	k.mu.Lock()
	failed := k.failed[key]
	k.mu.Unlock()
	var errs []error
	if failed < 3 || failed%10 == 0 {
		ctx, cancel := context.WithTimeout(ctx, k.Timeout)
		defer cancel()
		for range k.Attempts {
			s, err := k.once(ctx, r)
			if err == nil {
				k.mu.Lock()
				delete(k.failed, key)
				k.mu.Unlock()
				return s, nil
			}
			errs = append(errs, err)
			k.metrics.failures.Add(ctx, 1)
			if ctx.Err() != nil {
				break
			}
		}
	} else {
		errs = append(errs, fmt.Errorf("it has failed %d times in a row", failed))
	}
	k.mu.Lock()
	k.failed[key]++
	k.mu.Unlock()
	err := errors.Join(errs...)
	k.Log.WarnContext(ctx, "the summarizer failed; the summary is made offline", "session", key.String(), "error", err)
	return nil, err
}

// once asks the Summarizer once. What it panics with is an error.
func (k *keeper) once(ctx context.Context, r *Request) (s *Summary, err error) {
	defer func() {
		if p := plugin.Recovered(recover()); p != nil {
			s, err = nil, p
		}
	}()
	own := *r
	s, err = k.Summarizer.Summarize(ctx, &own)
	switch {
	case err != nil:
		return nil, err
	case s == nil || strings.TrimSpace(s.Text) == "":
		return nil, errEmpty
	}
	if n := r.Count(s.Text); n > r.Budget {
		return nil, fmt.Errorf("the summary has %d tokens, and it may have %d", n, r.Budget)
	}
	return s, nil
}

// stateOf returns a state as a JSON value.
func stateOf(s *extract.State) (v any) {
	data, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		panic(fmt.Sprintf("compaction: a state is JSON: %v", err))
	}
	return v
}
