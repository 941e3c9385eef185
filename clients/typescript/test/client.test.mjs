// Tests of the client with a server, which PLUGHOOK_URL names: a Go test starts one (cmd/runner). It serves
// the app desk, whose agent tells a long text, books a table with a human's yes, and takes its time.
import assert from "node:assert/strict";
import net from "node:net";
import test from "node:test";
import { Client, PlughookError, textOf } from "../plughook.js";

const url = process.env.PLUGHOOK_URL;
const token = process.env.PLUGHOOK_TOKEN;
const desk = (options = {}, to = url) => new Client(to, { app: "desk", token, ...options });
let sessions = 0;
const newSession = () => `s-${process.pid}-${sessions++}`;

/** Forwards connections to the server. The n-th is cut, or silent, behind so many bytes: plan(n). */
async function through(t, plan) {
  const target = new URL(url);
  const open = new Set();
  let count = 0;
  const proxy = net.createServer((client) => {
    const { cut = Infinity, silent = Infinity } = plan(count++) ?? {};
    const server = net.connect(target.port, target.hostname);
    let bytes = 0;
    server.on("data", (data) => {
      const left = Math.min(cut, silent) - bytes;
      bytes += data.length;
      if (left > 0) client.write(data.subarray(0, left));
      if (bytes >= cut) {
        client.destroySoon();
        server.destroy();
      }
    });
    client.on("data", (data) => server.write(data));
    for (const [one, other] of [[client, server], [server, client]]) {
      open.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => { open.delete(one); other.end(); });
    }
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    proxy.close();
    open.forEach((one) => one.destroy());
  });
  return { url: `http://127.0.0.1:${proxy.address().port}`, count: () => count };
}

/** Reads a stream to its end. */
async function all(frames) {
  const list = [];
  for await (const frame of frames) list.push(frame);
  return list;
}

const eventsOf = (frames) => frames.filter((one) => one.kind === "event").map((one) => one.event);
const told = "Once upon a time there was a lighthouse keeper, who could not sleep. €";

test("a run streams", async () => {
  const session = newSession();
  const frames = await all(desk().run(session, "tell"));
  assert.deepEqual(eventsOf(frames).map((event) => textOf(event)), ["tell", told]);
  assert.equal(frames.at(-1).end.kind, "done");
  const partials = frames.filter((one) => one.kind === "partial");
  assert.ok(partials.length > 1);
  for (const one of partials) assert.ok(told.startsWith(one.text), one.text);
});

test("a stream goes on wherever it was cut off", async (t) => {
  // The answer's header has some 400 bytes. Each connection brings some more, until the run has ended.
  for (const bytes of [450, 600, 750]) {
    const proxy = await through(t, (n) => ({ cut: n < 3 ? bytes + 200 * n : Infinity }));
    const session = newSession();
    const frames = await all(desk({}, proxy.url).run(session, "tell"));
    assert.deepEqual(eventsOf(frames).map((event) => event.seq), [1, 2], `${bytes} bytes`);
    assert.equal(textOf(eventsOf(frames)[1]), told);
    for (const one of frames) if (one.kind === "partial") assert.ok(told.startsWith(one.text), one.text);
    assert.equal(frames.at(-1).end.kind, "done");
    assert.ok(frames.some((one) => one.kind === "cut"), `${bytes} bytes cut nothing`);
    assert.equal((await desk().events(session)).events.length, 2, "it ran once");
  }
});

test("a silent connection counts as cut off", async (t) => {
  const proxy = await through(t, (n) => ({ silent: n === 0 ? 600 : Infinity }));
  const frames = await all(desk({ silence: 2500 }, proxy.url).run(newSession(), "tell"));
  assert.equal(frames.find((one) => one.kind === "cut").error.message, "the connection is silent");
  assert.equal(textOf(eventsOf(frames)[1]), told);
});

test("a client that cannot come back says why", async (t) => {
  const proxy = await through(t, () => ({ cut: 500 }));
  await assert.rejects(all(desk({ attempts: 2 }, proxy.url).run(newSession(), "tell")), TypeError);
  assert.equal(proxy.count(), 3);

  // What no server has answered is not tried again.
  await assert.rejects(all(desk({}, "http://127.0.0.1:1").run(newSession(), "tell")), TypeError);
});

test("a signal ends the reading, and the run goes on", async () => {
  const session = newSession();
  const stop = new AbortController();
  await assert.rejects(async () => {
    for await (const frame of desk().run(session, "tell", { signal: stop.signal })) {
      if (frame.kind === "partial") stop.abort();
    }
  }, { name: "AbortError" });
  const stopped = AbortSignal.abort(new Error("no"));
  await assert.rejects(all(desk().follow(session, { signal: stopped })), { message: "no" });
  for await (const frame of desk().follow(session, { after: 1 })) {
    if (frame.kind !== "event") continue;
    assert.equal(textOf(frame.event), told);
    break;
  }

  // It ends a pause between two attempts, too.
  const again = new AbortController();
  await assert.rejects(async () => {
    const gone = desk({ fetch: () => new Response(":\n\n"), attempts: Infinity });
    for await (const frame of gone.follow(session, { signal: again.signal })) {
      if (frame.kind === "cut") setTimeout(() => again.abort());
    }
  }, { name: "AbortError" });
});

test("what waits is approved, or declined", async (t) => {
  const proxy = await through(t, (n) => ({ cut: n % 2 === 0 ? 600 : Infinity }));
  for (const [answer, booked] of [["approve", "Booked."], ["decline", "Not booked."]]) {
    const session = newSession();
    const client = desk({}, proxy.url);
    const asked = await all(client.run(session, "book"));
    const end = asked.at(-1).end;
    assert.equal(end.kind, "waiting");
    assert.equal(end.waiting[0].hint, "A table costs 5 EUR.");
    assert.deepEqual(await desk().waiting(session), end.waiting);
    const frames = await all(client[answer](session, end.waiting.map((call) => call.id)));
    assert.equal(textOf(eventsOf(frames).at(-1)), booked);
    assert.deepEqual(await desk().waiting(session), []);
  }
});

test("without an input the agent goes on, and an event is an input", async (t) => {
  const session = newSession();
  const event = { id: "in-1", author: "user", content: { role: "user", parts: [{ text: "tell" }] } };
  const frames = await all(desk().run(session, { event }));
  assert.equal(eventsOf(frames)[0].id, "in-1");
  assert.equal((await all(desk().run(session, { event }))).length, 3, "it ran once");
  assert.equal(eventsOf(await all(desk().run(session, {}))).length, 1);
  const proxy = await through(t, () => ({ cut: 500 }));
  await assert.rejects(all(desk({}, proxy.url).run(session, {})), TypeError);
  assert.equal(proxy.count(), 1);
});

test("a run is cancelled", async () => {
  const session = newSession();
  const client = desk();
  const frames = client.run(session, { message: "long", invocationId: "i-1" });
  assert.equal((await frames.next()).value.event.seq, 1);
  assert.equal((await client.cancel(session, "i-1")).kind, "cancelled");
  assert.equal((await all(frames)).at(-1).end.kind, "cancelled");
  assert.equal((await client.cancel(session, "i-1")).kind, "ended");
});

test("files go up and down", async () => {
  const session = newSession();
  const client = desk();
  await client.create({ id: session, state: { mood: "good" } });
  assert.equal((await client.get(session)).state.mood, "good");
  const file = new Blob(["a map"], { type: "text/plain" });
  const saved = await client.upload(session, "maps/Paris & more?.txt", file);
  assert.deepEqual(saved, { name: "maps/Paris & more?.txt", version: 0 });
  const back = await client.download(session, "maps/Paris & more?.txt");
  assert.equal(await back.text(), "a map");
  assert.match(back.type, /^text\/plain/);
  assert.ok((await client.list({ limit: 100 })).sessions.some((one) => one.id === session));
});

test("errors have codes", async () => {
  await assert.rejects(desk().get("nobody"), (error) =>
    error instanceof PlughookError && error.status === 404 && error.code === "not_found");
  const never = desk().run(newSession(), { message: "tell", onBusy: "never" });
  await assert.rejects(all(never), { code: "bad_request" });
  if (token) {
    await assert.rejects(desk({ token: async () => "wrong" }).get("nobody"), { status: 401 });
  }
  const proxy = desk({ fetch: async () => new Response("<h1>Bad gateway</h1>", { status: 502 }) });
  await assert.rejects(proxy.get("nobody"), { code: "http_502" });
});
