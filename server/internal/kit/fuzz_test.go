package kit

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// Whatever a client sends is read, or refused as its own mistake. What was read can be sent again.
func FuzzBody(f *testing.F) {
	f.Add(
		`{"newMessage":{"parts":[{"function_response":{"id":"confirm-9-c","name":"adk_request_confirmation","response":{"response":"{\"confirmed\":true}"}}}]}}`,
	)
	f.Add(
		`{"new_message":{"role":null,"parts":[null,{"inline_data":{"data":"_-8","mime_type":"a/b"}},{"function_call":{"name":"f"}}]}}`,
	)
	f.Add(`{"stateDelta":{"a":12345678901234567890},"artifact":{"text":""},"state_delta":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		refused := func(err error) {
			t.Helper()
			status := web.ProblemOf(err).Status
			require.True(t, status >= 400 && status < 500, "%v", err)
		}
		r := httptest.NewRequest("POST", "/run", strings.NewReader(text))
		b, err := readBody(httptest.NewRecorder(), r, 1<<20)
		if err != nil {
			refused(err)
			return
		}
		if b.object("stateDelta"); b.err != nil {
			refused(b.err)
		}
		if _, err := readPart(b.keys["artifact"]); err != nil {
			refused(err)
		}
		content, err := readContent(b.keys["newmessage"])
		if err != nil {
			refused(err)
			return
		}
		input := &session.Event{ID: "e", Seq: 1, Author: session.User, Content: content}
		for _, p := range input.FunctionResponses() {
			if _, err := decisionOf(unwrapped(p.Response)); err != nil {
				refused(err)
			}
		}
		h := newHistory(nil)
		h.add(input)
		data, err := h.encode(input)
		require.NoError(t, err)
		require.True(t, json.Valid(data), string(data))
		require.NotContains(t, string(data), "\n", "an event is one line of a stream")
	})
}

// An ID of a question says which call it is about, whatever the call's ID is.
func FuzzConfirmationID(f *testing.F) {
	f.Add(int64(9), "call-1")
	f.Add(int64(0), "")
	f.Fuzz(func(t *testing.T, heldAt int64, call string) {
		if heldAt < 0 {
			return
		}
		at, of, ok := parseConfirmationID(confirmationID(heldAt, call))
		require.True(t, ok)
		require.Equal(t, heldAt, at)
		require.Equal(t, call, of)
	})
}
