// A plugin that does what an event's text tells it to.
import { deny, log, mapText, serve } from './plughook/plughook.mjs'

const said = (text) => ({ emit: [{ content: { role: 'model', parts: [{ text: String(text) }] } }] })
let release

const does = {
  nothing: () => undefined,
  now: (inv) => { inv.now.setFullYear(1970); return said(inv.now.toISOString()) },
  throw: () => { throw new Error('no luck') },
  reject: async () => { throw new Error('no luck later') },
  bug: () => undefined.nothing,
  value: () => { throw 'a string' },
  freeze: (inv, e) => { e.author = 'me' },
  freezeDeep: (inv, e) => { e.content.parts[0].text = 'changed' },
  freezeLive: (inv) => { inv.live.push({}) },
  freezeState: (inv) => { inv.state.a = 1 },
  denied: () => deny('no', 'why not'),
  shout: (inv, e) => ({ replace: mapText(e, (t) => t.toUpperCase()), reason: 'loud' }),
  bad: () => ({ replaced: {} }),
  badEmit: () => ({ emit: ['text'] }),
  circular: () => { const e = {}; e.e = e; return { replace: e } },
  big: () => said('x'.repeat(1 << 20)),
  hang: (inv, e, call) => new Promise((_, reject) => call.signal.addEventListener('abort', () => {
    console.error('hang was cancelled')
    reject(new Error('cancelled'))
  })),
  wait: () => new Promise((done) => { release = done }),
  release: () => release(),
  stray: () => { Promise.reject(new Error('nobody waits for it')) },
  exit: () => process.exit(7),
  block: () => { for (;;); },
  log: () => { log.warn('something odd', { count: 3 }); console.log('on stdout') },
  what: (inv, e, call) => said(JSON.stringify([inv.id, inv.key, inv.config, inv.position, inv.input?.id ?? null, inv.live.map((l) => `${l.seq}:${l.id}`), inv.state, call.remaining > 0, call.traceparent],
    (_, v) => typeof v === 'bigint' ? `${v}n` : v)),
}

serve({
  name: 'odd',
  version: '1',
  doc: 'does what it is told',
  schema: { type: 'object', properties: { refuse: { type: 'boolean' }, slow: { type: 'boolean' } }, additionalProperties: false },
  create(settings) {
    if (settings.refuse) throw new Error('refuse: this is not done here')
    return {
      onEvent: (inv, e, call) => does[e.content.parts[0].text.split(' ')[0]](inv, e, call),
      beforeModel: (inv, request) => ({ request: { ...request, model: request.model + '!', contents: [...request.contents.slice(0, -1), { role: 'user', parts: [{ text: `${request.contents.length} contents` }] }] } }),
      afterRun: (inv, end) => said(JSON.stringify(end)),
      close: async () => console.error('closed'),
    }
  },
})
