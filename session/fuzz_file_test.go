package session_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/adk"
	"github.com/plughook/plughook/session/memory"
)

// A session file is read, or refused with its line; what is read and can be imported exports to a file
// that reads the same.
func FuzzReadRecordings(f *testing.F) {
	f.Add([]byte(foreignMarks))
	f.Add([]byte(twoSessions))
	f.Add([]byte(
		"\xef\xbb\xbf{\"session\":{\"appName\":\"a\",\"userId\":\"u\",\"id\":\"s\"}}\r\n\r\n{}"))
	f.Add([]byte(
		`{"session":{"appName":"a","userId":"u","id":"s","state":{"app:n":1,"x":null}}}` + "\n" + `{"id":"1","actions":{"stateIncrement":{"app:n":2}}}`,
	))
	f.Add([]byte(
		`{"session":{"appName":"a","userId":"u","id":"s"}}` + "\n" + `{"id":"1","timestamp":"0000-10-10T10:10:10Z"}`,
	)) // before the zero time
	f.Fuzz(func(t *testing.T, data []byte) {
		for rec, err := range session.ReadRecordings("f", bytes.NewReader(data)) {
			if err != nil {
				var at *session.FileError
				require.ErrorAs(t, err, &at)
				require.Positive(t, at.Line)
				return
			}
			mem := memory.New()
			adk.Convert(rec)
			if session.Import(t.Context(), mem, rec) != nil {
				_, err := mem.Get(t.Context(), rec.Key)
				require.ErrorIs(t, err, session.ErrNotFound, "nothing is half imported")
				continue
			}
			var one, two bytes.Buffer
			require.NoError(t, session.Export(t.Context(), mem, rec.Key, &one))
			for again, err := range session.ReadRecordings("f", strings.NewReader(one.String())) {
				require.NoError(t, err)
				mem := memory.New()
				require.NoError(t, session.Import(t.Context(), mem, again))
				require.NoError(t, session.Export(t.Context(), mem, again.Key, &two))
			}
			first, second := strings.Split(one.String(), "\n"), strings.Split(two.String(), "\n")
			require.Len(t, second, len(first))
			for i := range first[:len(first)-1] {
				require.JSONEq(t, first[i], second[i])
			}
		}
	})
}
