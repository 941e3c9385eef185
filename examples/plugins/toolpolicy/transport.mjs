// gRPC by @grpc/grpc-js, with the messages of plugin.proto as @grpc/proto-loader reads them.
import { fileURLToPath } from 'node:url'
import grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'

const proto = loadSync(fileURLToPath(new URL('plughook/plugin.proto', import.meta.url)), { longs: Number, arrays: true })
const own = proto['plughook.plugin.v1.Plugin']

/** frames says that the host may not send frames: it is gRPC that this transport is about. */
export const frames = false

const nothing = Buffer.alloc(0)
const serving = Buffer.from([8, 1])

/** bytesOnly is a method of a service whose messages are not looked into. */
const bytesOnly = (path) => ({ path, requestStream: false, responseStream: false, requestDeserialize: (b) => b, responseSerialize: (b) => b, requestSerialize: (b) => b, responseDeserialize: (b) => b })

/**
 * listen serves a plugin on a socket; messages have at most max bytes. It resolves to what ends it: when the
 * streams have ended.
 */
export function listen(path, max, service) {
  const server = new grpc.Server({ 'grpc.max_receive_message_length': max + (64 << 10), 'grpc.max_send_message_length': max + (64 << 10) })
  const unary = (method) => async (call, answer) => {
    try {
      answer(null, await method(call.request))
    } catch (err) {
      answer({ code: err.code ?? grpc.status.INTERNAL, details: err.message })
    }
  }
  const encode = own.Serve.responseSerialize
  server.addService({ ...own, Serve: { ...own.Serve, responseSerialize: (encoded) => encoded } }, {
    describe: unary(() => service.describe()),
    configure: unary((c) => service.configure(c)),
    serve: (stream) => converse(stream, service, max, encode),
  })
  server.addService({ Shutdown: bytesOnly('/plugin.GRPCController/Shutdown') }, { Shutdown: unary(() => (service.shutdown(), nothing)) })
  server.addService({ Check: bytesOnly('/grpc.health.v1.Health/Check') }, { Check: unary(() => serving) })
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${path}`, grpc.ServerCredentials.createInsecure(), (err) => {
      if (err) reject(err)
      else resolve(() => new Promise((closed) => server.tryShutdown(closed)))
    })
  })
}

/** converse serves the one stream of calls. */
function converse(stream, service, max, encode) {
  const out = {
    send(m) {
      if (stream.destroyed || stream.writableEnded) return
      const data = encode(m)
      if (data.length > max) throw new RangeError(`it has ${data.length} bytes, the limit is ${max}`)
      stream.write(data)
    },
    end: () => stream.end(),
  }
  let conversation
  try {
    conversation = service.serve(out)
  } catch (err) {
    stream.emit('error', { code: err.code ?? grpc.status.INTERNAL, details: err.message })
    return
  }
  stream.on('data', (m) => conversation.take(m))
  for (const end of ['end', 'cancelled', 'error']) stream.on(end, () => service.gone())
}
