package compaction

import (
	"context"

	"github.com/plughook/plughook/session"
)

// planJSON is the answer to a dry run of the command, as JSON.
type planJSON struct {
	Trigger  string             `json:"trigger,omitzero"`
	Declined string             `json:"declined,omitzero"`
	Why      string             `json:"why,omitzero"`
	Through  int64              `json:"through,omitzero"`
	Covers   []int64            `json:"covers,omitzero"`
	Stays    map[string][]int64 `json:"stays,omitzero"` // by reason
	Before   int                `json:"before"`
	Kept     int                `json:"kept"`
	Summary  int                `json:"summary"`
	Text     string             `json:"text,omitzero"` // of the summary, as it would be without a model
}

// dryRun says what the command Now would do to a session in a store: see Config.Preview.
func (c Config) dryRun(
	ctx context.Context,
	sessions session.Reader,
	key session.Key,
	command session.Command,
) (any, error) {
	inv, err := session.Snapshot(ctx, sessions, key)
	if err != nil {
		return nil, err
	}
	instructions, _ := command.Args["instructions"].(string)
	plan, err := c.Preview(ctx, inv, instructions)
	if err != nil {
		return nil, err
	}
	body := planJSON{
		Trigger:  plan.Trigger,
		Declined: plan.Declined,
		Why:      plan.Why,
		Before:   plan.Before,
		Kept:     plan.Kept,
		Summary:  plan.Summary,
		Text:     plan.Draft.After,
		Stays:    plan.StaysBy(),
	}
	if plan.Declined == "" {
		body.Through = plan.Through
	}
	for _, e := range plan.Covered {
		body.Covers = append(body.Covers, e.Seq)
	}
	return body, nil
}
