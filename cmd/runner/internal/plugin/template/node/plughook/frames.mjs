// Messages on a stream of bytes, each after its length in four bytes. gRPC has one byte more before that, which
// says that the message is not compressed.
import * as pb from './protobuf.mjs'

export const bare = 4, grpc = 5 // bytes before a message
const unimplemented = 12, exhausted = 8

/** frame returns a message as it goes over a stream. */
export function frame(head, type, m) {
  const n = pb.size(type, m)
  const b = Buffer.allocUnsafe(head + n)
  b[0] = 0
  b.writeUInt32BE(n, head - 4)
  pb.encode(type, m, b, head)
  return b
}

/** reader returns what takes a stream's bytes in pieces and calls take with each message of at most max bytes. */
export function reader(head, max, take) {
  let pieces = [], have = 0, want = head
  return (chunk) => {
    pieces.push(chunk)
    have += chunk.length
    if (have < want) return
    const b = pieces.length === 1 ? chunk : Buffer.concat(pieces)
    let at = 0
    for (want = head; b.length - at >= want; want = head) {
      const n = b.readUInt32BE(at + head - 4)
      if (head === grpc && b[at] !== 0) throw Object.assign(new Error('a message is compressed'), { code: unimplemented })
      if (n > max + (64 << 10)) throw Object.assign(new Error(`a message has ${n} bytes, the limit is ${max}`), { code: exhausted })
      want = head + n
      if (b.length - at < want) break
      take(b.subarray(at + head, at + want))
      at += want
    }
    pieces = at < b.length ? [b.subarray(at)] : []
    have = b.length - at
  }
}

/**
 * converse has a conversation on a stream, and returns what takes its bytes. What cannot be understood is passed to
 * broken.
 */
export function converse(head, stream, service, max, broken) {
  const conversation = service.serve({
    send(m) {
      if (stream.destroyed || stream.writableEnded) return
      const data = frame(head, pb.PluginMessage, m)
      if (data.length - head > max) throw new RangeError(`it has ${data.length - head} bytes, the limit is ${max}`)
      stream.write(data)
    },
    end: () => stream.end(),
  })
  const take = reader(head, max, (data) => conversation.take(pb.decode(pb.HostMessage, data)))
  stream.on('end', () => service.gone())
  stream.on('close', () => service.gone())
  return (chunk) => {
    stream.cork() // what is answered at once goes out at once
    try {
      take(chunk)
    } catch (err) {
      console.error(`plughook: ${err.stack}`)
      broken(err)
    }
    stream.uncork()
  }
}
