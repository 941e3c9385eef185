// What the host speaks, on a Unix socket: gRPC over HTTP/2, as much of it as a plugin needs, with what Node.js has;
// and frames, which are faster.
import http2 from 'node:http2'
import net from 'node:net'
import { bare, converse, frame, grpc, reader } from './frames.mjs'
import * as pb from './protobuf.mjs'

const preface = Buffer.from('plughook frames 1\r\n')
const window = 4 << 20 // of flow control: a large event passes without waiting
const unimplemented = 12, internal = 13

/** frames says that the host may send frames. */
export const frames = true

/**
 * listen serves a plugin on a socket; messages have at most max bytes. It resolves to what ends it: when the
 * streams have ended.
 */
export function listen(path, max, service) {
  const unary = {
    '/plughook.plugin.v1.Plugin/Describe': [pb.Host, pb.Description, () => service.describe()],
    '/plughook.plugin.v1.Plugin/Configure': [pb.Configuration, pb.Subscription, (c) => service.configure(c)],
    '/plugin.GRPCController/Shutdown': [pb.Empty, pb.Empty, () => service.shutdown()],
    '/grpc.health.v1.Health/Check': [pb.Empty, pb.Health, () => ({ status: 1 })],
  }
  const calls = http2.createServer({ settings: { initialWindowSize: window, maxConcurrentStreams: 100 }, maxSessionMemory: 1000 })
  const sessions = new Set()
  calls.on('session', (s) => {
    sessions.add(s)
    s.setLocalWindowSize(window)
    s.on('close', () => sessions.delete(s))
    s.on('error', () => {}) // the host is gone: the stream says so
  })
  calls.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    const method = unary[headers[':path']]
    if (method) answer(stream, method, max)
    else if (headers[':path'] === '/plughook.plugin.v1.Plugin/Serve') serve(stream, service, max)
    else fail(stream, unimplemented, `there is no ${headers[':path']}`)
  })
  const server = net.createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {})
    route(socket, () => calls.emit('connection', socket), () => serveFrames(socket, service, max))
  })
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    server.listen(path, () => resolve(() => new Promise((closed) => {
      server.close(closed)
      for (const s of sessions) s.close()
    })))
  })
}

/** route hands a new connection to who speaks what its first bytes are. */
function route(socket, toHTTP, toFrames) {
  let seen = Buffer.alloc(0)
  const look = () => {
    for (let more = socket.read(); more; more = socket.read()) seen = Buffer.concat([seen, more])
    const n = Math.min(seen.length, preface.length)
    const ours = seen.subarray(0, n).equals(preface.subarray(0, n))
    if (ours && n < preface.length) return
    socket.off('readable', look)
    if (ours) seen = seen.subarray(n)
    if (seen.length > 0) socket.unshift(seen)
    if (ours) toFrames()
    else toHTTP()
  }
  socket.on('readable', look)
}

/** serveFrames serves the stream of calls on a connection of its own. */
function serveFrames(socket, service, max) {
  try {
    socket.on('data', converse(bare, socket, service, max, () => socket.destroy()))
  } catch (err) {
    console.error(`plughook: ${err.message}`)
    socket.destroy()
  }
}

/** serve serves the stream of calls. */
function serve(stream, service, max) {
  try {
    const take = converse(grpc, stream, service, max, () => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR))
    begin(stream)
    stream.on('data', take)
  } catch (err) {
    fail(stream, err.code ?? internal, err.message)
  }
}

/** answer answers a call of one message with one message. */
function answer(stream, [ask, reply, method], max) {
  const take = reader(grpc, max, async (data) => {
    try {
      const m = await method(pb.decode(ask, data))
      begin(stream)
      stream.end(frame(grpc, reply, m))
    } catch (err) {
      fail(stream, err.code ?? internal, err.message)
    }
  })
  stream.on('data', (chunk) => {
    try {
      take(chunk)
    } catch (err) {
      fail(stream, err.code ?? internal, err.message)
    }
  })
}

const headers = (extra) => ({ ':status': 200, 'content-type': 'application/grpc', ...extra })

function begin(stream) {
  if (stream.destroyed) return
  stream.respond(headers(), { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
}

function fail(stream, code, text) {
  if (stream.destroyed || stream.headersSent) return
  stream.respond(headers({ 'grpc-status': String(code), 'grpc-message': encodeURIComponent(Buffer.from(text).toString()) }), { endStream: true })
  stream.resume()
}
