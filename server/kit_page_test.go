package server_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server"
)

// kitPage is the package with the kit's web page.
const kitPage = "@google/adk-devtools@2.0.0"

// fetchPage returns the directory with the files of the kit's web page, as npm ships it. The test is skipped where
// the page cannot be had.
func fetchPage(t *testing.T) string {
	t.Helper()
	lacks := func(what string, err error) {
		t.Helper()
		if os.Getenv("PLUGHOOK_TEST_ALL") != "" && os.Getenv("PLUGHOOK_WITHOUT_NPM") == "" {
			t.Fatalf("%s: %v", what, err)
		}
		t.Skipf("%s: %v", what, err)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		lacks("install npm (Debian: apt-get install npm)", err)
	}
	dir := t.TempDir()
	pack := exec.CommandContext(t.Context(), npm, "pack", "--silent", kitPage)
	pack.Dir = dir
	if out, err := pack.CombinedOutput(); err != nil {
		lacks("npm pack "+kitPage+" needs the npm registry: "+string(out), err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	unpack(t, files[0], dir)
	return filepath.Join(dir, "package", "dist", "browser")
}

// unpack unpacks an npm package.
func unpack(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	for list := tar.NewReader(z); ; {
		h, err := list.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		require.True(t, filepath.IsLocal(h.Name), h.Name)
		if h.Typeflag != tar.TypeReg {
			continue
		}
		to := filepath.Join(dir, h.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		data, err := io.ReadAll(list)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, data, 0o644))
	}
}

// browser is a page in headless Chromium.
type browser struct {
	*testing.T
	ctx context.Context
}

// openBrowser starts Chromium. The test is skipped where it is not installed.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		if os.Getenv("PLUGHOOK_TEST_ALL") != "" {
			t.Fatal("install Chromium (Debian: apt-get install chromium)")
		}
		t.Skip("install Chromium (Debian: apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.NoSandbox, // which needs rights that a container may not give
		chromedp.WindowSize(1400, 1000),
	)
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	return &browser{T: t, ctx: ctx}
}

// do does things on the page.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.shot()
		b.Fatalf("%v; the page shows: %s", err, b.text())
	}
}

// text returns what the page shows.
func (b *browser) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`)) // who waits for it asks again
	return text
}

// shows waits until the page shows a text.
func (b *browser) shows(text string) {
	b.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !strings.Contains(b.text(), text) {
		if time.Now().After(deadline) {
			b.shot()
			b.Fatalf("the page does not show %q: %s", text, b.text())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (b *browser) shot() {
	data, _ := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	_ = os.WriteFile("/tmp/adk-shot.png", data, 0o644)
	html, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.outerHTML`))
	_ = os.WriteFile("/tmp/adk-shot.html", []byte(html), 0o644)
}

// say sends a message on the page.
func (b *browser) say(text string) {
	b.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS("textarea"), text+"\r"))
}

func TestKitPage(t *testing.T) {
	dir := os.Getenv("ADKPAGE")
	if dir == "" {
		dir = fetchPage(t)
	}
	s := serveKit(t, func(o *server.Options) { o.Pages = http.Dir(dir) })
	b := openBrowser(t)
	b.do(chromedp.Navigate(s.url + "/?app=desk"))
	b.shows("desk")
	b.do(chromedp.Navigate(s.url + "/dev-ui/?app=desk"))
	time.Sleep(2 * time.Second)
	b.say("Hello there")
	b.shows("Hello from the desk: Hello there")
	b.shot()
}
