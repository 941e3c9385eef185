// What nobody changed of a value of JSON is written as it was read, to the byte: 1.0 and 1e400 have no other way
// through JavaScript's numbers.
import { stringEnd, stringify } from './json.mjs'

/** rewrite writes a value, which was made of another by copying; text is what that was read from. */
export function rewrite(text, was, is) {
  return write(text, [skipSpace(text, 0), text.length], was, is)
}

function write(text, [start, end], was, is) {
  if (was === is) return text.slice(start, end)
  const both = [was, is].every((v) => v !== null && typeof v === 'object' && typeof v.toJSON !== 'function')
  if (!both || Array.isArray(was) !== Array.isArray(is)) return is === undefined ? 'null' : stringify(is)
  const spans = members(text, start)
  const one = (key, v) => (spans.has(key) ? write(text, spans.get(key), was[key], v) : v === undefined ? 'null' : stringify(v))
  if (Array.isArray(is)) return `[${Array.from(is, (v, i) => one(i, v)).join(',')}]`
  return `{${Object.entries(is).filter(([, v]) => v !== undefined).map(([key, v]) => `${JSON.stringify(key)}:${one(key, v)}`).join(',')}}`
}

/** members returns where the values of an object or an array are that begins there, by key or index. */
function members(text, start) {
  const spans = new Map()
  const object = text[start] === '{'
  let at = skipSpace(text, start + 1)
  for (let index = 0; text[at] !== '}' && text[at] !== ']'; index++) {
    let key = index
    if (object) {
      const end = stringEnd(text, at)
      key = JSON.parse(text.slice(at, end))
      at = skipSpace(text, skipSpace(text, end) + 1) // and the colon
    }
    const end = valueEnd(text, at)
    spans.set(key, [at, end])
    at = skipSpace(text, end)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return spans
}

function valueEnd(text, at) {
  if (text[at] === '"') return stringEnd(text, at)
  if (text[at] !== '{' && text[at] !== '[') {
    const plain = /[^\s,}\]]*/y
    plain.lastIndex = at
    plain.exec(text)
    return plain.lastIndex
  }
  const next = /["{}[\]]/g
  next.lastIndex = at
  for (let depth = 0, m; (m = next.exec(text)); ) {
    if (m[0] === '"') next.lastIndex = stringEnd(text, m.index)
    else if ('{['.includes(m[0])) depth++
    else if (--depth === 0) return next.lastIndex
  }
  return text.length
}

function skipSpace(text, at) {
  while (' \n\r\t'.includes(text[at] ?? '.')) at++
  return at
}
