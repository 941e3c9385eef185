package kit_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
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

// browser is the kit's page in headless Chromium.
type browser struct{ *servertest.Browser }

// patience is how long the page may take for a thing.
const patience = servertest.Patience

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
	b.Holds(`(() => {
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
	b.Holds(`(() => {
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
	b := &browser{servertest.OpenBrowser(t)}
	desk := session.Key{App: "desk", User: "user"}

	// It loads; the server's root leads to it.
	b.Do(chromedp.Navigate(s.URL + "/?app=desk"))
	b.Holds(`document.querySelector("textarea")?.checkVisibility() === true`)
	b.Shows("Agent Development Kit 1.2.3")
	b.press("more_vert")
	b.press("Streaming")

	// A text comes in pieces, and is there once in the end.
	b.say("Hello there")
	b.Shows("Hello from the desk: Hello there")
	b.Holds(`document.body.innerText.split("Hello from the desk").length === 2`)
	for one, err := range s.Sessions.List(t.Context(), desk.App, desk.User) {
		require.NoError(t, err)
		require.Empty(t, desk.ID, "one session")
		desk.ID = one.ID
	}

	// A tool is called, and changes the state.
	b.say("What is the weather in Paris?")
	b.Shows("It is 19 degrees.")
	b.Shows(`get_weather("Paris")`)
	b.Shows("State: lastCity")

	// A call is held until the user has confirmed it.
	b.say("Please book table 4")
	b.Shows("An empty table costs 20 EUR.")
	b.Holds(`(() => {
		const box = document.querySelector("app-long-running-response input[type=checkbox]");
		if (box && !box.checked) box.click();
		return box?.checked === true;
	})()`)
	b.press("Submit")
	b.Shows("The table is yours.")

	// The agent asks with a form.
	b.say("ask me for the day")
	b.Shows("Which day?")
	// The form is drawn anew while it appears: the text is there when it has stayed.
	b.Holds(`(() => {
		const field = document.querySelector("#day");
		if (field?.value === "Friday") return true;
		if (field) {
			field.value = "Friday";
			field.dispatchEvent(new Event("input", {bubbles: true}));
		}
		return false;
	})()`)
	b.press("Submit")
	b.Shows("See you on Friday.")

	// A call that is answered later.
	b.say("Send the long report")
	b.write(`app-long-running-response input[placeholder^="Enter your"]`, "sent")
	b.Shows("The report is out.")

	// A tool saves files.
	b.say("Draw me a map")
	b.Shows("Drawn.")
	b.Shows("Artifact: map.png, notes.txt")
	b.press("Artifacts")
	b.Holds(
		`[...document.querySelectorAll("img")].some(x => x.src.startsWith("data:image/png") && x.naturalWidth === 1)`,
	)

	// A policy refuses, and its event has nothing but an error.
	b.say("a denied thing")
	b.Shows("the policy does not allow this")

	// A run fails in the middle.
	b.say("This will fail")
	b.Shows("I start.")
	b.Shows("plugin policy failed")

	// The user stops a run.
	b.say("go slowly")
	b.Shows("One two")
	running := func() bool {
		now, err := s.Sessions.Get(t.Context(), desk)
		require.NoError(t, err)
		return now.Holder != ""
	}
	require.True(t, running())
	b.press("stop")
	require.Eventually(t, func() bool { return !running() }, patience, 10*time.Millisecond)

	// The page is loaded again, and shows what was said.
	b.Do(chromedp.Navigate(s.URL + "/dev-ui/?app=desk&userId=user&session=" + desk.ID))
	b.Shows("The report is out.")
	b.Shows("Hello from the desk: Hello there")
	b.Shows("the policy does not allow this")

	// It shows the spans that are made of the log.
	b.press("Traces")
	b.Shows("Total latency")
	b.Shows("call_llm")
}
