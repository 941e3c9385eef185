// The messages of plugin.proto in Protocol Buffers' encoding, and no others. Fields that are not listed here
// are skipped when they come. Absent fields are undefined, lists are arrays.

const uint = 'uint', bool = 'bool', string = 'string', bytes = 'bytes'

/** message describes a message: its fields by number, each [name, type, repeated]. */
function message(fields) {
  const list = Object.entries(fields).map(([n, [name, type, repeated]]) => ({ name, type, repeated, n: Number(n), tag: Number(n) * 8 + (type === uint || type === bool ? 0 : 2) }))
  return { list, byNumber: new Map(list.map((f) => [f.n, f])), lists: list.filter((f) => f.repeated) }
}

const Key = message({ 1: ['app', string], 2: ['user', string], 3: ['id', string] })
const Err = message({ 1: ['message', string], 2: ['kinds', string, true], 3: ['plugin', string], 4: ['hook', string] })
const Request = message({ 1: ['agent', string], 2: ['branch', string], 3: ['model', string], 4: ['stream', bool], 5: ['config', bytes], 6: ['keep', uint], 7: ['contents', bytes, true] })
const time = message({ 1: ['seconds', uint], 2: ['nanos', uint] })
const Invocation = message({
  1: ['id', string], 2: ['key', Key], 3: ['create', bool], 4: ['streaming', string], 5: ['position', uint], 6: ['frontier', uint], 7: ['input', uint],
  8: ['live', message({ 1: ['first', uint], 2: ['last', uint] }), true],
  9: ['events', bytes, true],
  10: ['appended', message({ 1: ['id', string], 2: ['seq', uint] }), true],
  11: ['state', bytes], 12: ['fresh', bool], 13: ['now', time],
})
const Call = message({
  1: ['hook', uint], 2: ['remaining', time], 3: ['traceparent', string], 4: ['invocation', Invocation],
  5: ['event', bytes], 6: ['request', Request], 7: ['end', message({ 1: ['kind', string], 2: ['error', Err], 3: ['plugin', string], 4: ['reason', string] })],
})
const Outcome = message({ 1: ['replace', bytes], 2: ['emit', bytes, true], 3: ['withhold', bool], 4: ['stop', bool], 5: ['reason', string], 6: ['unchecked', string], 7: ['request', Request] })
const Log = message({ 1: ['level', string], 2: ['message', string], 3: ['attrs', bytes] })

export const Empty = message({})
export const Host = message({ 1: ['protocol', uint] })
export const Description = message({ 1: ['protocol', uint], 2: ['name', string], 3: ['version', string], 4: ['doc', string], 5: ['settings', bytes], 6: ['frames', bool] })
export const Configuration = message({ 1: ['settings', bytes], 2: ['name', string] })
const Filter = message({ 1: ['authors', string, true], 2: ['has', string, true] })
export const Subscription = message({ 1: ['hooks', uint, true], 2: ['partials', bool], 3: ['observer', bool], 4: ['background', bool], 5: ['filter', Filter], 6: ['sharedState', bool] })
export const HostMessage = message({ 1: ['seq', uint], 2: ['call', Call], 3: ['cancel', Empty], 4: ['ping', Empty], 5: ['drain', Empty], 6: ['forget', message({ 1: ['key', Key] })] })
export const PluginMessage = message({ 1: ['seq', uint], 2: ['outcome', Outcome], 3: ['failure', message({ 1: ['error', Err], 2: ['stack', string] })], 4: ['pong', Empty], 5: ['log', Log] })
export const Health = message({ 1: ['status', uint] })

/** decode reads a message. Its bytes share the buffer's memory. */
export function decode(type, b, at = 0, end = b.length) {
  const m = {}
  for (const f of type.lists) m[f.name] = []
  const r = { b, at, end }
  while (r.at < end) {
    const tag = varint(r)
    const f = type.byNumber.get(Math.floor(tag / 8))
    if (f?.repeated && f.type === uint && tag % 8 === 2) { // packed
      const n = varint(r)
      for (const stop = r.at + n; r.at < stop; ) m[f.name].push(varint(r))
      continue
    }
    if (!f || f.tag !== tag) {
      skip(r, tag % 8)
      continue
    }
    const v = value(r, f.type)
    if (f.repeated) m[f.name].push(v)
    else m[f.name] = v
  }
  return m
}

function value(r, type) {
  if (type === uint) return varint(r)
  if (type === bool) return varint(r) !== 0
  const n = varint(r)
  const from = r.at
  advance(r, n)
  if (type === string) return n === 0 ? '' : r.b.toString('utf8', from, r.at)
  if (type === bytes) return r.b.subarray(from, r.at)
  return decode(type, r.b, from, r.at)
}

function varint(r) {
  let low = 0, high = 0
  for (let shift = 0; ; shift += 7) {
    if (r.at >= r.end || shift > 63) throw new Error('protobuf: a number is cut off')
    const byte = r.b[r.at++]
    if (shift < 28) low += (byte & 127) * 2 ** shift
    else high += (byte & 127) * 2 ** (shift - 28)
    if (byte < 128) break
  }
  const n = low + high * 2 ** 28
  return n >= 2 ** 63 ? low + (high - 2 ** 36) * 2 ** 28 : n // below zero
}

function advance(r, n) {
  if (n < 0 || r.at + n > r.end) throw new Error('protobuf: a field is cut off')
  r.at += n
}

function skip(r, wire) {
  if (wire === 0) varint(r)
  else if (wire === 1) advance(r, 8)
  else if (wire === 2) advance(r, varint(r))
  else if (wire === 5) advance(r, 4)
  else throw new Error(`protobuf: wire type ${wire}`)
}

/** size returns how many bytes a message takes. */
export function size(type, m) {
  let n = 0
  for (const f of type.list) {
    const v = m[f.name]
    if (f.repeated) for (const one of v ?? []) n += fieldSize(f, one)
    else if (present(f, v)) n += fieldSize(f, v)
  }
  return n
}

/** encode writes a message into a buffer, from an offset on, and returns where it ends. */
export function encode(type, m, b, at = 0) {
  for (const f of type.list) {
    const v = m[f.name]
    if (f.repeated) for (const one of v ?? []) at = put(f, one, b, at)
    else if (present(f, v)) at = put(f, v, b, at)
  }
  return at
}

const present = (f, v) => v !== undefined && v !== null && (typeof f.type === 'object' || (typeof v === 'object' ? v.length > 0 : !!v))

const varintSize = (n) => (n < 128 ? 1 : n < 16384 ? 2 : n < 2097152 ? 3 : n < 268435456 ? 4 : Math.ceil(Math.log2(n + 1) / 7))

function length(type, v) {
  if (type === string) return Buffer.byteLength(v)
  return type === bytes ? v.length : size(type, v)
}

function fieldSize(f, v) {
  if (f.type === uint) return varintSize(f.tag) + varintSize(v)
  if (f.type === bool) return varintSize(f.tag) + 1
  const n = length(f.type, v)
  return varintSize(f.tag) + varintSize(n) + n
}

function put(f, v, b, at) {
  at = putVarint(f.tag, b, at)
  if (f.type === uint) return putVarint(v, b, at)
  if (f.type === bool) return putVarint(v ? 1 : 0, b, at)
  at = putVarint(length(f.type, v), b, at)
  if (f.type === string) return at + b.write(v, at)
  if (f.type === bytes) return at + v.copy(b, at)
  return encode(f.type, v, b, at)
}

function putVarint(n, b, at) {
  for (; n >= 128; n = Math.floor(n / 128)) b[at++] = (n % 128) | 128
  b[at++] = n
  return at
}
