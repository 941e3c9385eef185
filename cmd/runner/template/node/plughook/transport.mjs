// gRPC over HTTP/2 on a Unix socket, as much of it as a plugin needs, with what Node.js has.
import http2 from 'node:http2'
import * as pb from './protobuf.mjs'

const window = 4 << 20 // of flow control: a large event passes without waiting
const unimplemented = 12, internal = 13, exhausted = 8

/**
 * listen serves a plugin on a socket; messages have at most max bytes. It resolves to what ends it: when the
 * streams have ended, or at once if they do not.
 */
export function listen(path, max, service) {
  const unary = {
    '/plughook.plugin.v1.Plugin/Describe': [pb.Host, pb.Description, () => service.describe()],
    '/plughook.plugin.v1.Plugin/Configure': [pb.Configuration, pb.Subscription, (c) => service.configure(c)],
    '/plugin.GRPCController/Shutdown': [pb.Empty, pb.Empty, () => service.shutdown()],
    '/grpc.health.v1.Health/Check': [pb.Empty, pb.Health, () => ({ status: 1 })],
  }
  const server = http2.createServer({ settings: { initialWindowSize: window, maxConcurrentStreams: 100 }, maxSessionMemory: 1000 })
  const sessions = new Set()
  server.on('session', (s) => {
    sessions.add(s)
    s.setLocalWindowSize(window)
    s.on('close', () => sessions.delete(s))
    s.on('error', () => {}) // the host is gone: the stream says so
  })
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    const method = unary[headers[':path']]
    if (method) answer(stream, method, max)
    else if (headers[':path'] === '/plughook.plugin.v1.Plugin/Serve') converse(stream, service, max)
    else fail(stream, unimplemented, `there is no ${headers[':path']}`)
  })
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    server.listen(path, () => resolve(() => new Promise((closed) => {
      server.close(closed)
      for (const s of sessions) s.close()
    })))
  })
}

/** answer answers a call of one message with one message. */
function answer(stream, [ask, reply, method], max) {
  const take = frames(max, async (data) => {
    try {
      const m = await method(pb.decode(ask, data))
      begin(stream, 0)
      stream.end(frame(reply, m))
    } catch (err) {
      fail(stream, err.code ?? internal, err.message)
    }
  })
  stream.on('data', (chunk) => guarded(stream, () => take(chunk)))
}

/** converse serves the one stream of calls. */
function converse(stream, service, max) {
  const out = {
    send(m) {
      if (stream.destroyed || stream.writableEnded) return
      const data = frame(pb.PluginMessage, m)
      if (data.length - 5 > max) throw new RangeError(`it has ${data.length - 5} bytes, the limit is ${max}`)
      stream.write(data)
    },
    end: () => stream.end(),
  }
  let conversation
  try {
    conversation = service.serve(out)
  } catch (err) {
    fail(stream, err.code ?? internal, err.message)
    return
  }
  begin(stream, 0)
  const take = frames(max, (data) => conversation.take(pb.decode(pb.HostMessage, data)))
  stream.on('data', (chunk) => guarded(stream, () => take(chunk)))
  stream.on('end', () => service.gone())
  stream.on('close', () => service.gone())
}

/** guarded ends a stream on which something comes that is not understood. */
function guarded(stream, take) {
  try {
    take()
  } catch (err) {
    console.error(`plughook: ${err.stack}`)
    if (stream.headersSent) stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
    else fail(stream, err.code ?? internal, err.message)
  }
}

const headers = (extra) => ({ ':status': 200, 'content-type': 'application/grpc', ...extra })

function begin(stream, code) {
  if (stream.destroyed) return
  stream.respond(headers(), { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(code) }))
}

function fail(stream, code, text) {
  if (stream.destroyed) return
  stream.respond(headers({ 'grpc-status': String(code), 'grpc-message': encodeURIComponent(text.toWellFormed()) }), { endStream: true })
  stream.resume()
}

/** frame returns a message as it goes over a stream: a byte that says it is not compressed, its length, it. */
function frame(type, m) {
  const n = pb.size(type, m)
  const b = Buffer.allocUnsafe(5 + n)
  b[0] = 0
  b.writeUInt32BE(n, 1)
  pb.encode(type, m, b, 5)
  return b
}

/** frames returns what takes a stream's bytes in pieces and calls take with each message. */
function frames(max, take) {
  let pieces = [], have = 0, want = 5
  return (chunk) => {
    pieces.push(chunk)
    have += chunk.length
    if (have < want) return
    let b = pieces.length === 1 ? chunk : Buffer.concat(pieces)
    let at = 0
    for (want = 5; b.length - at >= want; want = 5) {
      const n = b.readUInt32BE(at + 1)
      if (b[at] !== 0) throw Object.assign(new Error('a message is compressed'), { code: unimplemented })
      if (n > max + (64 << 10)) throw Object.assign(new Error(`a message has ${n} bytes, the limit is ${max}`), { code: exhausted })
      want = 5 + n
      if (b.length - at < want) break
      take(b.subarray(at + 5, at + want))
      at += want
    }
    b = b.subarray(at)
    pieces = b.length ? [b] : []
    have = b.length
  }
}
