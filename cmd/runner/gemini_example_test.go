package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/cmd/runner/internal/clitest"
	"github.com/plughook/plughook/internal/geminitest"
)

// The example with the real client: it asks for the tool, shows the answer as it comes, and the key is
// nowhere but in the request's header.
func TestGeminiExample(t *testing.T) {
	const key = "canary-0123456789"
	srv := geminitest.New(
		geminitest.Call("get_weather", map[string]any{"city": "Paris"}).Signed([]byte("signature")),
		geminitest.Stream(geminitest.Text("It is 19 degrees "), geminitest.Text("and rainy.")),
		geminitest.Call("book_umbrella", map[string]any{"city": "Paris"}),
		geminitest.Text("Your umbrella is at the station."),
		geminitest.Status(403, "no, "+key+" may not"),
	)
	defer srv.Close()
	t.Setenv("GEMINI_API_KEY", key)
	t.Setenv("GOOGLE_API_KEY", "")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", srv.URL)

	db := filepath.Join(t.TempDir(), "weather.db")
	args := []string{
		"chat",
		"--config",
		"../../examples/weather/runner-gemini.yaml",
		"--store",
		"sqlite:" + db,
		"--session",
		"s",
		"-v",
	}
	code, out, errs := clitest.Run(
		t,
		newRoot,
		strings.NewReader("What is the weather in Paris?\nBook me an umbrella\ny\nAnd now?\n"),
		args...)
	require.Zero(t, code, errs)
	require.Equal(t, `  · calls get_weather {"city":"Paris"}
  · response of get_weather {"celsius":19,"sky":"rainy"}
weather: It is 19 degrees and rainy.
  · calls book_umbrella {"city":"Paris"}
waiting: weather: book_umbrella {"city":"Paris"}: An umbrella costs 5 EUR.
  · response of book_umbrella {"booked":true,"eur":5,"where":"at the station"}
weather: Your umbrella is at the station.
  · (error PERMISSION_DENIED: no, [key] may not)
`, out)
	require.Zero(t, srv.Left())
	for _, r := range srv.Requests() {
		require.Equal(t, key, r.Header.Get("X-Goog-Api-Key"))
		require.Contains(t, r.Path, "gemini-2.5-flash:streamGenerateContent")
	}
	stored, err := os.ReadFile(db)
	require.NoError(t, err)
	for _, text := range []string{out, errs, string(stored)} {
		require.NotContains(t, text, key)
	}
}
