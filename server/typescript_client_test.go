package server_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// pageOfClient is a page of another origin than the server's, which is named in its address.
const pageOfClient = `<!doctype html><meta charset="utf-8"><body><script type="module">
import { Client, PlughookError, textOf } from "./plughook.js";
function check(ok, what) { if (!ok) throw new Error(what); }
async function all(frames) {
	const list = [];
	for await (const frame of frames) list.push(frame);
	return list;
}
try {
	const server = new URLSearchParams(location.search).get("server");
	const client = new Client(server, { app: "desk", token: "secret" });
	await client.create({ id: "ada" });

	// The stream is cut off in the middle, and goes on.
	let frames = await all(client.run("ada", "tell"));
	let events = frames.filter((one) => one.kind === "event").map((one) => one.event);
	check(frames.some((one) => one.kind === "cut"), "nothing was cut off");
	check(events.map((event) => event.seq).join() === "1,2", "events " + JSON.stringify(events));
	check(textOf(events[1]) === "1 2 3 4 5 6 7 8 9 ", "text " + textOf(events[1]));
	for (const one of frames) check(one.kind !== "partial" || textOf(events[1]).startsWith(one.text), one.text);

	// A call waits, and is approved, while another view follows.
	const stop = new AbortController();
	const seen = [];
	const followed = (async () => {
		for await (const frame of client.follow("ada", { after: 2, signal: stop.signal })) {
			if (frame.kind === "event") seen.push(frame.event.seq);
			if (frame.kind === "event" && textOf(frame.event) === "Thank you.") stop.abort();
		}
	})().catch((error) => check(error.name === "AbortError", String(error)));
	const { end } = (await all(client.run("ada", "book"))).at(-1);
	check(end.kind === "waiting", end.kind);
	events = (await all(client.approve("ada", [end.waiting[0].id]))).filter((one) => one.kind === "event");
	check(textOf(events.at(-1).event) === "Thank you.", "not booked");
	await followed;
	check(seen.join() === seen.map((_, i) => i + 3).join() && seen.length > 3, "followed " + seen);

	// A run is cancelled, a file goes up, an error has a code.
	frames = client.run("ada", { message: "long", invocationId: "i-1" });
	await frames.next();
	check((await client.cancel("ada", "i-1")).kind === "cancelled", "not cancelled");
	check((await all(frames)).at(-1).end.kind === "cancelled", "not told as cancelled");
	await client.upload("ada", "map.txt", new File(["a map"], "map.txt", { type: "text/plain" }));
	check(await (await client.download("ada", "map.txt")).text() === "a map", "another file");
	const error = await client.get("nobody").catch((error) => error);
	check(error instanceof PlughookError && error.code === "not_found", String(error));
	document.body.textContent = "All is well.";
} catch (error) {
	document.body.textContent = "It failed: " + error.stack;
}
</script>`

// teller counts slowly, waits for ever, or is servertest.Desk.
func teller(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		switch host.Now().Input.Text() {
		case "long":
			servertest.Waiting(nil)(ctx, host)(yield)
		case "tell":
			id := session.NewID()
			whole := ""
			for _, piece := range []string{"1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "7 ", "8 ", "9 "} {
				whole += piece
				e := session.Reply(piece)
				e.ID = id
				e.Partial = true
				if !yield(e, nil) {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			e := session.Reply(whole)
			e.ID = id
			yield(e, nil)
		default:
			servertest.Desk(ctx, host)(yield)
		}
	}
}

// cutting is a proxy that cuts the first streams off, each after some more bytes.
func cutting(t *testing.T, target string, streams int32) *httptest.Server {
	to, err := url.Parse(target)
	require.NoError(t, err)
	var n atomic.Int32
	transport := &http.Transport{}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: transport,
		ModifyResponse: func(r *http.Response) error {
			if i := n.Load(); r.Header.Get("Content-Type") == "text/event-stream" && i < streams {
				n.Add(1)
				r.Body = &cutBody{ReadCloser: r.Body, left: 500 + 300*int(i)}
			}
			return nil
		},
	})
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
		transport.CloseIdleConnections()
	})
	return proxy
}

// cutBody is a body that breaks off.
type cutBody struct {
	io.ReadCloser
	left int
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("cut off")
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// The client for TypeScript in a browser, as a page of another origin uses it.
func TestTheTypeScriptClientInABrowser(t *testing.T) {
	files := http.NewServeMux()
	files.Handle("/", http.FileServer(http.Dir("../clients/typescript")))
	files.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, pageOfClient)
	})
	page := httptest.NewServer(files)
	t.Cleanup(page.Close)
	s := serve(t, teller, func(o *server.Options) {
		servertest.WithFiles(o)
		o.Origins = []string{page.URL}
		o.Caller = func(r *http.Request) (server.Caller, error) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				return server.Caller{}, server.ErrUnauthorized
			}
			return server.Caller{User: "ada"}, nil
		}
	})
	proxy := cutting(t, s.URL, 2)
	b := servertest.OpenBrowser(t)
	b.Do(chromedp.Navigate(page.URL + "/page?server=" + url.QueryEscape(proxy.URL)))
	b.Holds(`document.body.innerText !== ""`)
	require.Equal(t, "All is well.", b.Text())
}
