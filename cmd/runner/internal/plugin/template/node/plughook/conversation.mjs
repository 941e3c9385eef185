// One stream of calls: what comes is taken in order, hooks run beside each other, each call is answered once.
import { Sessions } from './sessions.mjs'
import { stringify } from './json.mjs'
import { rewrite } from './rewrite.mjs'

const hooks = [undefined, 'beforeRun', 'beforeModel', 'onEvent', 'afterRun'] // by their numbers on the wire

/** hookNumbers returns the numbers of the hooks that a plugin has. */
export const hookNumbers = (plugin) => hooks.flatMap((hook, n) => (hook && typeof plugin[hook] === 'function' ? [n] : []))

export class Conversation {
  #plugin
  #send
  #sessions = new Sessions()
  #calls = new Map()
  #refusing = false
  #idle

  /**
   * send sends a message; it throws a RangeError if that is too large. drained is called when the host asks
   * the plugin to answer what it has and end.
   */
  constructor(plugin, send, drained) {
    this.#plugin = plugin
    this.#send = send
    this.drained = drained
  }

  /** take takes a message of the host. */
  take(m) {
    if (m.call) this.#call(m.seq, m.call)
    else if (m.cancel) this.#calls.get(m.seq)?.cancel()
    else if (m.ping) this.#send({ pong: {} })
    else if (m.forget) this.#sessions.forget(m.forget.key)
    else if (m.drain) this.drained() // what else there is, is of a later version
  }

  /** log sends a record of the log. */
  log(level, message, attrs) {
    this.#send({ log: { level, message, attrs: attrs && Buffer.from(stringify(attrs)) } })
  }

  /** cancel tells all hooks that nobody waits any more. */
  cancel() {
    for (const call of this.#calls.values()) call.cancel()
  }

  /** end refuses the calls that come from now on, and returns once all others are answered. */
  end() {
    this.#refusing = true
    return new Promise((done) => {
      this.#idle = done
      this.#settle()
    })
  }

  #settle() {
    if (this.#refusing && this.#calls.size === 0) this.#idle?.()
  }

  #call(seq, call) {
    let at
    try {
      at = this.#sessions.take(call)
      if (this.#refusing) throw new Error("the plugin's process is ending")
    } catch (err) {
      this.#fail(seq, new Error(`the host's message: ${err.message}`))
      return
    }
    const running = new Call(call)
    this.#calls.set(seq, running)
    const finish = (answer) => {
      try {
        answer()
      } catch (err) {
        this.#fail(seq, err, 'outcome')
      }
      this.#calls.delete(seq)
      if (this.#refusing) this.#settle()
    }
    try {
      const hook = hooks[call.hook]
      if (!hook || typeof this.#plugin[hook] !== 'function') throw new Error(`the plugin has no hook for this call (${call.hook ?? 0})`)
      const thing = at.request ?? at.event ?? (call.end && endOf(call.end))
      const out = thing === undefined ? this.#plugin[hook](at.invocation, running) : this.#plugin[hook](at.invocation, thing, running)
      if (typeof out?.then !== 'function') finish(() => this.#answer(seq, out, at))
      else out.then((o) => finish(() => this.#answer(seq, o, at)), (err) => finish(() => this.#fail(seq, err)))
    } catch (err) {
      finish(() => this.#fail(seq, err))
    }
  }

  #answer(seq, out, at) {
    this.#send({ seq, outcome: out ? outcomeOf(out, at) : {} })
  }

  #fail(seq, err, ...kinds) {
    const bug = !(err instanceof Error) || [TypeError, ReferenceError, SyntaxError].some((kind) => err instanceof kind)
    if (err?.name === 'AbortError') kinds.push('canceled')
    const stack = bug && kinds.length === 0 ? String(err?.stack ?? err) : ''
    const message = err instanceof Error ? err.message : String(err)
    this.#send({ seq, failure: { error: { message: message.slice(0, 64 << 10) || 'it failed', kinds }, stack } })
  }
}

/** Call is what a hook is told about its call. */
class Call {
  #controller

  constructor(call) {
    this.traceparent = call.traceparent ?? ''
    /** remaining is how long the host waits, in milliseconds. */
    this.remaining = call.remaining ? (call.remaining.seconds ?? 0) * 1e3 + (call.remaining.nanos ?? 0) / 1e6 : Infinity
  }

  /** signal is aborted when nobody waits for the answer any more. */
  get signal() {
    return (this.#controller ??= new AbortController()).signal
  }

  cancel() {
    this.signal // it may be asked for later
    this.#controller.abort()
  }
}

const endOf = (end) => ({ kind: end.kind ?? '', error: end.error ? { message: end.error.message ?? '', kinds: end.error.kinds ?? [] } : null, plugin: end.plugin ?? '', reason: end.reason ?? '' })

const fields = new Set(['replace', 'emit', 'withhold', 'stop', 'reason', 'request'])

function outcomeOf(out, { event, text, request }) {
  const w = {}
  for (const key in out) {
    if (!fields.has(key)) throw new Error(`an outcome has no ${key}; it has ${[...fields].join(', ')}`)
  }
  const json = (e, what, write = stringify) => {
    if (e === null || typeof e !== 'object' || Array.isArray(e)) throw new Error(`${what} is not an event`)
    return Buffer.from(write(e))
  }
  if (out.replace) w.replace = json(out.replace, 'replace', event && ((e) => rewrite(text, event, e)))
  if (out.emit) w.emit = out.emit.map((e, i) => json(e, `emit[${i}]`))
  if (out.withhold) w.withhold = true
  if (out.stop) w.stop = true
  if (out.reason) w.reason = String(out.reason)
  if (out.request) {
    if (!request) throw new Error('only beforeModel may change the request')
    w.request = changed(request, out.request)
  }
  return w
}

/** changed returns a changed request for the wire: what was kept is not sent again. */
function changed(was, is) {
  const contents = is.contents ?? was.contents
  let keep = 0
  while (keep < contents.length && keep < was.contents.length && contents[keep] === was.contents[keep]) keep++
  const w = { model: is.model ?? was.model, stream: is.stream ?? was.stream, keep, contents: contents.slice(keep).map((c) => Buffer.from(stringify(c))) }
  if (is.config !== undefined && is.config !== was.config) w.config = Buffer.from(stringify(is.config))
  return w
}
