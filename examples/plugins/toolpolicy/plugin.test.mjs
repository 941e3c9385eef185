import assert from 'node:assert/strict'
import test from 'node:test'
import { plugin } from './plugin.mjs'

const event = (...calls) => ({ author: 'agent', extra: 1, content: { role: 'model', parts: calls.map(([name, args, id = name]) => ({ functionCall: { id, name, args } })) } })
const none = { id: 'now', live: [] }

/** decided says in short what the rules make of calls: "id denied: why", "id asked: why", "id becomes {…}". */
function decided(rules, e, invocation = none) {
  const out = plugin.create({ rules }).onEvent(invocation, e)
  const said = []
  for (const emitted of out?.emit ?? []) {
    for (const { functionResponse: r } of emitted.content?.parts ?? []) {
      assert.equal(emitted.errorCode, 'DENIED')
      said.push(`${r.id} denied: ${r.response.error}`)
    }
    for (const [id, { hint }] of Object.entries(emitted.actions?.requestedToolConfirmations ?? {})) said.push(`${id} asked: ${hint}`)
  }
  for (const { functionCall: c } of out?.replace?.content.parts ?? []) said.push(`${c.id} becomes ${JSON.stringify(c.args)}`)
  return said
}

const refund = { tool: 'refund', require: { amount: { min: 1, max: 200 }, currency: { in: ['EUR', 'CHF'] } }, else: 'ask', reason: 'Refunds above 200 need a person.' }

for (const [name, rules, e, ...want] of [
  ['no rule about it', [refund], event(['search', {}])],
  ['within its bounds', [refund], event(['refund', { amount: 200, currency: 'EUR' }])],
  ['above its bounds', [refund], event(['refund', { amount: 201, currency: 'EUR' }]), 'refund asked: Refunds above 200 need a person.'],
  ['a long number', [{ ...refund, else: 'deny', reason: undefined }], event(['refund', { amount: 2n ** 64n, currency: 'EUR' }]), 'refund denied: refund: amount is above 200'],
  ['below', [{ tool: 'refund', require: { amount: { min: 1 } } }], event(['refund', { amount: -5 }]), 'refund denied: refund: amount is below 1'],
  ['no number', [{ tool: 'refund', require: { amount: { max: 9 } } }], event(['refund', { amount: '5' }]), 'refund denied: refund: amount is not a number'],
  ['not one of', [{ tool: 'pay', require: { to: { in: ['ann', 'bob'] } } }], event(['pay', { to: 'eve' }]), 'pay denied: pay: to is none of ann, bob'],
  ['too long', [{ tool: 'say', require: { text: { maxLength: 2 } } }], event(['say', { text: '🙂🙂' }], ['say', { text: 'abc' }, '2']), '2 denied: say: text is longer than 2'],
  ['an argument is missing', [{ tool: 'pay', require: { to: {} } }], event(['pay']), 'pay denied: pay: to is missing'],
  ['an inherited name is missing too', [{ tool: 'pay', require: { toString: {} } }], event(['pay', {}]), 'pay denied: pay: toString is missing'],
  ['not allowed at all', [{ tool: 'delete_*' }], event(['delete_user', {}], ['deleted', {}]), 'delete_user denied: delete_user: it is not allowed'],
  ['completed', [{ tool: '*', set: { locale: 'de' } }], event(['search', { q: 'x', locale: 'en' }]), 'search becomes {"q":"x","locale":"de"}'],
  ['completed, then judged', [{ tool: 'a', set: { n: 5 } }, { tool: 'a', require: { n: { max: 4 } } }], event(['a', { n: 1 }]), 'a denied: a: n is above 4', 'a becomes {"n":5}'],
  ['a denial outweighs a question', [{ tool: 'a', else: 'ask' }, { tool: 'a', reason: 'never' }], event(['a', {}]), 'a denied: never'],
  ['a question needs an id', [{ tool: 'a', else: 'ask' }], event(['a', {}, '']), ' denied: a: it is not allowed'],
  ['an id with a meaning', [{ tool: 'a', else: 'ask' }], event(['a', {}, '__proto__']), '__proto__ asked: a: it is not allowed'],
  ['too often in one answer', [{ tool: 'a', perRun: 1 }], event(['a', {}, '1'], ['b', {}], ['a', {}, '1']), '1 denied: a: it may be called 1 times in a run'],
]) test(name, () => assert.deepEqual(decided(rules, e), want))

test('too often in a run: other runs do not count', () => {
  const live = [{ ...event(['a', {}]), invocationId: 'before' }, { ...event(['a', {}]), invocationId: 'now' }, { author: 'user' }]
  const rules = [{ tool: 'a', perRun: 2 }]
  assert.deepEqual(decided(rules, event(['a', {}, 'x']), { id: 'now', live }), [])
  assert.deepEqual(decided(rules, event(['a', {}, 'x'], ['a', {}, 'y']), { id: 'now', live }), ['y denied: a: it may be called 2 times in a run'])
})

test('what is not the call stays as it is', () => {
  const e = event(['a', {}])
  const { replace } = plugin.create({ rules: [{ tool: 'a', set: { n: 1 } }] }).onEvent(none, e)
  assert.deepEqual(replace, { ...e, content: { role: 'model', parts: [{ functionCall: { id: 'a', name: 'a', args: { n: 1 } } }] } })
  assert.deepEqual(e.content.parts[0].functionCall.args, {})
})
