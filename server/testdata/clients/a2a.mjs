// Runs @a2a-js/sdk against a server: node a2a.mjs URL.
import assert from "node:assert/strict";
import { Role, TaskState } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";

const client = await new ClientFactory().createFromUrl(process.argv[2]);

// message returns the parameters that send a text.
const message = (text, more = {}, configuration = {}) => ({
  message: {
    messageId: crypto.randomUUID(),
    role: Role.ROLE_USER,
    parts: [{ content: { $case: "text", value: text } }],
    ...more,
  },
  configuration,
});
const textOf = (task) => task.artifacts.map((a) => a.parts.map((p) => p.content.value).join("")).join("|");

const card = await client.getAgentCard();
assert.equal(card.name, "helper");
assert.equal(card.capabilities.streaming, true);

// A message and its task; the next one in the same context.
const first = await client.sendMessage(message("Hello"));
assert.equal(first.status.state, TaskState.TASK_STATE_COMPLETED);
assert.equal(textOf(first), "You said: Hello");
const second = await client.sendMessage(message("again", { contextId: first.contextId }));
assert.equal(second.contextId, first.contextId);
assert.notEqual(second.id, first.id);
assert.equal(textOf(await client.getTask({ id: second.id })), "You said: again");
const list = await client.listTasks({ contextId: first.contextId });
assert.deepEqual(list.tasks.map((t) => t.id), [second.id, first.id]);

// A stream.
const seen = [];
let streamed = "";
for await (const { payload } of client.sendMessageStream(message("Hello"))) {
  seen.push(payload.$case);
  if (payload.$case === "artifactUpdate") {
    const { append, artifact } = payload.value;
    const text = artifact.parts.map((p) => p.content.value).join("");
    streamed = append ? streamed + text : text;
  }
  if (payload.$case === "statusUpdate") streamed += `<${payload.value.status.state}>`;
}
assert.equal(seen[0], "task");
assert.equal(streamed, `You said: Hello<${TaskState.TASK_STATE_COMPLETED}>`);

// What waits for an answer, and gets it.
const held = await client.sendMessage(message("book"));
assert.equal(held.status.state, TaskState.TASK_STATE_INPUT_REQUIRED);
assert.equal(held.status.message.parts[0].content.value, "Book table 4?");
assert.equal(held.status.message.parts[1].content.value.calls[0].id, "b1");
const booked = await client.sendMessage(message("yes", { taskId: held.id, contextId: held.contextId }));
assert.equal(booked.id, held.id);
assert.equal(textOf(booked), "Booked.");

// A refusal and a failure.
const rejected = await client.sendMessage(message("forbidden"));
assert.equal(rejected.status.state, TaskState.TASK_STATE_REJECTED);
assert.equal(rejected.status.message.parts[0].content.value, "That is not allowed here.");
assert.equal((await client.sendMessage(message("break"))).status.state, TaskState.TASK_STATE_FAILED);

// A task that works: returned at once, followed, cancelled.
const working = await client.sendMessage(message("wait", {}, { returnImmediately: true }));
let end;
for await (const { payload } of client.resubscribeTask({ id: working.id })) {
  if (payload.$case === "artifactUpdate") {
    const canceled = await client.cancelTask({ id: working.id });
    assert.equal(canceled.status.state, TaskState.TASK_STATE_CANCELED);
  }
  if (payload.$case === "statusUpdate") end = payload.value.status.state;
}
assert.equal(end, TaskState.TASK_STATE_CANCELED);

// Errors are those of the protocol.
await assert.rejects(client.getTask({ id: "zz" }), { name: "TaskNotFoundError" });
await assert.rejects(client.cancelTask({ id: first.id }), { name: "TaskNotCancelableError" });
await assert.rejects(client.sendMessage(message("more", { taskId: first.id })), { name: "UnsupportedOperationError" });
console.log("ok");
