package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/openai"
)

func TestNew(t *testing.T) {
	good := openai.Config{Model: "tiny", BaseURL: "http://localhost/v1", APIKey: key}
	for want, change := range map[string]func(*openai.Config){
		"Config.Model is empty":               func(c *openai.Config) { c.Model = "" },
		"is not valid; it looks like":         func(c *openai.Config) { c.BaseURL = "localhost:11434/v1" },
		"Config.BaseURL or OPENAI_BASE_URL":   func(c *openai.Config) { c.BaseURL = "http://[" + key },
		"has a user, a query or a":            func(c *openai.Config) { c.BaseURL = "http://u:" + key + "@localhost/v1" },
		"a key goes into Config.APIKey":       func(c *openai.Config) { c.BaseURL = "http://localhost/v1?key=" + key },
		"api.openai.com needs a key":          func(c *openai.Config) { c.BaseURL, c.APIKey = "", "" },
		"a line break or another control":     func(c *openai.Config) { c.APIKey = key + "\n" },
		"Config.Attempts is -1; it cannot be": func(c *openai.Config) { c.Attempts = -1 },
	} {
		t.Run(want, func(t *testing.T) {
			t.Setenv("OPENAI_BASE_URL", "")
			t.Setenv("OPENAI_API_KEY", "")
			c := good
			change(&c)
			_, err := openai.New(c)
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), key)
		})
	}
}

// The environment says where, and has the key; nothing else in it counts.
func TestEnvironment(t *testing.T) {
	srv := serve(t, sends(ok))
	t.Setenv("OPENAI_BASE_URL", srv.URL+"/v1/")
	t.Setenv("OPENAI_API_KEY", key)
	t.Setenv("OPENAI_ADMIN_KEY", "admin")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Other: secret")
	for _, c := range []struct{ key, want string }{{"", "Bearer " + key}, {"another", "Bearer another"}} {
		m, err := openai.New(openai.Config{Model: "tiny", APIKey: c.key, HTTPClient: srv.Client()})
		require.NoError(t, err)
		_, _, err = ask(t, m, hello(false))
		require.NoError(t, err)
		sent := srv.headers[len(srv.headers)-1]
		require.Equal(t, c.want, sent.Get("Authorization"))
		require.Empty(t, sent.Get("X-Other"))
	}
	t.Setenv("OPENAI_API_KEY", "")
	m, err := openai.New(openai.Config{Model: "tiny", HTTPClient: srv.Client()})
	require.NoError(t, err)
	_, _, err = ask(t, m, hello(false))
	require.NoError(t, err)
	require.NotContains(t, srv.headers[len(srv.headers)-1], "Authorization", "no key, none sent")
}

// OpenAI's own servers are told the limit of tokens under another name.
func TestMaxCompletionTokens(t *testing.T) {
	for host, want := range map[string]string{"api.openai.com": "max_completion_tokens", "openai.com": "max_completion_tokens", "X.OpenAI.Azure.com": "max_completion_tokens", "notopenai.com": "max_tokens", "localhost:1": "max_tokens"} {
		var sent string
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			sent = string(body)
			return &http.Response{
				StatusCode: 200,
				Header:     http.Header{"Content-Type": {"application/json"}},
				Body:       io.NopCloser(strings.NewReader(ok)),
				Request:    r,
			}, err
		})}
		m, err := openai.New(openai.Config{
			Model:      "tiny",
			BaseURL:    "https://" + host + "/v1",
			APIKey:     key,
			HTTPClient: client,
		})
		require.NoError(t, err)
		_, _, err = ask(t, m, &model.Request{Contents: hello(false).Contents, Config: limit(7)})
		require.NoError(t, err)
		require.Contains(t, sent, `"`+want+`":7`)
	}
}
