// Runs @ag-ui/client against a server: node agui.mjs URL. Every event is checked against the schemas of
// @ag-ui/core.
import assert from "node:assert/strict";
import { HttpAgent } from "@ag-ui/client";
import { EventSchemas } from "@ag-ui/core/schemas";

const url = process.argv[2] + "/agui/desk";

// run sends what the user says, if anything, and returns the types of the events.
async function run(agent, text, parameters = {}) {
  if (text) agent.messages.push({ id: crypto.randomUUID(), role: "user", content: text });
  const types = [];
  let failed;
  await agent.runAgent(parameters, {
    onEvent: ({ event }) => {
      const { success, error } = EventSchemas.safeParse(event);
      assert.ok(success, `${JSON.stringify(event)}: ${error}`);
      types.push(event.type);
    },
    onRunErrorEvent: ({ event }) => {
      failed = event;
    },
  });
  return { types, failed };
}

const roles = (agent) => agent.messages.map((m) => m.role).join(" ");
const last = (agent) => agent.messages.at(-1).content;

// Turns: the whole history goes there each time, and what comes back is added to it.
let agent = new HttpAgent({ url, threadId: "turns" });
await run(agent, "Hello");
assert.equal(last(agent), "You said: Hello");
await run(agent, "again");
assert.equal(last(agent), "You said: again");
assert.equal(roles(agent), "user assistant user assistant");

// The client has what the log has: a page that is loaded again gets the same.
const reloaded = new HttpAgent({ url, threadId: "turns" });
await run(reloaded);
assert.deepEqual(reloaded.messages, agent.messages);

// Thoughts, calls, responses, state.
agent = new HttpAgent({ url, threadId: "all" });
await run(agent, "think");
assert.equal(roles(agent), "user reasoning assistant");
assert.equal(last(agent), "It is 4.");
await run(agent, "weather");
assert.equal(roles(agent), "user reasoning assistant user assistant tool assistant");
assert.deepEqual(agent.messages[4].toolCalls[0].function, { name: "get_weather", arguments: '{"city":"Paris"}' });
assert.deepEqual(agent.state, { "last/city": "Paris", "a~b": 1 });
await run(agent, "forget");
assert.deepEqual(agent.state, { "a~b": 1, "user:count": 2 });

// A human says yes; and gives an input.
agent = new HttpAgent({ url, threadId: "held" });
await run(agent, "book");
assert.equal(agent.pendingInterrupts.length, 1);
assert.equal(agent.pendingInterrupts[0].message, "Book table 4?");
await assert.rejects(run(agent, "something else"), /pending interrupt/);
agent.messages.pop();
await run(agent, "", { resume: [{ interruptId: "b1", status: "resolved", payload: { approved: true } }] });
assert.equal(last(agent), "Booked.");
assert.equal(agent.pendingInterrupts.length, 0);
await run(agent, "ask");
await run(agent, "", { resume: [{ interruptId: "q1", status: "resolved", payload: { people: 4 } }] });
assert.equal(last(agent), 'You answered {"people":4}');

// A plugin changes what was said, refuses, withholds; an agent fails.
agent = new HttpAgent({ url, threadId: "policy" });
await run(agent, "my card is 4111");
assert.equal(agent.messages[0].content, "my card is [X]");
assert.equal(last(agent), "You said: my card is [X]");
let { failed } = await run(agent, "forbidden");
assert.equal(failed.code, "DENIED");
({ failed } = await run(new HttpAgent({ url, threadId: "break" }), "break"));
assert.equal(failed.code, "agent_failed");
agent = new HttpAgent({ url, threadId: "hush" });
await run(agent, "hush");
assert.equal(roles(agent), "");

// Compaction and rewind.
agent = new HttpAgent({ url, threadId: "compact" });
await run(agent, "Hello");
const { types } = await run(agent, "compact");
assert.ok(types.includes("ACTIVITY_SNAPSHOT"));
agent = new HttpAgent({ url, threadId: "rewind" });
await run(agent, "one");
await run(agent, "two");
await run(agent, "", { forwardedProps: { command: { name: "rewind", args: { to: 2 } } } });
assert.equal(roles(agent), "user assistant");
assert.equal(last(agent), "You said: one");

// Stop.
agent = new HttpAgent({ url, threadId: "stop" });
const stopped = run(agent, "wait");
while (!last(agent)?.startsWith?.("I wait")) await new Promise((r) => setTimeout(r, 10));
agent.abortRun();
await stopped.catch(() => {});

// A status of the server is an error.
await assert.rejects(run(new HttpAgent({ url: url + "-not", threadId: "x" }), "hi"), /404/);
console.log("ok");
