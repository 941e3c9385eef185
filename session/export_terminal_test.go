package session_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// An exported file steers no terminal, and is the same session: it imports with the same values, also
// where the session is already, and exports as the same bytes.
func TestExportForATerminal(t *testing.T) {
	ctx := t.Context()
	const raw = "\u009b31mred\u007f \u202eback\u2066 \u200f\u061c\u0085"
	file := `{"session":{"appName":"a","userId":"u","id":"1","state":{"k` + raw + `":"` + raw + `"}}}
{"id":"e1","timestamp":"2026-01-02T03:04:05Z","author":"bot","content":{"role":"model","parts":[{"text":"` + raw + `"},{"functionCall":{"name":"f","args":{"` + raw + `":["` + raw + `"]}}}]},"actions":{"stateDelta":{"k":"` + raw + `"}},"unknown":{"` + raw + `":1.0}}
`
	list, err := recordings(strings.NewReader(file))
	require.NoError(t, err)
	one, two := memory.New(), memory.New()
	require.NoError(t, session.Import(ctx, one, list[0]))
	var first, second bytes.Buffer
	require.NoError(t, session.Export(ctx, one, list[0].Key, &first))
	for _, c := range first.String() {
		require.False(t, c != '\n' && unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c),
			"%q", c)
	}
	again, err := recordings(bytes.NewReader(first.Bytes()))
	require.NoError(t, err)
	require.Equal(t, list[0].State, again[0].State)
	require.Equal(t, list[0].Events[0].Content, again[0].Events[0].Content)
	require.Equal(t, list[0].Events[0].Actions.StateDelta, again[0].Events[0].Actions.StateDelta)
	require.NoError(t, session.Import(ctx, one, again[0]), "it is there already")
	require.NoError(t, session.Import(ctx, two, again[0]))
	require.NoError(t, session.Import(ctx, two, list[0]), "it is there already")
	require.NoError(t, session.Export(ctx, two, list[0].Key, &second))
	require.Equal(t, first.String(), second.String())
}
