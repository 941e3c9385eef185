// The JSON Schema of the settings. The runner checks them before the plugin sees them.

const range = {
  type: 'object',
  description: 'What an argument must be; it must be there.',
  properties: {
    min: { type: 'number' },
    max: { type: 'number' },
    in: { type: 'array', minItems: 1 },
    maxLength: { type: 'integer', minimum: 0 },
  },
  additionalProperties: false,
}

const rule = {
  type: 'object',
  properties: {
    tool: { type: 'string', minLength: 1, description: 'The tool that the rule is about; a * at the end stands for any rest.' },
    set: { type: 'object', description: 'Arguments that every call gets, whatever the model says.' },
    require: { type: 'object', additionalProperties: range, description: 'What arguments must be. Without it, set and perRun, no call is allowed.' },
    perRun: { type: 'integer', minimum: 0, description: 'How many calls one run may make.' },
    else: { type: 'string', enum: ['deny', 'ask'], description: 'What becomes of other calls: the model is told no, or a human is asked. Default deny.' },
    reason: { type: 'string', minLength: 1, description: 'What the model or the human is told.' },
  },
  required: ['tool'],
  additionalProperties: false,
}

export const schema = {
  type: 'object',
  properties: { rules: { type: 'array', items: rule, description: 'All rules about a tool count, in order.' } },
  required: ['rules'],
  additionalProperties: false,
}
