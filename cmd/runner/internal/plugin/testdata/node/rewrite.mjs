// What was not changed is written to the byte; what was, as JSON.
import { rewrite } from './plughook/rewrite.mjs'
import { parse, stringify } from './plughook/json.mjs'
import assert from 'node:assert'
const text = ' { "a" : 1.0, "b":{"c":[1e400, {"d\\"}":"x]\\\\"} , 12345678901234567890],"n":-0.50},"e":[],"f":{}, "__proto__": 1.50}'
const was = parse(text)
assert.equal(rewrite(text, was, { ...was, z: [1n<<70n] }), '{"a":1.0,"b":{"c":[1e400, {"d\\"}":"x]\\\\"} , 12345678901234567890],"n":-0.50},"e":[],"f":{},"__proto__":1.50,"z":[1180591620717411303424]}')
assert.equal(rewrite(text, was, { b: { ...was.b, c: [was.b.c[0], 7, was.b.c[2], undefined] }, e: [1], f: undefined, a: { x: 1 } }), '{"b":{"c":[1e400,7,12345678901234567890,null],"n":-0.50},"e":[1],"a":{"x":1}}')
assert.equal(rewrite(text, was, was), text.slice(1))
