package session_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/adk"
	"github.com/plughook/plughook/session/memory"
)

const foreignMarks = `{"session":{"appName":"a","userId":"u","id":"s","state":{"n":0}}}
{"id":"1","invocationId":"i1","author":"user","timestamp":100.5,"content":{"role":"user","parts":[{"text":"one"}]},"actions":{"stateDelta":{"n":1}}}
{"id":"2","invocationId":"i1","author":"bot","timestamp":101,"content":{"role":"model","parts":[{"text":"two"}]}}
{"id":"3","invocationId":"i1","author":"user","timestamp":102,"actions":{"compaction":{"startTimestamp":101.0,"endTimestamp":101.0,"compactedContent":{"role":"model","parts":[{"text":"summary"}]}}}}
{"id":"4","invocationId":"i2","author":"user","timestamp":103,"content":{"role":"user","parts":[{"text":"four"}]},"actions":{"stateDelta":{"n":2}}}
{"id":"5","invocationId":"i3","author":"user","timestamp":104,"actions":{"rewindBeforeInvocationId":"i2","stateDelta":{"n":1},"artifactDelta":{}}}
{"id":"6","invocationId":"i4","author":"user","timestamp":105,"actions":{"rewindBeforeInvocationId":"absent"}}
{"id":"7","invocationId":"i4","author":"user","timestamp":106,"actions":{"compaction":{"startTimestamp":1.0,"endTimestamp":2.0}}}
`

func TestConvert(t *testing.T) {
	read := func() *session.Recording {
		for rec, err := range session.ReadRecordings("f", strings.NewReader(foreignMarks)) {
			require.NoError(t, err)
			return rec
		}
		return nil
	}
	rec := read()
	require.Len(t, session.Live(rec.Events), 7, "another kit's marks are inert")
	left := adk.Convert(rec)
	require.Len(t, left, 2)
	require.Contains(t, left[0], `event "6" at 6 stays inert: it names the invocation "absent"`)
	require.Contains(t, left[1],
		`event "7" at 7 stays inert: no live event is in its range of time`)
	require.Equal(t, []int64{3, 1, 6, 7}, logtest.Positions(session.Live(rec.Events)))
	require.Equal(t, map[string]any{"n": 1.0}, session.State(rec.State, rec.Events))
	require.Equal(t, "summary",
		session.Live(rec.Events)[0].Actions.Compaction.Content.Parts[0].Text)

	// What was converted can be stored, and what was not as well.
	mem := memory.New()
	require.NoError(t, session.Import(t.Context(), mem, rec))
	s, err := mem.Get(t.Context(), rec.Key)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"n": 1.0}, s.State)
	require.EqualValues(t, 5, s.Frontier)
}
