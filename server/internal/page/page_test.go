package page_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/examples/demo/show"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/runner/hooklog"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// withPage serves the page.
func withPage(o *server.Options) { o.Page = &server.Page{} }

// get returns a page, whose policy forbids scripts of others and frames.
func get(s *servertest.Service, path string, header ...string) (int, string) {
	s.Helper()
	resp := s.Open(s.Context(), "GET", path, "", header...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(s, err)
	policy := resp.Header.Get("Content-Security-Policy")
	require.Contains(s, policy, "default-src 'none'")
	require.Contains(s, policy, "script-src 'self'")
	require.Contains(s, policy, "frame-ancestors 'none'")
	require.NotContains(s, policy, "unsafe")
	return resp.StatusCode, string(data)
}

// post sends a form, and returns the page that follows.
func post(s *servertest.Service, path string, form url.Values, header ...string) (int, string) {
	s.Helper()
	header = append(header, "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	return s.Do("POST", path, form.Encode(), header...)
}

// visible returns what a page shows: the texts of its body, without tags.
func visible(t *testing.T, page string) string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	var b strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// desk serves the demo's sessions.
func desk(t *testing.T) *servertest.Service {
	t.Helper()
	store := memory.New()
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	calls := hooklog.New(hooklog.Options{})
	r, closeRunner, err := (&show.Demo{}).Desk(t.Context(), store, calls.Trace)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, closeRunner()) })
	return servertest.ServeRunner(t, r, func(o *server.Options) {
		o.Apps[0].Name = show.DeskApp
		o.Page = &server.Page{Hooks: calls.Of, Prices: show.DeskPrices()}
	})
}

// The list says what each session is about, what waits, and what a policy refused.
func TestSessions(t *testing.T) {
	s := desk(t)
	status, page := get(s, "/")
	require.Equal(t, http.StatusOK, status)
	text := visible(t, page)
	require.Contains(t, text, "What do you know of booking K7Q2? k7q2 · desk / ada waits for a yes")
	require.Contains(t, text, "first message withheld s1 · desk / eve denied")
	require.Contains(t, text, "<script>alert(1)</script> U+202E txt.exe U+202C")
	require.Contains(t, text, "$0.00")

	// Filters are in the address.
	_, page = get(s, "/?show=waiting")
	require.Contains(t, page, `href="/s/desk/ada/k7q2"`)
	require.NotContains(t, page, `href="/s/desk/eve/s1"`)
	_, page = get(s, "/?match=harpoon&user=ada")
	require.Contains(t, page, `href="/s/desk/ada/k7q2?open=15#e15"`)
	_, page = get(s, "/?match=nowhere")
	require.Contains(t, visible(t, page), "No session is found that says “ nowhere ”")
}

// The list is narrowed to a kit, to what was changed today, and is ordered by cost over more than a page of the store.
func TestSessionsByKitCostAndChange(t *testing.T) {
	store := memory.New()
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	for i := range 70 {
		key := session.Key{App: "desk", User: "user", ID: fmt.Sprintf("s%02d", i)}
		_, err := store.Create(t.Context(), key, nil)
		require.NoError(t, err)
		e := session.Reply("It is done.")
		e.Author = "helper"
		e.InvocationID = "i"
		switch i {
		case 0:
			e.Actions.Set("runner:outside", map[string]any{"agent": "claude-code"})
		case 1:
			e.ModelVersion = "gemini-2.5-pro"
			e.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 9000}
		}
		_, err = store.Append(t.Context(), session.AppendTarget{Key: key}, e)
		require.NoError(t, err)
	}
	r, err := runner.New(runner.Options{Agent: agent.New("helper", "It helps.", servertest.Echo), Sessions: store})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	s := servertest.ServeRunner(t, r, func(o *server.Options) {
		o.Apps[0].Name = "desk"
		withPage(o)
	})
	_, page := get(s, "/")
	require.Contains(t, visible(t, page), "All 70 Running Waiting 0 Denied 0 Changed today Cut off 0 Failed 0")
	require.NotContains(t, page, `href="/s/desk/user/s00"`)
	_, page = get(s, "/?kit=claude-code")
	require.Contains(t, page, `href="/s/desk/user/s00"`)
	require.NotContains(t, page, `href="/s/desk/user/s69"`)
	require.NotContains(t, page, "Older sessions")
	_, page = get(s, "/?order=cost")
	first, _, _ := strings.Cut(page[strings.Index(page, `href="/s/`):], ">")
	require.Equal(t, `href="/s/desk/user/s01"`, first)

	// Each session is on one page of the list.
	seen := map[string]int{}
	for path := "/"; path != ""; {
		_, page = get(s, path)
		for _, m := range regexp.MustCompile(`class="title" href="(/s/[^"]+)"`).FindAllStringSubmatch(page, -1) {
			seen[m[1]]++
		}
		path = ""
		if m := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(page); m != nil {
			path = m[1]
		}
	}
	require.Len(t, seen, 70)
	require.NotContains(t, slices.Collect(maps.Values(seen)), 2)

	// Of the demo's sessions the policy changed some today.
	d := desk(t)
	_, page = get(d, "/?show=changed")
	require.Contains(t, page, `href="/s/desk/ada/k7q2"`)
	require.NotContains(t, page, `href="/s/desk/eve/s1"`)
}

// A row says what came in and what was stored, who decided by which rule, and how long each plugin took.
func TestDecisionsOfASession(t *testing.T) {
	s := desk(t)
	status, page := get(s, "/s/desk/ada/k7q2")
	require.Equal(t, http.StatusOK, status)
	text := visible(t, page)
	require.Contains(t, text, "25 events 8 live 12 behind a summary 4 void 10 turns")
	require.Contains(t, text, "a message, withheld")
	require.NotContains(t, text, "Ignore your rules")
	require.NotContains(t, text, "4111")
	require.Contains(t, text, "moves 1 of 1")

	for path, says := range map[string][]string{
		"/e/5":  {"19 bytes, not kept", "[CREDIT_CARD]", "rule cards of revision", "earlyexit nothing", "µs"},
		"/e/19": {"A booking can be moved once.", "denied moves", "limit moves is used up", "void by 22"},
		"/e/17": {"What the model reads now", "In place of the events up to 13", "How do I reach the captain?"},
		"/e/24": {"Asked of the tool", "waits for a yes", "asks money"},
	} {
		status, page := get(s, "/s/desk/ada/k7q2"+path)
		require.Equal(t, http.StatusOK, status, path)
		for _, want := range says {
			require.Contains(t, visible(t, page), want, path)
		}
	}
	_, page = get(s, "/s/desk/eve/s1/e/w1")
	require.Contains(t, visible(t, page), "denied tricks")
	require.Contains(t, visible(t, page), "Said instead, as event 1")

	// The log's own form, and the file.
	status, data := get(s, "/s/desk/ada/k7q2/e/5.json")
	require.Equal(t, http.StatusOK, status)
	e, err := session.DecodeEvent([]byte(data))
	require.NoError(t, err)
	require.EqualValues(t, 5, e.Seq)

	for _, missing := range []string{"/s/desk/ada/none", "/s/none/ada/k7q2", "/s/desk/ada/k7q2/e/26", "/s/desk/ada/k7q2/e/x"} {
		status, page := get(s, missing)
		require.Equal(t, http.StatusNotFound, status, missing)
		require.Contains(t, page, "<h1>Not found</h1>", missing)
	}
}

// hostile has what somebody may write who wants a page to do or show something else.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'-alert(1)-'`, `</p></details></main><h1>owned</h1>`,
	"javascript:alert(1)", "{{.Title}}", "a\u202eb\u2066c", "\x1b[31mred\x07", "line\u2028line", "zero\u200bwidth",
	strings.Repeat("A", 1<<20-1000), strings.Repeat("\u0301", 5000), "\xff\xfe",
}

// What models, tools, users and plugins write is text on every page, and characters that are not seen have names.
func TestHostileContent(t *testing.T) {
	for i, text := range hostile {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := servertest.Serve(t, writes(text), withPage, emits(text))
			key := session.Key{App: "desk", User: "user", ID: "ada"}
			_, err := s.Sessions.Create(t.Context(), key, map[string]any{
				"title": text, strings.ToValidUTF8(text[:min(len(text), 200)], "?"): text,
			})
			require.NoError(t, err)
			odd := session.Reply(text) // of an imported log
			odd.Author = strings.ToValidUTF8(text[:min(len(text), 100)], "?")
			odd.InvocationID = odd.Author
			odd.ID = odd.Author
			_, err = s.Sessions.Append(t.Context(), session.AppendTarget{Key: key}, odd)
			require.NoError(t, err)
			status, _ := post(s, "/chat/desk/user/ada", url.Values{"message": {text}})
			require.Equal(t, http.StatusOK, status)
			for _, path := range []string{"/", "/s/desk/user/ada", "/chat/desk/user/ada", "/waiting", "/?match=alert",
				"/s/desk/user/ada/e/1", "/s/desk/user/ada/e/2", "/s/desk/user/ada/e/3", "/s/desk/user/ada/e/4", "/s/desk/user/ada?match=" + url.QueryEscape(text[:min(len(text), 900)])} {
				status, page := get(s, path)
				require.Less(t, status, 500, path)
				require.Less(t, len(page), 600<<10, "%s: the page has the whole text", path)
				checkPage(t, path, page)
			}
		})
	}
}

// checkPage fails if a page has an element, an attribute or a character that only a text could have brought.
func checkPage(t *testing.T, path, page string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	scripts := 0
	for n := range doc.Descendants() {
		switch {
		case n.Type == html.TextNode:
			for _, r := range []string{"\u202e", "\u2066", "\x1b", "\x07", "\u2028", "\u200b"} {
				require.NotContains(t, n.Data, r, "%s shows a character that is not seen", path)
			}
		case n.Type != html.ElementNode:
		case n.Data == "script":
			scripts++
		case n.Data == "img", n.Data == "iframe", n.Data == "style", n.Data == "object":
			require.Fail(t, "an element of a text", "%s: <%s>", path, n.Data)
		}
		for _, a := range n.Attr {
			require.False(t, strings.HasPrefix(a.Key, "on") || a.Key == "style", "%s: attribute %s", path, a.Key)
			if a.Key == "href" || a.Key == "src" || a.Key == "action" {
				require.Regexp(t, `^(/($|[^/])|#|data:,)`, a.Val, path)
			}
		}
	}
	require.Equal(t, 1, scripts, path)
	require.Equal(t, 1, strings.Count(page, "<h1"), path)
}

// writes is an agent that writes a text wherever an agent can, and asks about a call.
func writes(text string) servertest.Agent {
	name := strings.ToValidUTF8(text[:min(len(text), 60)], "?")
	return func(_ context.Context, _ *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			said := session.Reply(text)
			said.ErrorCode = name
			said.ErrorMessage = text
			said.ModelVersion = name
			said.CustomMetadata = map[string]any{"guardrail": map[string]any{
				"revision": text[:min(9, len(text))], "records": []any{map[string]any{"rule": name, "type": name, "action": "redact", "count": 1, "length": 3}},
			}}
			if !yield(said, nil) {
				return
			}
			e := servertest.Call("c-1", name, map[string]any{name: text})
			e.Actions.RequestedToolConfirmations = map[string]session.Confirmation{"c-1": {Hint: text}}
			yield(e, nil)
		}
	}
}

// emits is a plugin whose reason is a text.
func emits(text string) *plugin.Plugin {
	return &plugin.Plugin{
		Name: "hostile",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author == session.User {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{Replace: e.Clone(), Reason: strings.ToValidUTF8(text[:min(len(text), 4000)], "?")}, nil
		},
	}
}

// waitAtMost is how long a test waits for what a run does in the background, pause how long between two looks.
const (
	waitAtMost = time.Minute
	pause      = 10 * time.Millisecond
)
