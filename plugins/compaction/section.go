package compaction

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
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
	if t.asking != nil && len(s.events)+len(s.prior) > 0 && budget >= smallest/4 {
		prose, ledger := extract.Split(s.prior)
		_ = ledger // the state has it
		sum, err := k.ask(t.asking, key, &Request{Prior: prose, Events: s.events, Count: m.text, Instructions: strings.TrimSpace(k.Instructions + "\n" + t.instructions),
			Budget: budget - budget/ledgerShare})
		out.Usage, out.Cost = sum.Usage, sum.Cost // a failure costs too
		if err == nil {
			out.Summary, out.by = *sum, cmp.Or(sum.Model, "summarizer")
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
