// A plugin of Plughook in Node.js, 18 or later. This file, and those beside it, are not to be changed: plugin.mjs is.
import fs from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { Conversation, hookNumbers } from './conversation.mjs'
import { parse, stringify } from './json.mjs'
import { frames, listen } from './transport.mjs'

const invalid = 3, precondition = 9
const endWithin = 5000 // ms: how long the process may take to end once it is to

let conversation // once there is one

/** log logs to the host. attrs is an object, or absent. */
export const log = Object.fromEntries(['debug', 'info', 'warn', 'error'].map((level) => [level, (message, attrs) => {
  if (conversation) conversation.log(level.toUpperCase(), String(message), attrs)
  else process.stderr.write(stringify({ level: level.toUpperCase(), msg: String(message), ...attrs }) + '\n')
}]))

/** deny returns the outcome that ends a run with a refusal in place of the thing at hand. */
export function deny(text, reason) {
  const refusal = { content: { role: 'model', parts: [{ text }] }, errorCode: 'DENIED', errorMessage: reason }
  return { emit: [refusal], withhold: true, stop: true, reason }
}

/** mapText returns an event with its texts changed, or the event itself if none was. */
export function mapText(event, change) {
  let same = true
  const parts = event.content?.parts?.map((part) => {
    if (typeof part?.text !== 'string') return part
    const text = change(part.text)
    same &&= text === part.text
    return { ...part, text }
  })
  return same ? event : { ...event, content: { ...event.content, parts } }
}

/**
 * serve is the whole main of a plugin: { name, version, doc, schema, create(settings) }, where schema is the JSON
 * Schema of the settings, and create returns the hooks beforeRun(invocation, call), beforeModel(invocation,
 * request, call), onEvent(invocation, event, call), afterRun(invocation, end, call), each of them optional, and
 * filter, partials, observer, background, sharedState and close(), as they are. A hook returns an outcome, a promise of one,
 * or nothing; what it throws fails the call.
 */
export async function serve(plugin) {
  const started = process.env.PLUGHOOK_PLUGIN === 'v1'
  const attach = started ? '' : process.env.PLUGHOOK_ATTACH // where it waits for the runner that a developer starts
  if (!started && !attach) {
    const socket = `/tmp/${plugin.name}.sock`
    console.error(`${plugin.name} is a plugin of Plughook. It is not started by hand: a runner starts it, whose configuration names it:\n\n` +
      `    plugins:\n      - command: [node, ${process.argv[1]}]\n\n` +
      `To run it under a debugger, have it listen at a socket, to which a runner attaches:\n\n` +
      `    PLUGHOOK_ATTACH=${socket} node --inspect ${process.argv[1]}\n\n    plugins:\n      - attach: ${socket}\n`)
    process.exit(2)
  }
  const max = Number(process.env.PLUGHOOK_MAX_MESSAGE) || 64 << 20
  const life = new Life(plugin)
  process.on('SIGTERM', () => life.end())
  if (attach) process.on('SIGINT', () => life.gone())
  else {
    for (const end of ['end', 'close', 'error']) process.stdin.on(end, () => life.gone())
    process.stdin.resume()
  }
  for (const out of [process.stdout, process.stderr]) out.on('error', () => {}) // nobody reads it
  process.on('unhandledRejection', (err) => log.error('a promise was rejected, and nobody waited for it', { error: String(err?.stack ?? err) }))
  if (attach) {
    if (fs.lstatSync(attach, { throwIfNoEntry: false })?.isSocket()) fs.unlinkSync(attach) // left by one that was killed
    life.close = await listen(attach, max, life)
    fs.chmodSync(attach, 0o600)
    console.error(`plugin ${plugin.name} waits for a runner that has, in place of its command:\n\n    plugins:\n      - attach: ${attach}\n`)
    return
  }
  const socket = path.join(process.env.PLUGIN_UNIX_SOCKET_DIR ?? '.', `plugin-${process.pid}.sock`)
  life.close = await listen(socket, max, life)
  process.stdout.write(`\n1|1|unix|${socket}|grpc\n`)
}

/** Life is what the host calls, in this order: describe, configure, serve; and how the plugin ends. */
class Life {
  #about
  #plugin // once it has its settings
  #out // the stream
  #ending = false

  constructor(about) {
    this.#about = about
  }

  describe() {
    const { name, version = '', doc = '', schema } = this.#about
    return { protocol: 1, name, version, doc, frames, settings: schema && Buffer.from(stringify(schema)) }
  }

  async configure({ settings, name }) {
    if (this.#plugin) throw Object.assign(new Error('the plugin has its settings'), { code: precondition })
    try {
      const made = await this.#about.create(settings?.length ? parse(settings.toString()) : {}, { name })
      const hooks = hookNumbers(made)
      if (hooks.length === 0) throw new Error('the plugin has no hook')
      this.#plugin = made
      const { partials, observer, background, sharedState, filter } = made
      return { hooks, partials, observer, background, sharedState, filter }
    } catch (err) {
      throw Object.assign(new Error(err?.message ?? String(err)), { code: invalid })
    }
  }

  serve(out) {
    if (!this.#plugin || this.#out || this.#ending) throw Object.assign(new Error('Configure comes before Serve, and Serve once'), { code: precondition })
    this.#out = out
    conversation = new Conversation(this.#plugin, out.send, () => this.end())
    return conversation
  }

  shutdown() {
    this.end()
    return {}
  }

  /** gone is called when the host is gone: nobody waits for hooks. */
  gone() {
    conversation?.cancel()
    this.end()
  }

  /** end ends the process once the calls are answered. */
  async end() {
    if (this.#ending) return
    this.#ending = true
    setTimeout(() => process.exit(1), endWithin).unref()
    let code = 0
    await conversation?.end()
    try {
      await this.#plugin?.close?.()
    } catch (err) {
      log.error('the plugin did not close well', { error: String(err?.stack ?? err) })
      code = 1
    }
    this.#out?.end()
    setTimeout(() => process.exit(code), 100).unref() // a host that does not close its streams does not hold us up
    await this.close?.()
    process.exit(code)
  }
}
