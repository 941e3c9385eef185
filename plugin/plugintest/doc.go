// Package plugintest has the tests that every plugin should pass, and plays scripts to test what
// one does.
//
//	func TestRules(t *testing.T) { plugintest.Check(t, quota.New(2)) }
//
//	func TestScripts(t *testing.T) {
//		plugintest.Run(t, func() *plugin.Plugin { return quota.New(2) }, "testdata/*.txtar")
//	}
//
// Check tests the rules of package plugin, each as a Case with an explanation. Run plays
// conversations. A script of a conversation is a txtar file of sections; its author writes only
// what a user says,
//
//	The third input of a user is denied.
//
//	-- turns --
//	user: one
//	user: two
//	user: three
//
// and go test -update adds the output: the log, the positions of the live view, and the state.
// Read it before you keep it.
//
//	-- log --
//	1 user: one
//	    actions: {"stateIncrement":{"user:quota:inputs":1}}
//	…
//	3 plugin/quota: That was all for today.
//	    errorCode: "DENIED"
//	-- live --
//	1-3
//	-- state --
//	user:quota:inputs = 2
//
// A blank line in the log is the end of a run; a line that begins with ! is why it failed. Ids
// and times are left out, and where something refers to those of an event it has <id of 3> and
// <time of 3>.
//
// # Turns
//
// A line that a user says or commands, or a JSON event without an author, begins a run. The other
// lines are what the agent says in that run. BeforeModel is called before each of them.
//
//	user: What is the weather in Rome?
//	bot calls get_weather {"city": "Rome"}
//	bot: It is fine.
//	user commands rewind {"turns": 1}
//	{"content": {"role": "user", "parts": [{"inlineData": {"mimeType": "text/plain", "data": "aGk="}}]}}
//	{"author": "bot", "errorCode": "MAX_TOKENS"}
//	# a comment
//
// A tool call that has no response yet, and does not wait for a confirmation, is executed. The
// section tools.yaml says what tools answer.
//
//	-- tools.yaml --
//	get_weather: {celsius: 21}
//	pay: {error: no money}
//
// A line now: sets the clock of the runs that follow, which hooks ask with inv.Now(): to a time, or so
// much later. Without it the clock is the machine's.
//
//	now: 2026-11-24T23:59:00+01:00
//	user: The last one today
//	now: +2m
//	user: The first one tomorrow
//
// The section session.yaml names the session: app, user and id. Those left out are plugintest, ann and
// s1. The section state.yaml is the state that the session is created with. If there is a section
// model.yaml, its rules are a model (package model/script), which an agent of package agent/llm
// named bot asks, with those tools; the turns then have users' lines only.
//
// A new rule that every plugin keeps: a Case in cases.go, with its function in the file of its subject.
package plugintest
