// Runs the chat of Vercel's AI SDK against a server: node aisdk.mjs URL. useChat of its packages for React,
// Vue and Svelte is the class AbstractChat with a state of theirs.
import assert from "node:assert/strict";
import {
  AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls, readUIMessageStream, validateUIMessages,
} from "ai";

const server = process.argv[2];
const api = server + "/v1/apps/desk/ui";

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (i, message) => { this.messages = this.messages.with(i, message); };
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor(id, options = {}) {
    const state = new State();
    state.messages = options.messages ?? [];
    const automatic = (chat) => lastAssistantMessageIsCompleteWithApprovalResponses(chat) ||
      lastAssistantMessageIsCompleteWithToolCalls(chat);
    const finished = [];
    super({
      id, state, sendAutomaticallyWhen: automatic,
      transport: new DefaultChatTransport({ api, ...options.transport }),
      onFinish: (how) => finished.push(how),
    });
    this.finished = finished;
  }
  /** Waits until nothing is sent any more. */
  async ready() {
    for (let quiet = 0; quiet < 5; quiet++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      if (this.status !== "ready") quiet = 0;
      assert.notEqual(this.status, "error", String(this.error));
    }
  }
}

const textOf = (message) => message.parts.filter((p) => p.type === "text").map((p) => p.text).join("");
const kinds = (message) => message.parts.map((p) => p.type).join(" ");
const roles = (chat) => chat.messages.map((m) => m.role).join(" ");
const load = async (id) => (await (await fetch(`${api}/${id}`)).json()).messages;

/** A chat that is loaded again has the same messages, but for questions that are answered. */
async function sameWhenLoaded(chat) {
  const loaded = await load(chat.id);
  await validateUIMessages({ messages: loaded });
  const plain = (messages) => messages.map(({ id, role, parts }) => ({
    id, role, parts: parts.filter((p) => p.type !== "data-approval")
      .map(({ type, text, input, output, state }) => ({ type, text, input, output, state })),
  }));
  const user = ({ role, parts }) => role === "user" ? parts.map((p) => ({ ...p, state: undefined })) : parts;
  const want = plain(chat.messages).map((m) => ({ ...m, parts: user(m) }));
  assert.deepEqual(JSON.parse(JSON.stringify(plain(loaded))), JSON.parse(JSON.stringify(want)));
}

// Texts, turn after turn, a thought, and a tool.
let chat = new Chat("turns");
await chat.sendMessage({ text: "Hello" });
await chat.sendMessage({ text: "think" });
await chat.sendMessage({ text: "weather" });
await chat.ready();
assert.equal(roles(chat), "user assistant user assistant user assistant");
assert.equal(textOf(chat.messages[1]), "You said: Hello");
assert.equal(kinds(chat.messages[3]), "step-start reasoning text");
assert.equal(chat.messages[3].parts[1].text, "hm, well");
assert.equal(kinds(chat.messages[5]), "step-start tool-get_weather step-start text");
const { state, input, output } = chat.messages[5].parts[1];
assert.deepEqual({ state, input, output },
  { state: "output-available", input: { city: "Paris" }, output: { celsius: 19 } });
assert.equal(chat.finished.at(-1).finishReason, "stop");
assert.equal(chat.messages[5].metadata.end, "done");
await sameWhenLoaded(chat);

// Another answer to a message, and a message that is edited: what came of it is taken back.
await chat.regenerate();
await chat.ready();
assert.equal(roles(chat), "user assistant user assistant user assistant");
await chat.sendMessage({ text: "Good evening", messageId: chat.messages[2].id });
await chat.ready();
assert.equal(roles(chat), "user assistant user assistant");
assert.equal(textOf(chat.messages[3]), "You said: Good evening");
await sameWhenLoaded(chat);

// A yes and a no go on with the message that has asked; also in a page that was loaded again.
const outcomes = [[true, "Booked.", "output-available"], [false, "Not booked.", "output-denied"]];
for (const [approved, said, state] of outcomes) {
  for (const again of [false, true]) {
    chat = new Chat(`held-${approved}-${again}`);
    await chat.sendMessage({ text: "book" });
    assert.equal(chat.finished.at(-1).finishReason, "tool-calls");
    if (again) chat = new Chat(chat.id, { messages: await load(chat.id) });
    const [, tool, hint] = chat.messages[1].parts;
    assert.equal(tool.state, "approval-requested");
    assert.equal(hint.data.hint, "Book table 4?");
    await chat.addToolApprovalResponse({ id: tool.approval.id, approved, reason: "it is said" });
    await chat.ready();
    assert.equal(roles(chat), "user assistant");
    assert.equal(chat.messages[1].parts[1].state, state);
    assert.equal(textOf(chat.messages[1]), said);
    await sameWhenLoaded(chat);
  }
}

// Two calls wait: both are answered, and then it goes on.
chat = new Chat("held-twice");
await chat.sendMessage({ text: "book twice" });
for (const part of chat.messages[1].parts.filter((p) => p.type === "tool-book")) {
  await chat.addToolApprovalResponse({ id: part.approval.id, approved: true });
}
await chat.ready();
assert.match(textOf(chat.messages[1]), /Booked\./);

// A question: the page answers it as if it was a tool of its own.
chat = new Chat("asked");
await chat.sendMessage({ text: "ask" });
assert.equal(chat.messages[1].parts[1].input.message, "How many people?");
await chat.addToolOutput({ tool: "adk_request_input", toolCallId: "q1", output: { people: 4 } });
await chat.ready();
assert.equal(textOf(chat.messages[1]), 'You answered {"people":4}');
await sameWhenLoaded(chat);

// Files go both ways.
chat = new Chat("files");
const url = "data:text/plain;base64,YSBtYXA=";
const file = { type: "file", mediaType: "text/plain", url, filename: "map.txt" };
await chat.sendMessage({ text: "picture", files: [file] });
assert.deepEqual(chat.messages[1].parts.at(-1),
  { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw==" });
const { events } = await (await fetch(server + "/v1/apps/desk/sessions/files/events")).json();
assert.deepEqual(events[0].content.parts[0].inlineData,
  { mimeType: "text/plain", data: "YSBtYXA=", displayName: "map.txt" });
await sameWhenLoaded(chat);

// A plugin ends a run, and withholds a message. A run fails, and a model.
chat = new Chat("ends");
await chat.sendMessage({ text: "forbidden" });
assert.equal(textOf(chat.messages[1]), "That is not allowed here.");
assert.equal(chat.finished.at(-1).finishReason, "content-filter");
await chat.sendMessage({ text: "hush" });
assert.deepEqual(chat.messages.at(-1).parts, []);
await chat.sendMessage({ text: "break" });
assert.equal(chat.status, "error");
assert.equal(chat.error.message, "agent helper failed");
await chat.sendMessage({ text: "model" });
assert.equal(chat.error.message, "the model is busy");
await chat.sendMessage({ text: "Hello", messageId: chat.messages[0].id }); // it was not in the log
assert.equal(textOf(chat.messages[1]), "You said: Hello");
chat = new Chat("refused", { transport: { body: { onBusy: "never" } } });
await chat.sendMessage({ text: "Hello" });
assert.match(chat.error.message, /onBusy is wait/);

// A stream is cut off in the middle, and resumed: the message is there once, and whole.
const told = "Once upon a time.";
const goOn = () => new Chat(crypto.randomUUID()).sendMessage({ text: "go on" });
const until = async (ok) => {
  while (!ok()) await new Promise((resolve) => setTimeout(resolve, 1));
};
let streams = 0;
const cutting = async (url, init) => {
  const response = await fetch(url, init);
  if (streams++ > 0) return response;
  let seen = "";
  const cut = new TransformStream({
    transform(chunk, controller) {
      if (seen.includes("Once ")) controller.error(new TypeError("network error"));
      else controller.enqueue(chunk);
      seen += chunk;
    },
  });
  const text = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(cut);
  return new Response(text.pipeThrough(new TextEncoderStream()), response);
};
chat = new Chat("cut", { transport: { fetch: cutting } });
await chat.sendMessage({ text: "tell" });
assert.equal(chat.status, "error");
assert.ok(chat.finished.at(-1).isDisconnect);
const resumed = chat.resumeStream();
await until(() => chat.status === "streaming");
await goOn();
await resumed;
assert.equal(chat.status, "ready", String(chat.error));
assert.equal(roles(chat), "user assistant");
assert.equal(textOf(chat.messages[1]), told);
await chat.resumeStream(); // nothing runs
assert.equal(roles(chat), "user assistant");
await sameWhenLoaded(chat);

// A page that is opened meanwhile resumes it, too; here the stream is read without a chat.
chat = new Chat("opened");
const sent = chat.sendMessage({ text: "tell" });
await until(() => chat.status === "streaming");
const stream = await chat.transport.reconnectToStream({ chatId: "opened" });
await goOn();
let last;
for await (const message of readUIMessageStream({ stream })) last = message;
await sent;
assert.equal(textOf(last), told);
assert.equal(last.id, chat.messages[1].id);

// A run is cancelled, by the id of its message.
chat = new Chat("stopped");
const waits = chat.sendMessage({ text: "wait" });
await until(() => chat.messages[1]);
const invocations = server + "/v1/apps/desk/sessions/stopped/invocations/";
await fetch(invocations + chat.messages[1].metadata.invocationId + "/cancel", { method: "POST" });
await waits;
assert.equal(chat.status, "ready");

// A message that is edited while it is answered: that run is cancelled.
chat = new Chat("edited");
const old = chat.sendMessage({ text: "wait" });
await until(() => chat.messages[1]);
await chat.stop();
await old;
await chat.sendMessage({ text: "Hello", messageId: chat.messages[0].id });
assert.equal(textOf(chat.messages[1]), "You said: Hello");
await sameWhenLoaded(chat);

// Where the transport says so, leaving cancels.
chat = new Chat("left", { transport: { body: { onDisconnect: "cancel" } } });
const left = chat.sendMessage({ text: "wait" });
await until(() => chat.messages[1]);
await chat.stop();
await left;
for (let running = true; running;) {
  ({ running } = await (await fetch(server + "/v1/apps/desk/sessions/left")).json());
}
