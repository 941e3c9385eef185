// What a rule says of a call.

/** matches reports whether a rule for a tool is about a name: "*" at the end stands for any rest. */
export const matches = (tool, name) => (tool.endsWith('*') ? name.startsWith(tool.slice(0, -1)) : name === tool)

/** allowed returns what is wrong with arguments, undefined if nothing is. A rule that requires nothing allows nothing. */
export function allowed(rule, args) {
  if (!rule.require) return rule.set || rule.perRun !== undefined ? undefined : 'it is not allowed'
  for (const [name, want] of Object.entries(rule.require)) {
    const wrong = check(want, Object.hasOwn(args, name) ? args[name] : undefined)
    if (wrong) return `${name} ${wrong}`
  }
  return undefined
}

function check(want, value) {
  if (value === undefined || value === null) return 'is missing'
  if (want.max !== undefined || want.min !== undefined) {
    if (typeof value !== 'number' && typeof value !== 'bigint') return 'is not a number'
    if (want.max !== undefined && value > want.max) return `is above ${want.max}`
    if (want.min !== undefined && value < want.min) return `is below ${want.min}`
  }
  if (want.in && !want.in.includes(value)) return `is none of ${want.in.join(', ')}`
  if (want.maxLength !== undefined && [...String(value)].length > want.maxLength) return `is longer than ${want.maxLength}`
  return undefined
}
