package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/model"
)

// endless is a handler that begins its answer and then repeats a text as long as somebody reads.
func endless(status int, kind, begin, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, err := io.WriteString(w, begin)
		block := strings.Repeat(text, 1+64<<10/len(text))
		for err == nil {
			_, err = io.WriteString(w, block)
		}
	}
}

func TestAnswersWithoutAnEnd(t *testing.T) {
	const whole, events = "application/json", "text/event-stream"
	chunk := `data: {"choices":[{"delta":{"content":"` + strings.Repeat("x", 500) + "\"}}]}\n\n"
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		stream  bool
		want    string
	}{
		"a whole answer":    {endless(200, whole, `{"choices":[{"message":{"content":"`, "x"), false, "33554432 bytes"},
		"values":            {endless(200, whole, `{"choices":[`, "{},"), false, "500000 JSON values"},
		"a stream":          {endless(200, events, "", chunk), true, "33554432 bytes"},
		"a line":            {endless(200, events, "data: ", "x"), true, "33554432 bytes"}, // in one line
		"an event":          {endless(200, events, "data: [\n", "data: {},\n"), true, "500000 JSON values"},
		"an unasked stream": {endless(200, events, "", chunk), false, "33554432 bytes"},
		"an error":          {endless(400, whole, `{"error":{"message":"`, "no, "), false, "answered 400"},
		"a text of parts":   {sends(`{"choices":[{"message":{"content":[` + strings.Repeat(`{"type":"text","text":"x"},`, 100_000) + `{"type":"text","text":"x"}]}}]}`), false, ""},
	} {
		_, whole, err := ask(t, serve(t, c.handler).model(t), hello(c.stream))
		if c.want == "" {
			require.NoError(t, err, name)
			require.Len(t, texts(whole), 100_001)
			continue
		}
		require.ErrorContains(t, err, c.want, name)
		require.Less(t, len(err.Error()), 2000, name)
		if name != "an error" {
			var coded *model.Error
			require.ErrorAs(t, err, &coded)
			require.Equal(t, model.Failed, coded.Code, name)
		}
	}
}
