package kit_test

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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/session"
)

// kitPackage is the package with the kit's web page, and with its client for JavaScript.
const kitPackage = "@google/adk-devtools@2.0.0"

// fetchPackage returns the directory of that package, as npm ships it, without what it depends on. The test
// is skipped where it cannot be had.
func fetchPackage(t *testing.T) string {
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
	pack := exec.CommandContext(t.Context(), npm, "pack", "--silent", "--fetch-retries=5",
		kitPackage)
	pack.Dir = dir
	if out, err := pack.CombinedOutput(); err != nil {
		lacks("npm pack "+kitPackage+" needs the npm registry: "+string(out), err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	unpack(t, files[0], dir)
	return filepath.Join(dir, "package")
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
		chromedp.WSURLReadTimeout(patience),
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
	return &browser{T: t, ctx: ctx}
}

// patience is how long the page may take for a thing, on a machine that does much else.
const patience = 5 * time.Minute

// do does things on the page.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Fatalf("%v; the page shows: %s", err, b.text())
	}
}

// text returns what the page shows, or why that cannot be said: who waits for a text asks again.
func (b *browser) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// shows waits until the page shows a text.
func (b *browser) shows(text string) {
	b.Helper()
	deadline := time.Now().Add(patience)
	for !strings.Contains(b.text(), text) {
		if time.Now().After(deadline) {
			b.Fatalf("the page does not show %q: %s", text, b.text())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// holds waits until an expression of JavaScript is true.
func (b *browser) holds(expression string) {
	b.Helper()
	deadline := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		cancel()
		if ok && err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%s is not true: %v; the page shows: %s", expression, err, b.text())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// say sends a message on the page, whose field may still have the message before.
func (b *browser) say(text string) {
	b.Helper()
	b.write("textarea", text)
}

// write writes a text into the field that a selector of CSS finds, instead of what is in it, and presses
// Enter: in one step, between which the page can neither empty the field nor draw it anew. The driver's own
// way to type looks at the page's elements while it notes their changes, which is a race.
func (b *browser) write(field, text string) {
	b.Helper()
	b.holds(`(() => {
		const field = document.querySelector(` + strconv.Quote(field) + `);
		if (!field?.checkVisibility()) return false;
		field.focus();
		field.select();
		document.execCommand("insertText", false, ` + strconv.Quote(text) + `);
		if (field.value !== ` + strconv.Quote(text) + `) return false;
		field.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true}));
		return true;
	})()`)
}

// press clicks the last button that has a text, which may be the name of its picture.
func (b *browser) press(text string) {
	b.Helper()
	b.holds(`(() => {
		const has = x => x.innerText.split("\n").map(line => line.trim()).includes(` + strconv.Quote(text) + `);
		const found = [...document.querySelectorAll("button, [role^=menuitem], [role=tab]")].filter(has).at(-1);
		found?.click();
		return found !== undefined;
	})()`)
}

// What npm ships of the kit works with this server.
func TestKitPackage(t *testing.T) {
	dir := fetchPackage(t)
	t.Run("page", func(t *testing.T) { testKitPage(t, filepath.Join(dir, "dist", "browser")) })
	t.Run("client", func(t *testing.T) { testKitClient(t, dir) })
}

// testKitClient has the kit's client for JavaScript talk to the server.
func testKitClient(t *testing.T, dir string) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("PLUGHOOK_TEST_ALL") != "" {
			t.Fatal("install Node.js (Debian: apt-get install nodejs)")
		}
		t.Skip("install Node.js (Debian: apt-get install nodejs)")
	}
	// Of what the package depends on, the client needs one function.
	genai := filepath.Join(dir, "node_modules", "@google", "genai")
	require.NoError(t, os.MkdirAll(genai, 0o755))
	for name, text := range map[string]string{
		"package.json": `{"name": "@google/genai", "type": "module", "main": "index.js"}`,
		"index.js":     `export const createUserContent = text => ({role: "user", parts: [{text}]});`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(genai, name), []byte(text), 0o644))
	}
	script, err := filepath.Abs("testdata/kit_client.mjs")
	require.NoError(t, err)
	s := serveKit(t, nil)
	client := filepath.Join(dir, "dist", "esm", "server", "adk_api_client.js")
	out, err := exec.CommandContext(t.Context(), node, script, client, s.URL).CombinedOutput()
	require.NoError(t, err, string(out))
}

// testKitPage does what a user does on the kit's page, and looks at what they see.
func testKitPage(t *testing.T, dir string) {
	s := serveKit(t, func(o *server.Options) { o.Pages = http.Dir(dir) })
	b := openBrowser(t)
	desk := session.Key{App: "desk", User: "user"}

	// It loads; the server's root leads to it.
	b.do(chromedp.Navigate(s.URL + "/?app=desk"))
	b.holds(`document.querySelector("textarea")?.checkVisibility() === true`)
	b.shows("Agent Development Kit 1.2.3")
	b.press("more_vert")
	b.press("Streaming")

	// A text comes in pieces, and is there once in the end.
	b.say("Hello there")
	b.shows("Hello from the desk: Hello there")
	b.holds(`document.body.innerText.split("Hello from the desk").length === 2`)
	for one, err := range s.Sessions.List(t.Context(), desk.App, desk.User) {
		require.NoError(t, err)
		require.Empty(t, desk.ID, "one session")
		desk.ID = one.ID
	}

	// A tool is called, and changes the state.
	b.say("What is the weather in Paris?")
	b.shows("It is 19 degrees.")
	b.shows(`get_weather("Paris")`)
	b.shows("State: lastCity")

	// A call is held until the user has confirmed it.
	b.say("Please book table 4")
	b.shows("An empty table costs 20 EUR.")
	b.holds(`(() => {
		const box = document.querySelector("app-long-running-response input[type=checkbox]");
		if (box && !box.checked) box.click();
		return box?.checked === true;
	})()`)
	b.press("Submit")
	b.shows("The table is yours.")

	// The agent asks with a form.
	b.say("ask me for the day")
	b.shows("Which day?")
	// The form is drawn anew while it appears: the text is there when it has stayed.
	b.holds(`(() => {
		const field = document.querySelector("#day");
		if (field?.value === "Friday") return true;
		if (field) {
			field.value = "Friday";
			field.dispatchEvent(new Event("input", {bubbles: true}));
		}
		return false;
	})()`)
	b.press("Submit")
	b.shows("See you on Friday.")

	// A call that is answered later.
	b.say("Send the long report")
	b.write(`app-long-running-response input[placeholder^="Enter your"]`, "sent")
	b.shows("The report is out.")

	// A tool saves files.
	b.say("Draw me a map")
	b.shows("Drawn.")
	b.shows("Artifact: map.png, notes.txt")
	b.press("Artifacts")
	b.holds(
		`[...document.querySelectorAll("img")].some(x => x.src.startsWith("data:image/png") && x.naturalWidth === 1)`,
	)

	// A policy refuses, and its event has nothing but an error.
	b.say("a denied thing")
	b.shows("the policy does not allow this")

	// A run fails in the middle.
	b.say("This will fail")
	b.shows("I start.")
	b.shows("plugin policy failed")

	// The user stops a run.
	b.say("go slowly")
	b.shows("One two")
	running := func() bool {
		now, err := s.Sessions.Get(t.Context(), desk)
		require.NoError(t, err)
		return now.Holder != ""
	}
	require.True(t, running())
	b.press("stop")
	require.Eventually(t, func() bool { return !running() }, patience, 10*time.Millisecond)

	// The page is loaded again, and shows what was said.
	b.do(chromedp.Navigate(s.URL + "/dev-ui/?app=desk&userId=user&session=" + desk.ID))
	b.shows("The report is out.")
	b.shows("Hello from the desk: Hello there")
	b.shows("the policy does not allow this")

	// It shows the spans that are made of the log.
	b.press("Traces")
	b.shows("Total latency")
	b.shows("call_llm")
}
