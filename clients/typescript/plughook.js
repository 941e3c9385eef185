// A client of a Plughook server, for browsers and Node.js 20 or later. It is used as it is: no build, no
// packages. The types in plughook.d.ts are written from the comments here: npm run build.
//
// A new route: a method of Client, which asks #json, or #stream if it answers with server-sent events.

/** @typedef {import("./openapi.js").Session} Session */
/** @typedef {import("./openapi.js").Event} Event */
/** @typedef {import("./openapi.js").Call} Call */
/** @typedef {import("./openapi.js").End} End */
/** @typedef {import("./openapi.js").Input} Input */
/** @typedef {import("./openapi.js").Answers} Answers */
/** @typedef {import("./openapi.js").Queries} Queries */

/**
 * @typedef {object} Options
 * @property {string} app The app that the sessions are of.
 * @property {string | (() => string | Promise<string>)} [token] It is sent with each request; a function is
 *   asked for it each time.
 * @property {string} [user] The user, where the token acts for others, or the server needs no tokens.
 * @property {Record<string, string>} [headers] They are sent with each request.
 * @property {typeof globalThis.fetch} [fetch] It is called in place of the global function.
 * @property {number} [attempts] How often in a row a stream that was cut off is opened again: 10, if it is
 *   missing.
 * @property {number} [silence] A stream that brings nothing for so many milliseconds counts as cut off:
 *   60,000, if it is missing. The server sends something every 15 seconds.
 */

/**
 * What a stream brings.
 *
 * - `event`: an event of the log.
 * - `partial`: the text, and the thought, of an event that is being made, as far as they are known. What came
 *   before of the same event is in it. The whole event follows, with the same `event.id`.
 * - `cut`: the connection was cut off. The client opens it again by itself: a page may show that.
 * - `run`: which invocation runs on the session that is followed, "" if none does. `ended` is how the one
 *   before ended.
 * - `end`: how the run ended. It is the last. A run that fails, or is denied, is told so, and not as an
 *   error.
 *
 * @typedef {{kind: "event", event: Event}
 *   | {kind: "partial", event: Event, text: string, thought: string}
 *   | {kind: "cut", error: Error}
 *   | {kind: "run", running: string, ended?: End}
 *   | {kind: "end", end: End}} Frame
 */

/** An error that the server has answered with. */
export class PlughookError extends Error {
  /**
   * @param {number} status that of HTTP; 0 if a stream has told of the error
   * @param {string} code such as "not_found": what a program looks at
   * @param {string} message
   */
  constructor(status, code, message) {
    super(message);
    this.name = "PlughookError";
    this.status = status;
    this.code = code;
  }
}

/** A client of one app of a server. It has no state: one is enough for a page. */
export class Client {
  #url;
  #options;

  /**
   * @param {string | URL} url of the server, such as "http://localhost:8080"
   * @param {Options} options
   */
  constructor(url, options) {
    this.#url = String(url).replace(/\/+$/, "");
    this.#options = options;
  }

  /**
   * Makes a session. run does, too: this is for one with a state, or without an input.
   * @param {{id?: string, state?: Record<string, any>}} [session]
   * @returns {Promise<Session>}
   */
  create(session = {}) {
    return this.#json("POST", this.#app("/sessions"), session);
  }

  /** @param {string} session @returns {Promise<Session>} */
  get(session) {
    return this.#json("GET", this.#session(session));
  }

  /**
   * Lists the user's sessions, the one that was updated last first.
   * @param {Omit<Queries["listSessions"], "user">} [query]
   * @returns {Promise<Answers["listSessions"]>}
   */
  list(query = {}) {
    return this.#json("GET", this.#app("/sessions", query));
  }

  /**
   * Returns a page of a session's events.
   * @param {string} session
   * @param {{after?: number, limit?: number, live?: boolean}} [query]
   * @returns {Promise<Answers["events"]>}
   */
  events(session, query = {}) {
    return this.#json("GET", this.#session(session, "/events", query));
  }

  /**
   * Runs an input, and tells of all that comes of it. The run belongs to the server: it goes on when the
   * caller leaves the loop, or the signal stops it; cancel ends it. An input that has an id, and is sent
   * again with it, joins the run that it has started.
   * @param {string} session It is made if it is not there.
   * @param {string | Input} input a message, or more; with {} the agent goes on with what is in the log
   * @param {{signal?: AbortSignal}} [options]
   * @returns {AsyncGenerator<Frame, void, void>}
   */
  run(session, input, options = {}) {
    return this.#run(session, "/run", typeof input === "string" ? { message: input } : input, options);
  }

  /**
   * Says yes to calls that wait for it, and goes on.
   * @param {string} session
   * @param {string[]} calls their ids: of waiting, or of a run's end
   * @param {Input & {signal?: AbortSignal}} [options] a message, and more, that goes with it
   */
  approve(session, calls, options = {}) {
    return this.#answer(session, "/approve", { calls }, options);
  }

  /**
   * Says no to calls that wait for a yes, and goes on.
   * @param {string} session
   * @param {string[]} calls
   * @param {Input & {signal?: AbortSignal}} [options]
   */
  decline(session, calls, options = {}) {
    return this.#answer(session, "/decline", { calls }, options);
  }

  /**
   * Gives calls their responses, and questions their answers, and goes on.
   * @param {string} session
   * @param {Record<string, any>} responses by the calls' ids
   * @param {Input & {signal?: AbortSignal}} [options]
   */
  respond(session, responses, options = {}) {
    return this.#answer(session, "/respond", { responses }, options);
  }

  /**
   * Tells of all that happens on a session behind a position, whoever makes it happen. It ends when the
   * signal stops it, or with an error: that of a session that is deleted has the code "not_found".
   * @param {string} session
   * @param {{after?: number, signal?: AbortSignal}} [options] after: `event.seq` of the last event that is
   *   known
   * @returns {AsyncGenerator<Frame, void, void>}
   */
  follow(session, { after = 0, signal } = {}) {
    return this.#stream("GET", this.#session(session, "/events", { follow: true }), undefined, after, signal);
  }

  /**
   * Lists the calls that wait for an answer.
   * @param {string} session
   * @returns {Promise<Call[]>}
   */
  async waiting(session) {
    return (await this.#json("GET", this.#session(session, "/waiting"))).waiting;
  }

  /**
   * Ends a run, wherever it is, and returns how it ended.
   * @param {string} session
   * @param {string} invocation `event.invocationId` of its events, or `invocationId` of its input
   * @returns {Promise<End>}
   */
  async cancel(session, invocation) {
    const below = `/invocations/${encodeURIComponent(invocation)}/cancel`;
    return (await this.#json("POST", this.#session(session, below, { wait: true }))).end;
  }

  /**
   * Saves a file as the next version of an artifact.
   * @param {string} session
   * @param {string} name such as "report.pdf"
   * @param {Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | string} file as an <input type="file"> has it, for
   *   example
   * @param {string} [type] such as "application/pdf"; that of a Blob is known
   * @returns {Promise<Answers["putArtifact"]>}
   */
  async upload(session, name, file, type) {
    const kind = type ?? (file instanceof Blob ? file.type : "");
    const headers = { "Content-Type": kind || "application/octet-stream" };
    return (await this.#send("PUT", this.#artifact(session, name), { headers, body: file })).json();
  }

  /**
   * Returns a file: the latest version of an artifact, or another one.
   * @param {string} session
   * @param {string} name
   * @param {number} [version]
   * @returns {Promise<Blob>}
   */
  async download(session, name, version) {
    return (await this.#send("GET", this.#artifact(session, name, { version }))).blob();
  }

  /**
   * Asks any other route, and returns its JSON.
   * @param {string} method
   * @param {string} path such as "/v1/approvals"
   * @param {unknown} [body]
   * @returns {Promise<any>}
   */
  request(method, path, body) {
    return this.#json(method, path, body);
  }

  /** @param {string} below @param {Record<string, any>} [query] */
  #app(below, query = {}) {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...query, user: this.#options.user })) {
      if (value !== undefined) parameters.set(name, String(value));
    }
    const text = parameters.toString();
    return `/v1/apps/${encodeURIComponent(this.#options.app)}${below}${text && "?" + text}`;
  }

  /** @param {string} session @param {string} [below] @param {Record<string, any>} [query] */
  #session(session, below = "", query = {}) {
    return this.#app(`/sessions/${encodeURIComponent(session)}${below}`, query);
  }

  /** @param {string} session @param {string} name @param {Record<string, any>} [query] */
  #artifact(session, name, query) {
    return this.#session(session, "/artifacts/" + name.split("/").map(encodeURIComponent).join("/"), query);
  }

  /**
   * @param {string} session
   * @param {string} below
   * @param {object} answer
   * @param {Input & {signal?: AbortSignal}} options
   */
  #answer(session, below, answer, { signal, ...input }) {
    return this.#run(session, below, { ...input, ...answer }, { signal });
  }

  /**
   * @param {string} session
   * @param {string} below
   * @param {Input} input
   * @param {{signal?: AbortSignal}} options
   */
  #run(session, below, input, { signal }) {
    const path = this.#session(session, below);
    if (below === "/run" && Object.keys(input).length === 0) {
      return this.#stream("POST", path, "{}", 0, signal, 0); // without an id it is not sent again
    }
    const id = input.id ?? input.event?.id ?? newID();
    const invocationId = input.invocationId ?? input.event?.invocationId ?? id;
    return this.#stream("POST", path, JSON.stringify({ ...input, id, invocationId }), 0, signal);
  }

  /**
   * Opens a stream, and opens it again behind the last position when it was cut off.
   * @param {string} method
   * @param {string} path
   * @param {string | undefined} body
   * @param {number} after
   * @param {AbortSignal | undefined} signal
   * @param {number} [attempts]
   * @returns {AsyncGenerator<Frame, void, void>}
   */
  async *#stream(method, path, body, after, signal, attempts = this.#options.attempts ?? 10) {
    let reached = false; // a server has answered
    let failures = 0; // since the last event
    for (;;) {
      let failed;
      try {
        for await (const frame of this.#once(method, path, body, after, signal, () => { reached = true; })) {
          if (frame.kind === "event") {
            after = Math.max(after, frame.event.seq ?? 0);
            failures = 0;
          }
          if (frame.kind === "end" && frame.end.kind === "cut_off" && failures < attempts) {
            throw new PlughookError(0, "cut_off", frame.end.error?.message ?? "the run was cut off");
          }
          yield frame;
          if (frame.kind === "end") return;
        }
      } catch (error) {
        failed = /** @type {Error} */ (error);
      }
      signal?.throwIfAborted();
      failed ??= new TypeError("the connection was cut off");
      if (!passes(failed) || !reached || ++failures > attempts) throw failed;
      yield { kind: "cut", error: failed };
      await pause(Math.min(125 * 2 ** failures, 10_000) * (0.5 + Math.random()), signal);
    }
  }

  /**
   * Reads a stream as long as one connection holds.
   * @param {string} method
   * @param {string} path
   * @param {string | undefined} body
   * @param {number} after
   * @param {AbortSignal | undefined} signal
   * @param {() => void} reached
   * @returns {AsyncGenerator<Frame, void, void>}
   */
  async *#once(method, path, body, after, signal, reached) {
    const end = new AbortController();
    const stop = () => end.abort(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop);
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const alive = () => {
      clearTimeout(timer);
      const silent = () => end.abort(new TypeError("the connection is silent"));
      timer = setTimeout(silent, this.#options.silence ?? 60_000);
    };
    try {
      alive();
      /** @type {Record<string, string>} */
      const headers = { Accept: "text/event-stream" };
      if (after > 0) headers["Last-Event-ID"] = String(after);
      if (body !== undefined) headers["Content-Type"] = "application/json";
      const response = await this.#send(method, path, { headers, body, signal: end.signal }, reached);
      /** @type {Map<string, {text: string, thought: string}>} */
      const partial = new Map(); // by the ids of events under way
      for await (const { name, data } of serverSentEvents(response, alive)) {
        const value = JSON.parse(data);
        switch (name) {
          case "message":
            partial.delete(value.id);
            yield { kind: "event", event: value };
            break;
          case "partial": {
            const so = partial.get(value.id) ?? { text: "", thought: "" };
            partial.set(value.id, so);
            so.text += textOf(value);
            so.thought += textOf(value, true);
            yield { kind: "partial", event: value, ...so };
            break;
          }
          case "run":
            yield { kind: "run", ...value };
            break;
          case "end":
            yield { kind: "end", end: value };
            break;
          case "error":
            throw new PlughookError(0, value.code, value.message || value.code);
        }
      }
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
      end.abort(); // whoever leaves the loop does not read the rest
    }
  }

  /** @param {string} method @param {string} path @param {unknown} [body] @returns {Promise<any>} */
  async #json(method, path, body) {
    const sent = body === undefined ? {} :
      { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    const response = await this.#send(method, path, sent);
    return response.status === 204 ? undefined : response.json();
  }

  /**
   * Sends a request. It throws what the server answers as an error.
   * @param {string} method
   * @param {string} path
   * @param {RequestInit & {headers?: Record<string, string>}} [init]
   * @param {() => void} [reached] is called if the server answers
   */
  async #send(method, path, init = {}, reached = () => {}) {
    const { token, fetch = globalThis.fetch } = this.#options;
    /** @type {Record<string, string>} */
    const headers = { ...this.#options.headers, ...init.headers };
    const secret = typeof token === "function" ? await token() : token;
    if (secret) headers.Authorization = "Bearer " + secret.trim();
    const response = await fetch(this.#url + path, { ...init, method, headers });
    reached();
    if (response.ok) return response;
    const text = await response.text();
    let told;
    try {
      told = JSON.parse(text).error;
    } catch {
      // A proxy has answered in place of the server.
    }
    throw new PlughookError(response.status, told?.code ?? `http_${response.status}`,
      told?.message ?? `${method} ${path} was answered with status ${response.status}`);
  }
}

/**
 * Returns the text of an event; or its thoughts.
 * @param {Event} event
 * @param {boolean} [thought]
 */
export function textOf(event, thought = false) {
  return (event.content?.parts ?? []).map((part) => !part.thought === thought ? "" : part.text ?? "").join("");
}

/** Reports whether an error passes: the same request, sent later, may be answered. @param {Error} error */
function passes(error) {
  if (!(error instanceof PlughookError)) return error instanceof TypeError || error.name === "AbortError";
  return [429, 502, 503, 504].includes(error.status) ||
    ["closing", "unavailable", "taken_over", "cut_off"].includes(error.code);
}

/** Waits; not longer than the signal lasts. @param {number} ms @param {AbortSignal} [signal] */
async function pause(ms, signal) {
  /** @type {() => void} */
  let wake = () => {};
  const timer = setTimeout(() => wake(), ms);
  await new Promise((resolve) => {
    wake = () => resolve(undefined);
    signal?.addEventListener("abort", wake);
  });
  clearTimeout(timer);
  signal?.removeEventListener("abort", wake);
  signal?.throwIfAborted();
}

/** Returns an id that no other has. (crypto.randomUUID is not there on pages without TLS.) */
function newID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("");
}

/**
 * Reads server-sent events. An event that is not whole at the end is dropped.
 * @param {Response} response
 * @param {() => void} alive is called when something came
 */
async function* serverSentEvents(response, alive) {
  const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body)
    .pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let name = "";
  /** @type {string[]} */
  let data = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    alive();
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.map((one) => one.replace(/\r$/, ""))) {
      const [, field, text] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      if (line === "") {
        if (data.length > 0) yield { name: name || "message", data: data.join("\n") };
        name = "";
        data = [];
      } else if (field === "event") {
        name = text ?? "";
      } else if (field === "data") {
        data.push(text ?? "");
      }
    }
  }
}
