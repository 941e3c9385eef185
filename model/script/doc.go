// Package script has a model that answers by a file: for demos and tests, without a key, a network
// or chance. What it answers depends on the request and on nothing else, so it says the same after
// a restart, a rewind, and in a replay.
//
// A script is a list of rules in YAML; the first that matches the request answers it:
//
//	# The user asks for the weather somewhere: ask both tools, at once.
//	- user: '(?i)weather in (?P<city>[\pL ]+)'
//	  think: The user wants to know about {{.group.city}}.
//	  call:
//	    - name: get_weather
//	      args: {city: '{{.group.city}}', days: 1}
//	    - name: get_alerts
//	      args: {city: '{{.group.city}}'}
//
//	# Both have answered, and one has failed.
//	- response: [get_weather, get_alerts]
//	  error: '*'
//	  say: I could not find out everything{{range .responses}}{{with index .response "error"}}; {{.}}{{end}}{{end}}.
//
//	# Both have answered.
//	- response: [get_weather, get_alerts]
//	  say: It is {{.response.get_weather.celsius}} degrees, with {{len .response.get_alerts.alerts}} alerts.
//	  stream: 8
//
//	- user: (?i)book
//	  call:
//	    name: transfer_to_agent
//	    args: {agent_name: booking}
//
//	- user: ^crash$
//	  say: This is all that a stream gets to see
//	  fail: {code: UNAVAILABLE, status: 503, message: the model is overloaded}
//
//	- user: ^long$
//	  say: Once upon a time
//	  finish: MAX_TOKENS
//	  usage: {prompt: 10, answer: 4}
//
//	- agent: clerk
//	  instruction: in JSON
//	  say: {subject: '{{.user}}', urgent: false}
//
//	- say: You said “{{.user}}”.
//
// # When a rule matches
//
// All that it names must hold:
//
//	agent        the name of the agent that asks
//	user         a regular expression (RE2) that is found in the text of the user's last message
//	told         one that is found in what the agent was told since then, of what others did and said
//	instruction  one that is found in the system instruction
//	response     the conversation ends with responses of these functions, and maybe of others: a name, a
//	             list of names, or "*" for any
//	error        the same, of responses that say {"error": …}
//
// A rule with neither response nor error is for the other case: that the conversation does not end
// with a function's response. What the agent is told of others (see package agent/llm) is no
// message of the user's and ends nothing; but where it is told that an earlier call has been
// answered, as a human may do days later, the conversation ends with that response.
//
// # What a rule answers
//
//	say     a text; or any other value, which is said as JSON
//	think   a thought, before it
//	call    a function call, or a list of them, which are made at once: name and args. The args are keys and
//	        values, or a text that is a JSON object. A call of transfer_to_agent hands over.
//	fail    the call of the model fails with code (MODEL_ERROR if it has none), message and HTTP status; a
//	        stream has said and thought everything by then
//	finish  why the model stopped, such as MAX_TOKENS: the answer then has that as its error code
//	stream  how many characters a chunk of a stream has, 16 if it is not said
//	delay   how long the answer takes, such as 1.5s; the chunks of a stream are spread over it
//	usage   the counts of tokens: prompt and answer. What is not said is estimated.
//
// It needs one of say, call, fail and finish. Texts in say, think, args and message are templates
// of package text/template. They read:
//
//	.user           the text of the user's last message
//	.told           what the agent was told since then, of what others did and said
//	.agent          the agent's name
//	.group.NAME     what a pattern's group (?P<NAME>…) matched; of two with one name, the user's
//	.response.NAME  the response of a function, the last if it was called more than once at once
//	.responses      all of them in order, each with .name, .id and .response
//
// and have, beside the usual functions, json, which writes a value as JSON. A key that is not there
// fails the call of the model; {{index .response.get_weather "error"}} is a way to ask whether it
// is.
//
// A request that no rule matches is a *model.Error with the code INVALID_ARGUMENT, and so is a
// template that fails. Function calls have ids that count the calls in the conversation.
//
// A new key of a rule: its field in rule.go, its line in the table above, and what it does in answer.go or question.go.
package script
