package policy

import (
	jsonstrict "github.com/go-json-experiment/json"

	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// noteClosed says how many tokens of the vault the key does not open, if rules decide by what they stand
// for. values are what the policy judges.
func (p *commands) noteClosed(pol *policy.Policy, key []byte, variable string, values ...any) error {
	if !pol.ReadsVault() {
		return nil
	}
	v, err := guardrail.NewVault(key)
	if err != nil {
		return err
	}
	closed := map[string]bool{}
	for _, value := range values {
		data, err := jsonstrict.Marshal(value)
		if err != nil {
			return err
		}
		for _, token := range v.Closed(string(data)) {
			closed[token] = true
		}
	}
	if len(closed) == 0 {
		return nil
	}
	advice := "give the vault's key with --key-env"
	if variable != "" {
		advice = variable + " has another key"
	}
	p.Note("%s: conditions and lists of tools cannot read %s of the vault: %s", pol.Name(),
		phrase.Count(len(closed), "token"), advice)
	return nil
}

// eventsOf returns the events and the states of recordings.
func eventsOf(recs []*session.Recording) []any {
	var list []any
	for _, rec := range recs {
		list = append(list, rec.State)
		for _, e := range rec.Events {
			list = append(list, e)
		}
	}
	return list
}
