package budget_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/budget"
)

func TestConfigurationsThatAreWrong(t *testing.T) {
	good := budget.Limit{Name: "a", Count: "runs", Max: 1, Per: "user"}
	for name, c := range map[string]struct {
		change func(*budget.Limit)
		want   string
	}{
		"no name":                {func(l *budget.Limit) { l.Name = "" }, `limits[0].name: "" cannot be a name`},
		"a name with a colon":    {func(l *budget.Limit) { l.Name = "a:b" }, `limits[0].name: "a:b" cannot be a name`},
		"an unknown count":       {func(l *budget.Limit) { l.Count = "token" }, `limits[0].count: "token" is not known; it is one of runs, model_calls, tool_calls, tokens`},
		"nobody's":               {func(l *budget.Limit) { l.Per = "" }, `limits[0].per: "" is not known; it is one of session, user, tenant, app`},
		"a tenant without key":   {func(l *budget.Limit) { l.Per = "tenant" }, `limits[0].per: no session has a tenant: set tenant_key`},
		"nothing":                {func(l *budget.Limit) { l.Max = 0 }, `limits[0].max: 0 is no limit`},
		"less than nothing":      {func(l *budget.Limit) { l.Max = -1 }, `limits[0].max: -1 is no limit`},
		"too much":               {func(l *budget.Limit) { l.Max = 1<<53 + 1 }, `limits[0].max: 9007199254740993 is no limit`},
		"a short window":         {func(l *budget.Limit) { l.Every = 59 * time.Second }, `limits[0].every: a window of 59s is too short: it is 1m0s or more`},
		"a window back":          {func(l *budget.Limit) { l.Every = -time.Hour }, `limits[0].every: a window of -1h0m0s is too short`},
		"no zone":                {func(l *budget.Limit) { l.Until = "00:00" }, `limits[0].until: "00:00" has no time zone`},
		"an unknown zone":        {func(l *budget.Limit) { l.Until = "00:00 Berlin" }, `limits[0].until: "Berlin" is no time zone`},
		"two windows":            {func(l *budget.Limit) { l.Until, l.Every = "00:00 UTC", time.Hour }, `limits[0].until: a limit has one window`},
		"a share of nothing":     {func(l *budget.Limit) { l.Warn = -0.1 }, `limits[0].warn: -0.1 is no share`},
		"a share in percent":     {func(l *budget.Limit) { l.Warn = 80 }, `limits[0].warn: 80 is no share`},
		"an unknown answer":      {func(l *budget.Limit) { l.Beyond = "block" }, `limits[0].beyond: "block" is not known; it is one of deny, ask`},
		"a question of a run":    {func(l *budget.Limit) { l.Beyond = "ask" }, `limits[0].beyond: only tool_calls can wait for a human, and this limit counts runs`},
		"tools of a run":         {func(l *budget.Limit) { l.Tools = []string{"x"} }, `limits[0].tools: only tool_calls are of a tool`},
		"a pattern that is none": {func(l *budget.Limit) { l.Count, l.Tools = "tool_calls", []string{"[x"} }, `limits[0].tools: "[x" is no pattern`},
	} {
		t.Run(name, func(t *testing.T) {
			l := good
			c.change(&l)
			_, err := budget.New(budget.Config{Limits: []budget.Limit{l}})
			require.ErrorContains(t, err, "budget: "+c.want)
		})
	}
	_, err := budget.New(budget.Config{})
	require.EqualError(t, err, "budget: limits: there are none; give it at least one")
	_, err = budget.New(budget.Config{Limits: []budget.Limit{good, {Name: "b"}, good}})
	require.ErrorContains(t, err, `limits[2].name: "a" is the name of limits[0] too`)
	require.ErrorContains(t, err, `limits[1].count`, "all that is wrong is said")
}
