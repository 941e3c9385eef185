package guardrail_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"

	"github.com/plughook/plughook/model"
)

// hang answers when the question is cancelled.
func hang(_ http.ResponseWriter, r *http.Request, _ map[string]string) { <-r.Context().Done() }

// noVerdict is a fault: an answer that is no verdict.
func noVerdict(text string) (fault struct {
	timeout string
	do      func(http.ResponseWriter, *http.Request, map[string]string)
	want    string
}) {
	fault.timeout, fault.want = "1m", "its judge's answer is not the JSON that is documented"
	fault.do = func(w http.ResponseWriter, _ *http.Request, _ map[string]string) { _, _ = io.WriteString(w, text) }
	return fault
}

// hijack answers with these bytes, and closes the connection.
func hijack(text string) func(http.ResponseWriter, *http.Request, map[string]string) {
	return func(w http.ResponseWriter, _ *http.Request, _ map[string]string) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}
}

// bomb is 2 MiB of spaces.
func bomb() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range 2 {
		_, _ = z.Write(bytes.Repeat([]byte{' '}, 1<<20))
	}
	_ = z.Close()
	return b.Bytes()
}

func noModels(name string) (model.Model, error) { return nil, errors.New("there is no " + name) }
