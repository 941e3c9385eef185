export type Session = import("./openapi.js").Session;
export type Event = import("./openapi.js").Event;
export type Call = import("./openapi.js").Call;
export type End = import("./openapi.js").End;
export type Input = import("./openapi.js").Input;
export type Answers = import("./openapi.js").Answers;
export type Queries = import("./openapi.js").Queries;
export type Options = {
    /**
     * The app that the sessions are of.
     */
    app: string;
    /**
     * It is sent with each request; a function is
     * asked for it each time.
     */
    token?: string | (() => string | Promise<string>);
    /**
     * The user, where the token acts for others, or the server needs no tokens.
     */
    user?: string;
    /**
     * They are sent with each request.
     */
    headers?: Record<string, string>;
    /**
     * It is called in place of the global function.
     */
    fetch?: typeof globalThis.fetch;
    /**
     * How often in a row a stream that was cut off is opened again: 10, if it is
     * missing.
     */
    attempts?: number;
    /**
     * A stream that brings nothing for so many milliseconds counts as cut off:
     * 60,000, if it is missing. The server sends something every 15 seconds.
     */
    silence?: number;
};
export type Frame = {
    kind: "event";
    event: Event;
} | {
    kind: "partial";
    event: Event;
    text: string;
    thought: string;
} | {
    kind: "cut";
    error: Error;
} | {
    kind: "run";
    running: string;
    ended?: End;
} | {
    kind: "end";
    end: End;
};
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
export declare class PlughookError extends Error {
    status: number;
    code: string;
    /**
     * @param {number} status that of HTTP; 0 if a stream has told of the error
     * @param {string} code such as "not_found": what a program looks at
     * @param {string} message
     */
    constructor(status: number, code: string, message: string);
}
/** A client of one app of a server. It has no state: one is enough for a page. */
export declare class Client {
    #private;
    /**
     * @param {string | URL} url of the server, such as "http://localhost:8080"
     * @param {Options} options
     */
    constructor(url: string | URL, options: Options);
    /**
     * Makes a session. run does, too: this is for one with a state, or without an input.
     * @param {{id?: string, state?: Record<string, any>}} [session]
     * @returns {Promise<Session>}
     */
    create(session?: {
        id?: string;
        state?: Record<string, any>;
    }): Promise<Session>;
    /** @param {string} session @returns {Promise<Session>} */
    get(session: string): Promise<Session>;
    /**
     * Lists the user's sessions, the one that was updated last first.
     * @param {Omit<Queries["listSessions"], "user">} [query]
     * @returns {Promise<Answers["listSessions"]>}
     */
    list(query?: Omit<Queries["listSessions"], "user">): Promise<Answers["listSessions"]>;
    /**
     * Returns a page of a session's events.
     * @param {string} session
     * @param {{after?: number, limit?: number, live?: boolean}} [query]
     * @returns {Promise<Answers["events"]>}
     */
    events(session: string, query?: {
        after?: number;
        limit?: number;
        live?: boolean;
    }): Promise<Answers["events"]>;
    /**
     * Runs an input, and tells of all that comes of it. The run belongs to the server: it goes on when the
     * caller leaves the loop, or the signal stops it; cancel ends it. An input that has an id, and is sent
     * again with it, joins the run that it has started.
     * @param {string} session It is made if it is not there.
     * @param {string | Input} input a message, or more; with {} the agent goes on with what is in the log
     * @param {{signal?: AbortSignal}} [options]
     * @returns {AsyncGenerator<Frame, void, void>}
     */
    run(session: string, input: string | Input, options?: {
        signal?: AbortSignal;
    }): AsyncGenerator<Frame, void, void>;
    /**
     * Says yes to calls that wait for it, and goes on.
     * @param {string} session
     * @param {string[]} calls their ids: of waiting, or of a run's end
     * @param {Input & {signal?: AbortSignal}} [options] a message, and more, that goes with it
     */
    approve(session: string, calls: string[], options?: Input & {
        signal?: AbortSignal;
    }): AsyncGenerator<Frame, void, void>;
    /**
     * Says no to calls that wait for a yes, and goes on.
     * @param {string} session
     * @param {string[]} calls
     * @param {Input & {signal?: AbortSignal}} [options]
     */
    decline(session: string, calls: string[], options?: Input & {
        signal?: AbortSignal;
    }): AsyncGenerator<Frame, void, void>;
    /**
     * Gives calls their responses, and questions their answers, and goes on.
     * @param {string} session
     * @param {Record<string, any>} responses by the calls' ids
     * @param {Input & {signal?: AbortSignal}} [options]
     */
    respond(session: string, responses: Record<string, any>, options?: Input & {
        signal?: AbortSignal;
    }): AsyncGenerator<Frame, void, void>;
    /**
     * Tells of all that happens on a session behind a position, whoever makes it happen. It ends when the
     * signal stops it, or with an error: that of a session that is deleted has the code "not_found".
     * @param {string} session
     * @param {{after?: number, signal?: AbortSignal}} [options] after: `event.seq` of the last event that is
     *   known
     * @returns {AsyncGenerator<Frame, void, void>}
     */
    follow(session: string, { after, signal }?: {
        after?: number;
        signal?: AbortSignal;
    }): AsyncGenerator<Frame, void, void>;
    /**
     * Lists the calls that wait for an answer.
     * @param {string} session
     * @returns {Promise<Call[]>}
     */
    waiting(session: string): Promise<Call[]>;
    /**
     * Ends a run, wherever it is, and returns how it ended.
     * @param {string} session
     * @param {string} invocation `event.invocationId` of its events, or `invocationId` of its input
     * @returns {Promise<End>}
     */
    cancel(session: string, invocation: string): Promise<End>;
    /**
     * Saves a file as the next version of an artifact.
     * @param {string} session
     * @param {string} name such as "report.pdf"
     * @param {Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | string} file as an <input type="file"> has it, for
     *   example
     * @param {string} [type] such as "application/pdf"; that of a Blob is known
     * @returns {Promise<Answers["putArtifact"]>}
     */
    upload(session: string, name: string, file: Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | string, type?: string): Promise<Answers["putArtifact"]>;
    /**
     * Returns a file: the latest version of an artifact, or another one.
     * @param {string} session
     * @param {string} name
     * @param {number} [version]
     * @returns {Promise<Blob>}
     */
    download(session: string, name: string, version?: number): Promise<Blob>;
    /**
     * Asks any other route, and returns its JSON.
     * @param {string} method
     * @param {string} path such as "/v1/approvals"
     * @param {unknown} [body]
     * @returns {Promise<any>}
     */
    request(method: string, path: string, body?: unknown): Promise<any>;
}
/**
 * Returns the text of an event; or its thoughts.
 * @param {Event} event
 * @param {boolean} [thought]
 */
export declare function textOf(event: Event, thought?: boolean): string;
