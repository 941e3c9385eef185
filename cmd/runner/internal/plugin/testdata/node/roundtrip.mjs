// Reads messages, each after a byte that says of which type and its length, and writes each as it has read it.
import * as pb from './plughook/protobuf.mjs'

const types = [pb.HostMessage, pb.PluginMessage, pb.Configuration, pb.Subscription, pb.Description]
let input = Buffer.alloc(0)
process.stdin.on('data', (chunk) => {
  input = Buffer.concat([input, chunk])
  while (input.length >= 5 && input.length >= 5 + input.readUInt32BE(1)) {
    const type = types[input[0]]
    const end = 5 + input.readUInt32BE(1)
    const m = pb.decode(type, input, 5, end)
    const out = Buffer.alloc(4 + pb.size(type, m))
    out.writeUInt32BE(out.length - 4)
    if (pb.encode(type, m, out, 4) !== out.length) throw new Error('size and encode differ')
    process.stdout.write(out)
    input = input.subarray(end)
  }
})
