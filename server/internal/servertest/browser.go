package servertest

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// A Browser is a page in headless Chromium.
type Browser struct {
	*testing.T
	Ctx context.Context
}

// OpenBrowser starts Chromium. The test is skipped where it is not installed.
func OpenBrowser(t *testing.T) *Browser {
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
		chromedp.WSURLReadTimeout(Patience),
		chromedp.NoSandbox, // which needs rights that a container may not give
		chromedp.WindowSize(1400, 1000),
		// The page's fonts are elsewhere; the test is not to wait for them.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
	)
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx)) // it starts with the context that it is to live as long as
	return &Browser{T: t, Ctx: ctx}
}

// Patience is how long the page may take for a thing, on a machine that does much else.
const Patience = 5 * time.Minute

// Do does things on the page.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, Patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Fatalf("%v; the page shows: %s", err, b.Text())
	}
}

// Text returns what the page shows, or why that cannot be said: who waits for a text asks again.
func (b *Browser) Text() string {
	ctx, cancel := context.WithTimeout(b.Ctx, Patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// Shows waits until the page shows a text.
func (b *Browser) Shows(text string) {
	b.Helper()
	deadline := time.Now().Add(Patience)
	for !strings.Contains(b.Text(), text) {
		if time.Now().After(deadline) {
			b.Fatalf("the page does not show %q: %s", text, b.Text())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Holds waits until an expression of JavaScript is true.
func (b *Browser) Holds(expression string) {
	b.Helper()
	deadline := time.Now().Add(Patience)
	for {
		ctx, cancel := context.WithTimeout(b.Ctx, Patience)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		cancel()
		if ok && err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%s is not true: %v; the page shows: %s", expression, err, b.Text())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// HTML returns the page as it is now.
func (b *Browser) HTML() string {
	b.Helper()
	return value[string](b, `document.documentElement.outerHTML`)
}

// Texts returns what an expression of JavaScript is, which is a list of texts.
func (b *Browser) Texts(expression string) []string {
	b.Helper()
	return value[[]string](b, expression)
}

func value[T any](b *Browser, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, Patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	require.NoError(b, err)
	return v
}

// Screenshot returns what the window shows, as PNG.
func (b *Browser) Screenshot() []byte {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, Patience)
	defer cancel()
	data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	require.NoError(b, err)
	return data
}
