//go:build !race

package detecttest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
)

func TestATextWithoutFindingsMayCostNothing(t *testing.T) {
	var sink []byte
	wasteful := runs{
		edit: func(f []detect.Finding) []detect.Finding { sink = make([]byte, 1<<16); return f },
	}
	law, _ := detecttest.Offence(wasteful, "nothing here")
	require.Contains(t, law, "allocation")
	require.NotNil(t, sink)
}
