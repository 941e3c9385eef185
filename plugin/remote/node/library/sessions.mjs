// What the plugin has of the sessions: the host sends each event and each state key once, and this keeps them.
import { parse } from './json.mjs'

/** Sessions takes in what calls bring, in the order in which they come. */
export class Sessions {
  #sessions = new Map()

  /** take takes in a call and returns what its hook is called with. It throws if the host has told it nonsense. */
  take(call) {
    const inv = call.invocation ?? {}
    const name = nameOf(inv.key)
    let s = this.#sessions.get(name)
    if (!s || inv.fresh) this.#sessions.set(name, (s = new Session()))
    s.take(inv)
    const invocation = new Invocation(inv, s)
    let event, text, request
    if (call.event?.length) {
      text = call.event.toString()
      event = frozen(parse(text))
      if (event.id && !event.partial) s.offered.set(event.id, event)
    }
    if (call.request) request = s.request(call.request)
    if (call.end) s.offered.clear()
    return { invocation, event, text, request }
  }

  /** forget drops a session: it will be sent anew. */
  forget(key) {
    this.#sessions.delete(nameOf(key))
  }
}

const nameOf = (key) => `${key?.app ?? ''}\0${key?.user ?? ''}\0${key?.id ?? ''}`

class Session {
  events = new Map() // by position
  offered = new Map() // by id: seen in onEvent, not known to be in the log
  live = [] // grows at its end, or is made anew
  spans = []
  state = Object.freeze({})
  contents = [] // of the last model request
  run // the invocation of the last call

  take(inv) {
    for (const data of inv.events ?? []) {
      const e = frozen(parse(data.toString()))
      this.events.set(e.seq, e)
    }
    for (const { id, seq } of inv.appended ?? []) {
      const e = this.offered.get(id)
      if (!e) throw new Error(`event ${id} at ${seq} was never offered`)
      this.offered.delete(id)
      this.events.set(seq, Object.freeze({ ...e, seq }))
    }
    this.#setLive(inv.live ?? [])
    if (inv.state?.length) {
      const state = { ...this.state, ...parse(inv.state.toString()) }
      for (const key in state) if (state[key] === null) delete state[key]
      this.state = frozen(state)
    }
    this.#drop(inv)
  }

  /** drop drops what the host sends again if it is needed: events that are neither live nor the input, and what
   * was offered in an earlier invocation. */
  #drop(inv) {
    if (this.events.size > this.live.length + 1) {
      const kept = new Map(this.live.map((e) => [e.seq, e]))
      if (inv.input) kept.set(inv.input, this.at(inv.input))
      this.events = kept
    }
    if (this.run !== inv.id) {
      this.run = inv.id
      this.offered.clear()
    }
  }

  #setLive(spans) {
    const was = this.spans
    const same = (i) => spans[i].first === was[i].first && spans[i].last === was[i].last
    let n = 0
    while (n < spans.length && n < was.length && same(n)) n++
    if (n === spans.length && n === was.length) return
    let from = 0 // where the last span goes on
    if (was.length && n === was.length - 1 && n < spans.length && spans[n].first === was[n].first && spans[n].last > was[n].last) {
      from = was[n].last + 1
    } else if (n < was.length) {
      this.live = []
      n = 0
    }
    for (const { first, last } of spans.slice(n)) {
      for (let seq = Math.max(first, from); seq <= last; seq++) {
        this.live.push(this.at(seq))
      }
      from = 0
    }
    this.spans = spans
  }

  at(seq) {
    const e = this.events.get(seq)
    if (!e) throw new Error(`the event at ${seq} was never sent`)
    return e
  }

  request(r) {
    const keep = r.keep ?? 0
    if (keep > this.contents.length) throw new Error(`the request keeps ${keep} contents of ${this.contents.length}`)
    const more = (r.contents ?? []).map((c) => frozen(parse(c.toString())))
    this.contents = Object.freeze([...this.contents.slice(0, keep), ...more])
    const config = r.config?.length ? frozen(parse(r.config.toString())) : null
    return Object.freeze({ agent: r.agent ?? '', branch: r.branch ?? '', model: r.model ?? '', stream: !!r.stream, config, contents: this.contents })
  }
}

/** Invocation is the invocation as it is when a hook is called. Nothing in it can be changed. */
class Invocation {
  #all
  #length
  #live
  #now

  constructor(inv, session) {
    this.id = inv.id ?? ''
    this.key = { app: inv.key?.app ?? '', user: inv.key?.user ?? '', id: inv.key?.id ?? '' }
    this.config = { create: !!inv.create, streaming: inv.streaming ?? '' }
    this.position = inv.position ?? 0
    this.frontier = inv.frontier ?? 0
    this.state = session.state
    this.input = inv.input ? session.at(inv.input) : null
    this.#all = session.live
    this.#length = session.live.length
    this.#now = inv.now ? Number(inv.now.seconds ?? 0) * 1e3 + Math.floor((inv.now.nanos ?? 0) / 1e6) : Date.now()
    Object.freeze(this)
  }

  /** now is when the hook was called, by the runner's clock: count by it, and not by Date.now(). */
  get now() {
    return new Date(this.#now)
  }

  /** live is the live view: the events that count, in order. */
  get live() {
    return (this.#live ??= Object.freeze(this.#all.slice(0, this.#length)))
  }
}

/** frozen returns a value of JSON that nothing can change any more: hooks share it. */
function frozen(value) {
  if (value !== null && typeof value === 'object') {
    for (const v of Object.values(value)) if (v !== null && typeof v === 'object') frozen(v)
    Object.freeze(value)
  }
  return value
}
