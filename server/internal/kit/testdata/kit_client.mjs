// Talks to a server with the kit's client: node kit_client.mjs CLIENT URL
import assert from "node:assert/strict";
import {pathToFileURL} from "node:url";

const [, , file, backendUrl] = process.argv;
const {AdkApiClient} = await import(pathToFileURL(file));
const client = new AdkApiClient({backendUrl});

assert.deepEqual(await client.listApps(), ["desk", "other"]);
const at = {appName: "desk", userId: "ada", sessionId: "trip"};
const made = await client.createSession({...at, state: {shop: "north"}});
assert.equal(made.id, "trip");
await assert.rejects(client.createSession(at), /exists/);

// A stream, and the same run as it is in the session.
let text = "";
const whole = [];
for await (const e of client.runAsync({...at, newMessage: "Hello there", streaming: true})) {
  if (e.partial) text += e.content.parts[0].text;
  else whole.push(e);
}
assert.equal(whole.length, 1);
assert.equal(whole[0].content.parts[0].text, "Hello from the desk: Hello there");
assert.ok(text !== "" && whole[0].content.parts[0].text.startsWith(text));
const session = await client.getSession(at);
assert.deepEqual(session.events.at(-1), whole[0]);
assert.equal(session.state.shop, "north");

// Files.
for await (const e of client.runAsync({...at, newMessage: "Draw me a map"})) assert.ok(!e.partial);
assert.deepEqual(await client.listArtifacts(at), ["map.png", "notes.txt"]);
assert.deepEqual(await client.listArtifactVersions({...at, artifactName: "notes.txt"}), [0, 1]);
const notes = await client.loadArtifact({...at, artifactName: "notes.txt", version: 0});
assert.equal(atob(notes.inlineData.data), "first");
await client.deleteArtifact({...at, artifactName: "notes.txt"});

// A run that fails.
await assert.rejects(async () => {
  for await (const _ of client.runAsync({...at, newMessage: "This will fail"}));
}, /plugin policy failed/);

assert.equal((await client.listSessions(at)).length, 1);
await client.deleteSession(at);
await assert.rejects(client.getSession(at), /not found/);
