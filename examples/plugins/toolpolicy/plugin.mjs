// toolpolicy holds tool calls to a policy: it completes arguments, denies calls, asks a human, and bounds how
// often a tool is called in one run.
import { allowed, matches } from './rules.mjs'
import { schema } from './schema.mjs'

export const plugin = {
  name: 'toolpolicy',
  version: '1.0.0',
  doc: 'completes, denies and asks about tool calls, by rules',
  schema,

  create({ rules }) {
    return {
      filter: { has: ['call'] },
      partials: true, // so that runs may stream; the whole event has the calls
      onEvent: (invocation, event) => (event.partial ? undefined : decide(rules, invocation, event)),
    }
  },
}

/** decide says what becomes of the calls of an event. */
function decide(rules, invocation, event) {
  const refusals = []
  const questions = new Map() // by the call's id
  const reasons = new Set()
  let changed = false
  const parts = event.content.parts.map((part, at) => {
    if (!part?.functionCall) return part
    const { call, verdict, why, rule } = judge(rules, part.functionCall, (tool) => callsBefore(tool, invocation, event, at))
    if (why) reasons.add(why)
    if (verdict === 'deny') refusals.push(refusal(call, why, rule))
    if (verdict === 'ask') questions.set(call.id, { hint: why })
    if (call === part.functionCall) return part
    changed = true
    return { ...part, functionCall: call }
  })
  const emit = [...refusals]
  if (questions.size) emit.push({ actions: { requestedToolConfirmations: Object.fromEntries(questions) } })
  if (!changed && emit.length === 0) return
  const outcome = { emit, reason: [...reasons].join('; ') || 'arguments that the policy sets' }
  if (changed) outcome.replace = { ...event, content: { ...event.content, parts } }
  return outcome
}

/** judge returns the call as the rules leave it, and the verdict: the first denial counts, else the first question. */
function judge(rules, call, before) {
  let asked
  for (const [i, rule] of rules.entries()) {
    if (!matches(rule.tool, call.name)) continue
    if (rule.set) call = { ...call, args: { ...call.args, ...rule.set } }
    const often = rule.perRun !== undefined && before(rule.tool) >= rule.perRun
    const wrong = often ? `it may be called ${rule.perRun} times in a run` : allowed(rule, call.args ?? {})
    if (!wrong) continue
    const verdict = { why: rule.reason ?? `${call.name}: ${wrong}`, rule: i + 1 }
    if (rule.else !== 'ask' || !call.id) return { call, verdict: 'deny', ...verdict }
    asked ??= { verdict: 'ask', ...verdict }
  }
  return { call, ...asked }
}

/** refusal answers a call in the tool's place, so it is not executed; the model reads why. */
function refusal(call, why, rule) {
  const response = { error: why, policy: `rule ${rule}` }
  return { content: { role: 'user', parts: [{ functionResponse: { id: call.id, name: call.name, response } }] }, errorCode: 'DENIED', errorMessage: why }
}

/** callsBefore counts the calls of a tool in this invocation: those in the log, and those before a part of the event. */
function callsBefore(tool, invocation, event, part) {
  const earlier = invocation.live.filter((e) => e.invocationId === invocation.id).flatMap((e) => e.content?.parts ?? [])
  return [...earlier, ...event.content.parts.slice(0, part)].filter((p) => p?.functionCall && matches(tool, p.functionCall.name)).length
}
