package v1_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server/internal/servertest"
)

// document is what the server says of its routes.
type document struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas map[string]*jsonschema.Schema `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	RequestBody *struct {
		Content map[string]struct{ Schema *jsonschema.Schema } `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]struct{ Schema *jsonschema.Schema } `json:"content"`
	} `json:"responses"`
}

// held is a transport that holds every answer of the tests to the document.
type held struct {
	t   *testing.T
	doc document

	mu   sync.Mutex
	seen map[string]bool // operations that were answered with success
}

func (h *held) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		sent, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	path, op := h.find(r.Method, r.URL.Path)
	if path == "" {
		return resp, nil
	}
	answer, ok := op.Responses[strconv.Itoa(resp.StatusCode)]
	success := ok
	if !ok {
		answer = op.Responses["default"]
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if _, other := answer.Content["*/*"]; other || resp.StatusCode == http.StatusNoContent {
		h.note(success, r.Method+" "+path)
		return resp, nil
	}
	form, ok := answer.Content[kind]
	assert.True(h.t, ok, "%s %s: %d with %q, which the document does not have", r.Method, path,
		resp.StatusCode, kind)
	if kind != "application/json" || !ok {
		h.note(success, r.Method+" "+path)
		return resp, nil
	}
	data, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(data))
	if err != nil {
		return resp, err
	}
	h.validate(form.Schema, data, r.Method+" "+path+" answers")
	if success && op.RequestBody != nil && len(sent) > 0 {
		if form, ok := op.RequestBody.Content["application/json"]; ok {
			h.validate(form.Schema, sent, r.Method+" "+path+" takes")
		}
	}
	h.note(success, r.Method+" "+path)
	return resp, nil
}

func (h *held) note(success bool, op string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if success {
		h.seen[op] = true
	}
}

// validate holds JSON to a schema of the document.
func (h *held) validate(s *jsonschema.Schema, data []byte, what string) {
	text, err := json.Marshal(map[string]any{"$defs": h.doc.Components.Schemas, "allOf": []any{s}})
	require.NoError(h.t, err)
	text = bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/$defs/"))
	var whole jsonschema.Schema
	require.NoError(h.t, json.Unmarshal(text, &whole))
	resolved, err := whole.Resolve(nil)
	require.NoError(h.t, err)
	var value any
	require.NoError(h.t, json.Unmarshal(data, &value))
	assert.NoError(h.t, resolved.Validate(value), "%s: %s", what, data)
}

// find returns the document's path and operation of a request.
func (h *held) find(method, path string) (string, operation) {
	for pattern, ops := range h.doc.Paths {
		if op, ok := ops[strings.ToLower(method)]; ok && matches(pattern, path) {
			return pattern, op
		}
	}
	return "", operation{}
}

func matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if strings.HasSuffix(pattern, "/{name}") && len(got) > len(want) {
		got = got[:len(want)]
	}
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && !strings.HasPrefix(want[i], "{") {
			return false
		}
	}
	return true
}

// hold makes the test's requests go through a held transport.
func (s *service) hold() *held {
	s.Helper()
	_, text := s.Do("GET", "/v1/openapi.json", "")
	h := &held{t: s.T, seen: map[string]bool{}}
	require.NoError(s, json.Unmarshal([]byte(text), &h.doc))
	s.Client = &http.Client{Transport: h}
	return h
}

// Every route of the document is asked here, and what it takes and answers is held to the document.
func TestTheDocumentSaysWhatTheRoutesDo(t *testing.T) {
	s := serve(t, servertest.Desk, servertest.WithFiles)
	h := s.hold()
	const one = "/v1/apps/desk/sessions/ada"
	for _, step := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/health", "", 200},
		{"GET", "/ready", "", 200},
		{"GET", "/version", "", 200},
		{"GET", "/v1/openapi.json", "", 200},
		{"GET", "/v1/apps", "", 200},
		{"POST", "/v1/apps/desk/sessions", `{"id":"ada","state":{"a":1}}`, 201},
		{"POST", "/v1/apps/desk/sessions", `{"id":"ada"}`, 409},
		{"POST", "/v1/apps/desk/sessions", ``, 201},
		{"GET", "/v1/apps/desk/sessions?limit=1", "", 200},
		{"GET", "/v1/apps/desk/sessions?limit=x", "", 400},
		{"GET", "/v1/apps/desk/sessions?sort=newest", "", 400},
		{"GET", "/v1/apps/none/sessions", "", 404},
		{"GET", one, "", 200},
		{"GET", one + "?user=bob", "", 404},
		{"PATCH", one, `{"state":{"a":null,"b":[1]}}`, 200},
		{"PATCH", one, `{}`, 400},
		{"POST", one + "/run", `{"message":"Hello","invocationId":"i-1"}`, 200},
		{"POST", one + "/run", `{"mesage":"Hello"}`, 400},
		{"POST", one + "/run", `{"message":"book","id":"in-2"}`, 200},
		{"GET", one + "/waiting", "", 200},
		{"GET", "/v1/apps/desk/sessions?waiting=1&match=book&author=desk", "", 200},
		{"POST", one + "/approve", `{"all":true}`, 200},
		{"POST", one + "/approve", `{}`, 409},
		{"POST", one + "/run", `{"message":"book"}`, 200},
		{"POST", one + "/decline", `{"all":true}`, 200},
		{"POST", one + "/run", `{"message":"order"}`, 200},
		{"POST", one + "/respond", `{"call":"order-1","response":"done"}`, 200},
		{"POST", one + "/respond", `{"call":"order-1","response":"done"}`, 409},
		{"POST", one + "/run", `{"message":"refund"}`, 200},
		{"GET", "/v1/approvals?app=desk", "", 200},
		{"POST", "/v1/approvals", `{"app":"desk","session":"ada","calls":["refund-1"],"approve":true}`, 200},
		{"POST", "/v1/approvals", `{"app":"desk","session":"ada","calls":["refund-1"],"approve":true}`, 403},
		{"POST", "/v1/approvals", `{"app":"desk","session":"ada","calls":["refund-1"],"approve":false}`, 200},
		{"POST", "/v1/approvals", `{"app":"desk","session":"ada","calls":["book-0"],"approve":true}`, 404},
		{"POST", "/v1/approvals", `{"app":"desk","session":"ada"}`, 400},
		{"GET", one + "/events?after=2&limit=3", "", 200},
		{"GET", one + "/events?live=1", "", 200},
		{"GET", one + "/events?after=1000", "", 400},
		{"GET", one + "/export", "", 200},
		{"POST", one + "/invocations/i-1/cancel", "", 202},
		{"POST", one + "/invocations/i-1/cancel?wait=1", "", 200},
		{"POST", one + "/invocations/nothing/cancel?wait=1", "", 404},
		{"POST", one + "/rewind", `{"turns":1,"dryRun":true}`, 200},
		{"POST", one + "/rewind", `{"turns":1}`, 200},
		{"POST", one + "/rewind", `{"to":1,"turns":1}`, 400},
		{"POST", one + "/rewind", `{"before":"nothing"}`, 409},
		{"POST", one + "/undo", `{"dryRun":true}`, 200},
		{"POST", one + "/undo", ``, 200},
		{"POST", one + "/compact", `{"dryRun":true}`, 200},
		{"POST", one + "/compact", ``, 200},
		{"POST", one + "/fork", `{"at":3,"id":"fork"}`, 201},
		{"POST", one + "/fork", `{"at":3,"id":"fork"}`, 409},
		{"PUT", one + "/artifacts/maps/paris.txt", "a map", 201},
		{"GET", one + "/artifacts", "", 200},
		{"GET", one + "/artifacts/maps/paris.txt?version=0", "", 200},
		{"GET", one + "/artifacts/maps/rome.txt", "", 404},
		{"DELETE", one + "/artifacts/maps/paris.txt", "", 204},
		{"POST", "/v1/apps/desk/retention", `{"days":30,"dryRun":true}`, 200},
		{"POST", "/v1/apps/desk/retention", `{}`, 400},
		{"DELETE", one, "", 204},
		{"DELETE", one, "", 404},
		{"DELETE", "/v1/apps/desk/users/user?dryRun=1", "", 200},
		{"DELETE", "/v1/apps/desk/users/user", "", 200},
		{"POST", "/v1/apps/desk/ui", `{"id":"ui","messages":[{"id":"m-1","role":"user","parts":[{"type":"text","text":"Hello"}]}]}`, 200},
		{"POST", "/v1/apps/desk/ui", `{"id":"ui","messages":[]}`, 409},
		{"GET", "/v1/apps/desk/ui/ui", "", 200},
		{"GET", "/v1/apps/desk/ui/ui/stream", "", 204},
		{"GET", "/v1/apps/desk/ui/nobody", "", 404},
		{"POST", "/chat", `{"message":"Hello","session":"new"}`, 200},
		{"POST", "/chat", `{"message":"Hello"}`, 400},
	} {
		status, body := s.Do(step.method, step.path, step.body)
		require.Equal(t, step.status, status, "%s %s %s: %s", step.method, step.path, step.body,
			body)
	}
	for path, ops := range h.doc.Paths {
		for method := range ops {
			require.True(t, h.seen[strings.ToUpper(method)+" "+path],
				"%s %s was not answered with a status of the document", method, path)
		}
	}
}
