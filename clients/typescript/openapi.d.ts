// Written by types.mjs from the server's openapi.json. Change that, and run: node types.mjs

export interface Problem {
  error: {
    /** for programs */
    code: string;
    /** for people */
    message: string;
    /** that keeps the session busy */
    invocation?: string;
  };
}

export interface Status {
  status: string;
}

export interface Session {
  app: string;
  user: string;
  id: string;
  state?: Record<string, any>;
  /** of the last event */
  position: number;
  /** RFC 3339 */
  created: string;
  /** RFC 3339 */
  updated: string;
  /** the invocation that runs on it now, in whatever process */
  running?: string;
  /** the invocation that was cut off last, with its server: its input, sent again with its id, goes on */
  cutOff?: string;
}

export interface Found {
  app: string;
  user: string;
  id: string;
  /** with details only */
  state?: Record<string, any>;
  /** with details: the text under the state key "title", or as the web page of the Agent Development Kit names the session; else the beginning of message */
  title?: string;
  /** with details: the first message that counts, at most 500 characters of it */
  message?: string;
  /** of the last event */
  position: number;
  /** RFC 3339 */
  created: string;
  /** RFC 3339 */
  updated: string;
  /** the invocation that runs on it now, in whatever process */
  running?: string;
  /** the newest event that meets the conditions on events; missing if there are none */
  event?: Event;
  /** the event is in the live view */
  live?: boolean;
  /** the invocation that was cut off last, with its server: its input, sent again with its id, goes on */
  cutOff?: string;
}

export interface NewSession {
  /** a UUID if missing */
  id?: string;
  state?: Record<string, any>;
}

export interface StatePatch {
  /** names the input: sent again with the same id it joins the run, or shows what became of it */
  id?: string;
  /** null deletes a key */
  state: Record<string, any>;
}

/** a Content of Google's GenAI API */
export interface Content {
  /** "user" or "model" */
  role?: string;
  parts?: Array<Part>;
}

/** one of these, and other keys of that API */
export interface Part {
  text?: string;
  /** the text is what the model has thought */
  thought?: boolean;
  inlineData?: {
    mimeType?: string;
    /** base64 */
    data?: string;
    displayName?: string;
  };
  fileData?: {
    mimeType?: string;
    fileUri?: string;
    displayName?: string;
  };
  functionCall?: {
    id?: string;
    name?: string;
    args?: Record<string, any>;
  };
  functionResponse?: {
    id?: string;
    name?: string;
    response?: Record<string, any>;
  };
}

/** an event as the log has it: the JSON of the Agent Development Kit, with seq */
export interface Event {
  id?: string;
  /** its position in the log */
  seq?: number;
  invocationId?: string;
  /** "user", an agent's name, or "plugin/" and a plugin's name */
  author?: string;
  /** the path of agents whose conversation it belongs to; missing: everyone's */
  branch?: string;
  /** RFC 3339; it orders nothing, seq does */
  timestamp?: string;
  content?: Content;
  /** a delta of an event that is being made; the whole event follows, with the same id */
  partial?: boolean;
  turnComplete?: boolean;
  /** the answer was cut short */
  interrupted?: boolean;
  errorCode?: string;
  errorMessage?: string;
  finishReason?: string;
  /** how many tokens the model's answer took */
  usageMetadata?: Record<string, any>;
  groundingMetadata?: Record<string, any>;
  citationMetadata?: Record<string, any>;
  modelVersion?: string;
  customMetadata?: Record<string, any>;
  longRunningToolIds?: Array<string>;
  /** stateDelta, stateIncrement, artifactDelta, transferToAgent, requestedToolConfirmations, compaction, rewindTo and more */
  actions?: {
    stateDelta?: Record<string, any>;
    /** the versions of artifacts that were saved, by their names */
    artifactDelta?: Record<string, any>;
    transferToAgent?: string;
    /** questions about calls, and answers, by the calls' ids */
    requestedToolConfirmations?: Record<string, any>;
  };
  /** what a node of a workflow hands to the nodes after it: any JSON value */
  output?: unknown;
  /** the node run of a workflow that it belongs to */
  nodeInfo?: Record<string, any>;
}

export interface Page {
  events: Array<Event>;
  /** there are more behind these */
  more: boolean;
}

export interface Call {
  id: string;
  name: string;
  args?: Record<string, any>;
  /** the latest response that leaves the call waiting */
  interim?: Record<string, any>;
  /** it waits for a yes or no, rather than for its response */
  confirm: boolean;
  hint?: string;
  /** whose yes it waits for */
  by?: Array<{
    /** the role; user is the session's own user */
    by: string;
    /** how many more people of this role must say yes */
    names?: number;
  }>;
}

export interface End {
  kind: "done" | "denied" | "stopped" | "failed" | "cancelled" | "cut_off" | "waiting" | "ended";
  invocationId?: string;
  /** that denied, stopped or failed */
  plugin?: string;
  reason?: string;
  error?: {
    code: string;
    message: string;
    invocation?: string;
  };
  waiting?: Array<Call>;
}

export interface Run {
  events: Array<Event>;
  end: End;
}

export interface Plan {
  /** what it would do */
  plan: Record<string, any>;
}

export interface Input {
  /** names the input: sent again with the same id it joins the run, or shows what became of it */
  id?: string;
  /** names the run; id if missing */
  invocationId?: string;
  /** a text */
  message?: string;
  /** more than a text, instead of message */
  content?: Content;
  /** an input as the log has it, instead of message, content, stateDelta and customMetadata; only its ids, content, metadata, state and decisions count */
  event?: Event;
  /** keys of the session's state to set; null deletes one */
  stateDelta?: Record<string, any>;
  /** kept with the input */
  customMetadata?: Record<string, any>;
  /** make the session if it is not there; true if missing */
  create?: boolean;
  /** partial events are wanted; true if missing, where the answer is a stream */
  streaming?: boolean;
  /** what happens on a session that is busy */
  onBusy?: "wait" | "reject" | "interrupt" | "rollback";
  /** what happens to the run when nobody reads it any more */
  onDisconnect?: "continue" | "cancel";
}

/** what Input has, and the session */
export interface Chat {
  /** names the input: sent again with the same id it joins the run, or shows what became of it */
  id?: string;
  /** names the run; id if missing */
  invocationId?: string;
  /** a text */
  message?: string;
  /** more than a text, instead of message */
  content?: Content;
  /** an input as the log has it, instead of message, content, stateDelta and customMetadata; only its ids, content, metadata, state and decisions count */
  event?: Event;
  /** keys of the session's state to set; null deletes one */
  stateDelta?: Record<string, any>;
  /** kept with the input */
  customMetadata?: Record<string, any>;
  /** make the session if it is not there; true if missing */
  create?: boolean;
  /** partial events are wanted; true if missing, where the answer is a stream */
  streaming?: boolean;
  /** what happens on a session that is busy */
  onBusy?: "wait" | "reject" | "interrupt" | "rollback";
  /** what happens to the run when nobody reads it any more */
  onDisconnect?: "continue" | "cancel";
  /** names the session; the field may have another name here */
  session: string;
}

export interface Decision {
  /** names the input: sent again with the same id it joins the run, or shows what became of it */
  id?: string;
  /** names the run; id if missing */
  invocationId?: string;
  /** a text */
  message?: string;
  /** more than a text, instead of message */
  content?: Content;
  /** an input as the log has it, instead of message, content, stateDelta and customMetadata; only its ids, content, metadata, state and decisions count */
  event?: Event;
  /** keys of the session's state to set; null deletes one */
  stateDelta?: Record<string, any>;
  /** kept with the input */
  customMetadata?: Record<string, any>;
  /** partial events are wanted; true if missing, where the answer is a stream */
  streaming?: boolean;
  /** what happens on a session that is busy */
  onBusy?: "wait" | "reject" | "interrupt" | "rollback";
  /** what happens to the run when nobody reads it any more */
  onDisconnect?: "continue" | "cancel";
  /** has no meaning here */
  create?: boolean;
  /** ids of calls */
  calls?: Array<string>;
  /** in place of calls: every call that waits for a yes or no */
  all?: boolean;
}

export interface Response {
  /** names the input: sent again with the same id it joins the run, or shows what became of it */
  id?: string;
  /** names the run; id if missing */
  invocationId?: string;
  /** a text */
  message?: string;
  /** more than a text, instead of message */
  content?: Content;
  /** an input as the log has it, instead of message, content, stateDelta and customMetadata; only its ids, content, metadata, state and decisions count */
  event?: Event;
  /** keys of the session's state to set; null deletes one */
  stateDelta?: Record<string, any>;
  /** kept with the input */
  customMetadata?: Record<string, any>;
  /** partial events are wanted; true if missing, where the answer is a stream */
  streaming?: boolean;
  /** what happens on a session that is busy */
  onBusy?: "wait" | "reject" | "interrupt" | "rollback";
  /** what happens to the run when nobody reads it any more */
  onDisconnect?: "continue" | "cancel";
  /** has no meaning here */
  create?: boolean;
  /** the id of the call */
  call?: string;
  /** any JSON; what is no object becomes {"result": …} */
  response?: unknown;
  /** instead of call and response: the response of each call, by the call's id */
  responses?: Record<string, any>;
}

/** one of to, before and turns */
export interface Rewind {
  id?: string;
  /** a position */
  to?: number;
  /** an invocation */
  before?: string;
  turns?: number;
  dryRun?: boolean;
}

export interface Undo {
  id?: string;
  dryRun?: boolean;
}

export interface Compact {
  id?: string;
  /** what the summary must have */
  instructions?: string;
  dryRun?: boolean;
}

export interface Fork {
  /** of the new session */
  id?: string;
  /** the position of its last event; the last one if missing */
  at?: number;
}

export interface Deleted {
  deleted: {
    sessions: Array<Record<string, any>>;
    artifacts: number;
    state?: Array<string>;
  };
}

export interface Retention {
  /** without an event */
  days: number;
  dryRun?: boolean;
}

export interface Approval {
  /** the session's app */
  app: string;
  /** the session's user */
  user: string;
  /** the session's id */
  session: string;
  /** when the session had its last event */
  updated: string;
  id: string;
  name: string;
  args?: Record<string, any>;
  /** the latest response that leaves the call waiting */
  interim?: Record<string, any>;
  /** it waits for a yes or no, rather than for its response */
  confirm: boolean;
  hint?: string;
  /** whose yes it waits for */
  by?: Array<{
    /** the role; user is the session's own user */
    by: string;
    /** how many more people of this role must say yes */
    names?: number;
  }>;
}

export interface RoleDecision {
  /** names the input: sent again with the same id nothing happens twice */
  id?: string;
  /** the session's app */
  app: string;
  /** the session's user; "user" if missing */
  user?: string;
  /** the session's id */
  session: string;
  /** the ids of the calls */
  calls: Array<string>;
  /** true is yes, false no */
  approve: boolean;
  /** why; the model is told the reason of a no */
  reason?: string;
}

/** a UIMessage of Vercel's AI SDK */
export interface UIMessage {
  id: string;
  /** "user" or "assistant" */
  role: string;
  parts: Array<Record<string, any>>;
}

/** what DefaultChatTransport sends, with keys of our own; others are not used */
export interface UIChat {
  /** of the chat: the session's. It is made if it is not there */
  id: string;
  /** the last one counts, if it is the user's, and the answers in all of them to calls that wait */
  messages: Array<UIMessage>;
  trigger?: "submit-message" | "regenerate-message";
  messageId?: string;
  /** what happens on a session that is busy */
  onBusy?: "wait" | "reject" | "interrupt" | "rollback";
  /** what happens to the run when nobody reads it any more */
  onDisconnect?: "continue" | "cancel";
  /** keys of the session's state to set; null deletes one */
  stateDelta?: Record<string, any>;
}

/** What routes take in a query, by their operationId. */
export interface Queries {
  /** Send a message; the session is made if it is not there */
  chat: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** The user's sessions, the one that was updated last first; parameters narrow the list */
  listSessions: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
    /** how many, 1 to 1000; 100 if missing */
    limit?: number;
    /** what a list had in next: the sessions behind those of that list are wanted */
    after?: string;
    /** what a list had in previous: the sessions before those of that list are wanted, which were updated later */
    before?: string;
    /** with title, message and state of each session */
    details?: boolean;
    /** only sessions that were updated at this time or later */
    since?: string;
    /** only sessions that were updated before this time */
    until?: string;
    /** only with an event of this author. author, tool, error, denied and match are conditions on one event, which may be one that was rewound */
    author?: string;
    /** only with a call of this tool, or a response to one */
    tool?: string;
    /** only with an event that says that a run, a model or a tool failed */
    error?: boolean;
    /** only with an event that says that a policy refused something */
    denied?: boolean;
    /** only with a call that waits for an answer from outside */
    waiting?: boolean;
    /** only with a last run that was cut off, with its server */
    cutOff?: boolean;
    /** only with an event that has all words of this text, whatever their case and accents */
    match?: string;
  };
  /** Make a session */
  createSession: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** A session */
  getSession: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** Change the session's state, by an input that plugins see */
  patchSession: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** Delete a session with its events and artifacts */
  deleteSession: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** The session's events: a page of them, or with follow a stream that stays open */
  events: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
    /** a position: only events behind it are wanted */
    after?: number;
    /** how many, 1 to 1000; 100 if missing */
    limit?: number;
    /** only what counts: the live view, whole */
    live?: boolean;
    /** a stream of what comes, too */
    follow?: boolean;
  };
  /** Run an input; with an empty body the agent goes on */
  run: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
    /** a position: only events behind it are wanted */
    after?: number;
  };
  /** Cancel a run, in whatever process it is; more than once changes nothing. One that does not run any more is told as ended, but a workflow that it has left waiting is ended by an event */
  cancel: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
    /** answer when it has ended */
    wait?: boolean;
  };
  /** The calls that wait for an answer from outside */
  waiting: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** Say yes to calls, and go on */
  approve: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
    /** a position: only events behind it are wanted */
    after?: number;
  };
  /** Say no to calls, and go on */
  decline: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
    /** a position: only events behind it are wanted */
    after?: number;
  };
  /** Give long-running calls their responses, and go on */
  respond: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
    /** a position: only events behind it are wanted */
    after?: number;
  };
  /** Take back the end of the session */
  rewind: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** Take back the last rewind */
  undo: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** Make a summary stand in for the older part of the session */
  compact: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** Make a session of the first events of this one */
  fork: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** The session as a file that runner session import reads */
  export: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** The artifacts of the session and its user */
  listArtifacts: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** An artifact's bytes */
  getArtifact: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
    /** the latest if missing */
    version?: number;
  };
  /** Save the body as the artifact's next version */
  putArtifact: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** Delete an artifact with its versions */
  deleteArtifact: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** Run what is new in a chat of Vercel's AI SDK, as useChat sends it */
  uiRun: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** The messages of a chat, as useChat takes them to begin with */
  uiMessages: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** The message of a chat that is being made, from its beginning */
  uiResume: {
    /** the user, where the caller's token names none; "user" if it is missing */
    user?: string;
  };
  /** Delete all that belongs to a user: sessions, artifacts, state. For the user, or an admin */
  deleteUser: {
    /** delete nothing, and say what would be deleted */
    dryRun?: boolean;
  };
  /** The calls of all sessions that wait for a role of the caller */
  approvals: {
    /** only those of this app */
    app?: string;
    /** how many at most; 100 if it is missing */
    limit?: number;
  };
}

/** What routes answer as JSON, by their operationId. */
export interface Answers {
  /** Whether the server runs */
  health: Status;
  /** Whether the server reaches its stores */
  ready: Status;
  /** The server's version */
  version: {
    version: string;
    language?: string;
    language_version?: string;
  };
  /** This document */
  openAPI: Record<string, any>;
  /** The apps that the caller reaches */
  listApps: {
    apps: Array<{
      name: string;
      agent: string;
      description?: string;
    }>;
  };
  /** The user's sessions, the one that was updated last first; parameters narrow the list */
  listSessions: {
    sessions: Array<Found>;
    /** there are more behind these */
    more: boolean;
    /** for after: where the next list begins; missing if there are no more */
    next?: string;
    /** for before: what was updated since then, and what was before; missing if this list is empty */
    previous?: string;
  };
  /** Make a session */
  createSession: Session;
  /** A session */
  getSession: Session;
  /** Change the session's state, by an input that plugins see */
  patchSession: Session;
  /** The session's events: a page of them, or with follow a stream that stays open */
  events: Page;
  /** Run an input; with an empty body the agent goes on */
  run: Run;
  /** Cancel a run, in whatever process it is; more than once changes nothing. One that does not run any more is told as ended, but a workflow that it has left waiting is ended by an event */
  cancel: {
    end: End;
  } | {
    invocationId: string;
  };
  /** The calls that wait for an answer from outside */
  waiting: {
    waiting: Array<Call>;
  };
  /** Say yes to calls, and go on */
  approve: Run;
  /** Say no to calls, and go on */
  decline: Run;
  /** Give long-running calls their responses, and go on */
  respond: Run;
  /** Take back the end of the session */
  rewind: Run | Plan;
  /** Take back the last rewind */
  undo: Run | Plan;
  /** Make a summary stand in for the older part of the session */
  compact: Run | Plan;
  /** Make a session of the first events of this one */
  fork: Session;
  /** The artifacts of the session and its user */
  listArtifacts: {
    artifacts: Array<{
      name: string;
      versions: Array<number>;
    }>;
  };
  /** Save the body as the artifact's next version */
  putArtifact: {
    name: string;
    version: number;
  };
  /** The messages of a chat, as useChat takes them to begin with */
  uiMessages: {
    messages: Array<UIMessage>;
  };
  /** Delete all that belongs to a user: sessions, artifacts, state. For the user, or an admin */
  deleteUser: Deleted;
  /** Delete the sessions that had no event for a while. For an admin */
  retain: Deleted;
  /** The calls of all sessions that wait for a role of the caller */
  approvals: {
    approvals: Array<Approval>;
  };
  /** Say yes or no to calls that wait for a role of the caller, in the session of any user */
  decide: {
    invocationId: string;
  };
}
