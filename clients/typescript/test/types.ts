// A program that uses the client, for the compiler: it is not run.
import { Client, PlughookError, textOf, type Frame } from "../plughook.js";

const client = new Client("http://localhost:8080", { app: "desk", token: async () => "secret" });

export async function chat(session: string, file: File, signal: AbortSignal): Promise<string> {
  await client.upload(session, file.name, file);
  let text = "";
  for await (const frame of client.run(session, { message: "Hello", onBusy: "reject" }, { signal })) {
    switch (frame.kind) {
      case "partial":
        text = frame.text;
        break;
      case "event":
        text = textOf(frame.event);
        frame.event.content?.parts?.[0]?.functionCall?.args;
        break;
      case "end":
        await all(client.approve(session, (frame.end.waiting ?? []).map((call) => call.id)));
    }
  }
  // @ts-expect-error: a kind of frame that there is not
  (await all(client.follow(session))).find((frame) => frame.kind === "evnt");
  // @ts-expect-error: a misspelt key of an input
  client.run(session, { mesage: "Hello" });
  return text;
}

async function all(frames: AsyncGenerator<Frame, void, void>): Promise<Frame[]> {
  const list: Frame[] = [];
  try {
    for await (const frame of frames) list.push(frame);
  } catch (error) {
    if (error instanceof PlughookError && error.code === "not_found") return [];
    throw error;
  }
  return list;
}
