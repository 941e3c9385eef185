package detect_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
)

func TestRulesOfOnesOwn(t *testing.T) {
	badge := detect.SecretRule{ID: "badge", Keywords: []string{"BADGE"}, Regexp: regexp.MustCompile(`(?i)badge[ #]*(\d{4,6})\b`), Group: 1}
	with := func(change func(*detect.SecretRule)) error {
		rule := badge
		change(&rule)
		_, err := detect.SecretsWith(detect.SecretOptions{Rules: []detect.SecretRule{rule}})
		return err
	}
	require.ErrorContains(t, with(func(r *detect.SecretRule) { r.ID = "" }), "no ID")
	require.ErrorContains(t, with(func(r *detect.SecretRule) { r.Regexp = nil }), "rule badge for secrets has no Regexp")
	require.ErrorContains(t, with(func(r *detect.SecretRule) { r.Group = 2 }), "group 2 of an expression that has 1")
	require.ErrorContains(t, with(func(r *detect.SecretRule) { r.Keywords = nil }), "no Keywords")
	require.ErrorContains(t, with(func(r *detect.SecretRule) { r.Keywords = []string{"é12"} }), `keyword "é12"`)

	find := func(o detect.SecretOptions, text string) (found []string) {
		d, err := detect.SecretsWith(o)
		require.NoError(t, err)
		for _, f := range d.Find(nil, text) {
			found = append(found, f.Rule+" "+text[f.Start:f.End])
		}
		return found
	}
	rules := func(change func(*detect.SecretRule)) detect.SecretOptions {
		rule := badge
		change(&rule)
		return detect.SecretOptions{Rules: []detect.SecretRule{rule}}
	}
	const text = "Badge #12345, abadge 1234, badge\n 777777"
	require.Equal(t, []string{"badge 12345"}, find(rules(func(*detect.SecretRule) {}), text))
	require.Empty(t, find(rules(func(r *detect.SecretRule) { r.Entropy = 3 }), text))
	require.Empty(t, find(rules(func(r *detect.SecretRule) { r.Validate = func(secret string) bool { return secret != "12345" } }), text))
	require.Equal(t, []string{"badge 12345", "badge 777777"}, find(rules(func(r *detect.SecretRule) {
		r.Multiline, r.Regexp = true, regexp.MustCompile(`(?is)badge[ #\n]*(\d{4,6})\b`)
	}), text))

	allow := func(rule, secret string) bool { return rule == "password" && secret == "hunter2" }
	require.Equal(t, []string{"password hunter3"}, find(detect.SecretOptions{Allow: allow}, "password=hunter2 password=hunter3"))
}
