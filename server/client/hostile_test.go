package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server/client"
	"github.com/plughook/plughook/session"
)

var key = session.Key{App: "desk", User: "ada", ID: "s"}

// serve serves one answer, whatever is asked for.
func serve(t *testing.T, answer http.HandlerFunc) string {
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL
}

// What a server, or somebody on the way, sends the client to would get the token and what people say.
func TestRedirectsAreNotFollowed(t *testing.T) {
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		t.Errorf("another server got %q, with %d bytes", r.Header.Get("Authorization"), len(body))
	})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other+r.URL.Path, http.StatusTemporaryRedirect)
	})
	for _, h := range []*http.Client{nil, {}} {
		c, err := client.New(url, client.Options{Token: "secret", HTTP: h})
		require.NoError(t, err)
		defer c.Close()
		_, err = c.Get(t.Context(), key)
		require.ErrorContains(t, err, "307")
		for _, err := range c.Run(t.Context(), key, session.Message("Hello"), session.RunConfig{}) {
			require.ErrorContains(t, err, "307")
		}
	}
}

func TestNamesThatAreStepsOfAPathStayNames(t *testing.T) {
	var paths []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.EscapedPath())
		fmt.Fprint(w, "{}")
	})
	c, err := client.New(url, client.Options{})
	require.NoError(t, err)
	defer c.Close()
	for _, id := range []string{".", "..", "../x", "a/b", "%2e%2e", "...", "a?b#c"} {
		_, err := c.Get(t.Context(), session.Key{App: "..", User: "ada", ID: id})
		require.NoError(t, err)
	}
	const one = "/v1/apps/%2E%2E/sessions/"
	require.Equal(t, []string{
		one + "%2E", one + "%2E%2E", one + "..%2Fx", one + "a%2Fb", one + "%252e%252e", one + "...", one + "a%3Fb%23c",
	}, paths)
}

// partials sends partial events of one answer.
func partials(n int, part string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for range n {
			fmt.Fprintf(
				w,
				"event: partial\ndata: {\"id\":\"e\",\"author\":\"helper\",\"partial\":true,\"content\":{\"parts\":[%s]}}\n\n",
				part,
			)
		}
		fmt.Fprint(w, "event: end\ndata: {\"kind\":\"done\"}\n\n")
	}
}

func TestALongAnswerCostsTheClientWhatItsTextDoes(t *testing.T) {
	const n = 10000
	c, err := client.New(serve(t, partials(n, `{"text":"0123456789"}`)), client.Options{})
	require.NoError(t, err)
	defer c.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	size := 0
	for e, err := range c.Run(t.Context(), key, session.Message("Hello"), session.RunConfig{}) {
		require.NoError(t, err)
		size += len(e.Text())
	}
	runtime.ReadMemStats(&after)
	require.Equal(t, 10*n, size)
	require.Less(t, after.TotalAlloc-before.TotalAlloc,
		uint64(200<<20)) // it was 20 kB for each byte
}

func TestThoughtsReachTheCaller(t *testing.T) {
	c, err := client.New(serve(t, partials(3, `{"text":"Hm","thought":true}`)), client.Options{})
	require.NoError(t, err)
	defer c.Close()
	n := 0
	for _, err := range c.Run(t.Context(), key, session.Message("Hello"), session.RunConfig{}) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 3, n)
}
