package openai_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/openai"
)

// No error, and nothing else that is printed, has the key: whatever servers and transports do with it.
func TestTheKeyIsNeverShown(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", key)
	config := openai.Config{Model: "tiny", BaseURL: "http://localhost/v1", APIKey: key, Attempts: 1}
	noKey := func(t *testing.T, what any) {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			text := fmt.Sprintf(verb, what)
			require.NotContains(t, text, key, verb)
			require.NotContains(t, text, fmt.Sprintf("%x", key), verb)
			require.NotContains(t, text, base64.StdEncoding.EncodeToString([]byte(key)), verb)
		}
	}
	noKey(t, config)
	noKey(t, &config)
	noKey(t, struct{ C openai.Config }{config})
	require.NotContains(t, inJSON(t, config), key)
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("with", "config", config)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("with", "config", config)
	require.NotContains(t, logged.String(), key)
	require.Contains(t, fmt.Sprint(config), `Model: "tiny"`)
	require.Contains(t, fmt.Sprint(openai.Config{}), "APIKey: none")

	echo := func(status int, kind, format string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, format, r.Header.Get("Authorization"))
		}
	}
	long := strings.Repeat("x", 978) // so that what is told ends within the key
	handlers := map[string]http.HandlerFunc{
		"401":         echo(401, "application/json", `{"error":{"message":"wrong key: %s"}}`),
		"400 as text": echo(400, "text/plain", "headers: %s"),
		"500, long":   echo(500, "text/plain", long+"%s"),
		"422 detail":  echo(422, "application/json", `{"detail":[{"input":"%s"}]}`),
		"in a stream": echo(200, "text/event-stream", `data: {"error":{"message":"%s"}}`+"\n\n"),
		"long":        echo(200, "text/event-stream", `data: {"error":"`+long+`%s"}`+"\n\n"),
		"in base64": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(401)
			_, _ = fmt.Fprintf(w, "wrong key: %s", base64.StdEncoding.EncodeToString([]byte(key)))
		},
		"in an answer": echo(200, "application/json", `{"error":"%s"}`),
		"as an answer": echo(200, "application/json", `%s`),
		"as a reason": echo(200, "application/json",
			`{"choices":[{"finish_reason":"stop","message":{"content":[{"type":"%s"}]}}]}`),
		"redirected": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://example.invalid/?k="+key)
			w.WriteHeader(307)
		},
		"cut": cut("application/json", "{"),
	}
	check := func(t *testing.T, m model.Model) {
		noKey(t, m)
		for _, stream := range []bool{false, true} {
			_, _, err := ask(t, m, hello(stream))
			require.Error(t, err)
			for ; err != nil; err = errors.Unwrap(err) {
				noKey(t, err)
				require.NotContains(t, err.Error(), key[:12], "nor a part of it")
			}
		}
	}
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) { check(t, serve(t, handler).model(t)) })
	}
	t.Run("a transport that tells", func(t *testing.T) {
		c := config
		c.HTTPClient = &http.Client{
			Transport: transport(func(r *http.Request) (*http.Response, error) {
				return nil, fmt.Errorf("cannot send %v", r.Header)
			}),
		}
		m, err := openai.New(c)
		require.NoError(t, err)
		check(t, m)
	})
}
