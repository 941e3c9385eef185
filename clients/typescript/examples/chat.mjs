// A chat that is cut off, goes on, and says yes to what waits for it. With a server that has been started
// with
//
//   go run ./cmd/runner serve --config examples/weather/runner.yaml
//
// it is started with
//
//   node clients/typescript/examples/chat.mjs http://localhost:8080 "Book me an umbrella in Paris"
import { Client, textOf } from "../plughook.js";

const [url = "http://localhost:8080", message = "Book me an umbrella in Paris"] = process.argv.slice(2);
const token = process.env.RUNNER_TOKEN;

// cutOff is fetch, but the first stream ends behind its first event, as if a laptop was closed.
let cut = false;
async function cutOff(request, init) {
  const response = await fetch(request, init);
  if (cut || !response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response;
  cut = true;
  let seen = "";
  const first = new TransformStream({
    transform(chunk, controller) {
      seen += chunk;
      const event = /^[^]*?^id: [^]*?\n\n/m.exec(seen);
      if (!event) return;
      controller.enqueue(event[0]);
      controller.terminate();
    },
  });
  const text = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(first);
  return new Response(text.pipeThrough(new TextEncoderStream()), response);
}

// Which app is it? The first one that the server has.
const { apps } = await new Client(url, { app: "", token }).request("GET", "/v1/apps");
const client = new Client(url, { app: apps[0].name, token, fetch: cutOff });
const session = (await client.create()).id;

// show prints what a stream brings, and returns how the run ended.
async function show(frames) {
  for await (const frame of frames) {
    switch (frame.kind) {
      case "event":
        if (frame.event.errorMessage) console.log(`${frame.event.errorCode}: ${frame.event.errorMessage}`);
        for (const { text, functionCall: call, functionResponse: answer } of frame.event.content?.parts ?? []) {
          if (text) console.log(`${frame.event.author}: ${text}`);
          if (call) console.log(`${call.name} is called: ${JSON.stringify(call.args ?? {})}`);
          if (answer) console.log(`${answer.name}: ${JSON.stringify(answer.response)}`);
        }
        break;
      case "partial":
        if (process.stdout.isTTY) process.stdout.write(`… ${frame.text}\r`);
        break;
      case "cut":
        console.log("(cut off; it goes on)");
        break;
      case "end":
        console.log(`(${frame.end.kind})`);
        return frame.end;
    }
  }
}

let end = await show(client.run(session, message));
while (end.kind === "waiting") {
  const asked = end.waiting.filter((call) => call.confirm);
  if (asked.length === 0) break; // a question, say: client.respond answers it
  console.log(`${asked.map((call) => call.hint || call.name).join(" ")} Yes.`);
  end = await show(client.approve(session, asked.map((call) => call.id)));
}

// All of it again, as another window of the same chat gets it.
const texts = (await client.events(session)).events.map((event) => textOf(event)).filter(Boolean);
console.log(`The session ${session} has: ${texts.join(" / ")}`);
process.exitCode = end.kind === "done" ? 0 : 1;
