package earlyexit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin/plugintest"
	"github.com/plughook/plughook/plugins/earlyexit"
)

func TestEveryPluginsRules(t *testing.T) {
	p, err := earlyexit.New(earlyexit.Config{
		Rules: []earlyexit.Rule{
			{Text: "card", Answer: "I cannot take cards.", Deny: true},
			{Text: "(?i)hello", Answer: "Good day."},
		},
	})
	require.NoError(t, err)
	plugintest.Check(t, p)
}
