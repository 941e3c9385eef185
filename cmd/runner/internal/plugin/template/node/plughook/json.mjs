// JSON as plugins see it: whole numbers beyond 2^53 are read as BigInt, and written as they were.
import { randomUUID } from 'node:crypto'

// mark begins the string that stands in for such a number while JSON.parse and JSON.stringify work.
const mark = `plughook:${randomUUID()}:`
const marked = new RegExp(`"${mark}(-?\\d+)"`, 'g')
const long = /(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g

/** parse reads JSON text. */
export function parse(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  return JSON.parse(markLong(text), (_, v) => (typeof v === 'string' && v.startsWith(mark) ? BigInt(v.slice(mark.length)) : v))
}

/** stringify writes a value as JSON text. */
export function stringify(value) {
  let text
  try {
    text = JSON.stringify(value)
  } catch (err) {
    if (!String(err.message).includes('BigInt')) throw err
    text = JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? mark + v : v)).replace(marked, '$1')
  }
  if (text === undefined) throw new TypeError(`${typeof value} is not JSON`)
  return text
}

/** markLong puts strings where numbers are that a double cannot hold. */
function markLong(text) {
  const out = []
  for (let at = 0; at < text.length; ) {
    const open = text.indexOf('"', at)
    out.push(text.slice(at, open < 0 ? text.length : open).replace(long, (n) => (Number.isSafeInteger(Number(n)) ? n : `"${mark}${n}"`)))
    if (open < 0) break
    at = stringEnd(text, open)
    out.push(text.slice(open, at))
  }
  return out.join('')
}

/** stringEnd returns where the string that opens there has ended. */
export function stringEnd(text, open) {
  for (let close = text.indexOf('"', open + 1); close >= 0; close = text.indexOf('"', close + 1)) {
    let slashes = 0
    while (text[close - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return close + 1
  }
  return text.length // JSON.parse says what is wrong
}
