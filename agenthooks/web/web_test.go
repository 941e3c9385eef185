package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agenthooks"
	"github.com/plughook/plughook/agenthooks/web"
)

// What an interceptor elsewhere answers is carried out; whatever is no verdict is a denial.
func TestAgentHooksOverHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string // the verdict's reason, or its decision where it has none
	}{
		"allow":     {answer: say(`{"decision":"allow"}`), want: "allow"},
		"deny":      {answer: say(`{"decision":"deny","reason":"policy:no"}`), want: "policy:no"},
		"transform": {answer: say(`{"decision":"transform","transform":{"path":"$target.content","value":"x"}}`), want: "transform"},
		"reserved":  {answer: say(`{"decision":"deny","reason":"host_error:x"}`), want: agenthooks.VerdictInvalid},
		"half":      {answer: say(`{"decision":"allow"`), want: agenthooks.VerdictInvalid},
		"nothing":   {answer: say(``), want: agenthooks.VerdictInvalid},
		"too large": {answer: say(`{"decision":"allow"}` + strings.Repeat(" ", 6<<20)), want: agenthooks.VerdictInvalid},
		"status": {want: agenthooks.InterceptorFailed, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, `{"decision":"allow"}`)
		}},
		"redirect": {want: agenthooks.InterceptorFailed, answer: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				_, _ = io.WriteString(w, `{"decision":"allow"}`)
				return
			}
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}},
		"late": {want: agenthooks.InterceptorTimeout, answer: func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that its client has gone
			<-r.Context().Done()
		}},
		"endless": {want: agenthooks.InterceptorTimeout, answer: func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"decision":"allow"`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer key" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				c.answer(w, r)
			}))
			defer there.Close()
			policy, err := web.New(there.URL+"/judge", "key")
			require.NoError(t, err)
			timeout := 10 * time.Second
			if c.want == agenthooks.InterceptorTimeout {
				timeout = 50 * time.Millisecond
			}
			host, err := agenthooks.NewHost(agenthooks.Config{
				Interceptors: []agenthooks.Registered{{Name: "there", Interceptor: policy}},
				Timeout:      timeout,
			})
			require.NoError(t, err)
			s := &agenthooks.Session{Host: host, ID: "s", Agent: "bot", Framework: "plughook"}
			r, err := s.Emit(context.Background(), agenthooks.Ask{
				Point:  agenthooks.Output,
				Fields: agenthooks.Fields{"output": []byte(`{"content":"hi"}`)},
			})
			require.NoError(t, err)
			got := r.Verdict.Reason
			if got == "" {
				got = string(r.Verdict.Decision)
			}
			require.Equal(t, c.want, got)
			require.NoError(t, host.Close(context.Background()))
		})
	}
}

func say(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, answer) }
}

func TestAddresses(t *testing.T) {
	for _, address := range []string{"", "policy", "ftp://policy/", "http:///x", "http://me:hidden@policy/"} {
		_, err := web.New(address, "")
		require.Error(t, err, address)
		require.NotContains(t, err.Error(), "hidden")
	}
}
