package plugintest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// oddID is how the IDs of events begin that have every key, and unknown keys too.
const oddID = "with-unknown-keys"

// odd are events that are in real logs, and that authors of plugins do not expect.
var odd = []struct{ what, json string }{
	{"without content", `{}`},
	{"content without parts", `{"content":{"role":"model"}}`},
	{"content without a role", `{"content":{"parts":[{"text":"who says this?"}]}}`},
	{"an empty part", `{"content":{"role":"model","parts":[{}]}}`},
	{"a part that is null", `{"content":{"role":"model","parts":[null,{"text":"after null"}]}}`},
	{"an empty text", `{"content":{"role":"model","parts":[{"text":""}]}}`},
	{"a thought", `{"content":{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"c2ln"}]}}`},
	{"a function call", `{"content":{"role":"model","parts":[{"functionCall":{"id":"c1","name":"get_weather","args":{"city":"Rome","days":[1,2],"deep":{"a":null}}}}]}}`},
	{"its response", `{"content":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"get_weather","response":{"celsius":21.5}}}]}}`},
	{"a call without id and arguments", `{"content":{"role":"model","parts":[{"functionCall":{"name":"now"}}]}}`},
	{"two calls with one id", `{"content":{"role":"model","parts":[{"functionCall":{"id":"c2","name":"a"}},{"functionCall":{"id":"c2","name":"b"}}]}}`},
	{"a response without a call", `{"content":{"role":"user","parts":[{"functionResponse":{"id":"nobody","name":"nothing"}}]}}`},
	{"a failed response", `{"content":{"role":"user","parts":[{"functionResponse":{"id":"c2","name":"b","response":{"error":"no luck"}}}]}}`},
	{"a call that waits", `{"longRunningToolIds":["c3"],"content":{"role":"model","parts":[{"functionCall":{"id":"c3","name":"ship","args":{}}}]}}`},
	{"inline data", `{"content":{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]}}`},
	{"inline data of no type and no bytes", `{"content":{"role":"model","parts":[{"inlineData":{}}]}}`},
	{"a file", `{"content":{"role":"model","parts":[{"fileData":{"fileUri":"gs://bucket/file","mimeType":"text/plain"}}]}}`},
	{"code and its result", `{"content":{"role":"model","parts":[{"executableCode":{"code":"1+1","language":"PYTHON"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}}]}}`},
	{"an error", `{"errorCode":"MAX_TOKENS","errorMessage":"it was cut short","finishReason":"MAX_TOKENS"}`},
	{"an error with content", `{"errorCode":"SAFETY","content":{"role":"model","parts":[{"text":"so far"}]}}`},
	{"a live session's end of turn", `{"turnComplete":true,"interrupted":true}`},
	{"state of every scope", `{"actions":{"stateDelta":{"a":1,"gone":null,"app:b":[1],"user:c":{"d":"e"},"temp:f":true},"stateIncrement":{"user:n":2}}}`},
	{"a transfer to nobody", `{"actions":{"transferToAgent":"nobody"}}`},
	{"an escalation", `{"actions":{"escalate":true,"skipSummarization":true}}`},
	{"artifacts", `{"actions":{"artifactDelta":{"report.pdf":3}}}`},
	{"a question about a call that is not there", `{"actions":{"requestedToolConfirmations":{"nobody":{"hint":"may I?","payload":{"x":[1]}}}}}`},
	{"another kit's compaction", `{"actions":{"compaction":{"startTimestamp":1.5,"endTimestamp":2.5,"compactedContent":{"role":"model","parts":[{"text":"sum"}]}}}}`},
	{"another kit's rewind", `{"actions":{"rewindBeforeInvocationId":"i-1"}}`},
	{"another author in a branch", `{"author":"helper","branch":"bot.helper@c1","content":{"role":"model","parts":[{"text":"from a branch"}]}}`},
	{"an author with blanks", `{"author":"Dr. Ünal (night)","content":{"role":"model","parts":[{"text":"I am"}]}}`},
	{"metadata", `{"customMetadata":{"n":9007199254740993,"list":[null,{}],"deep":{"a":{"b":1}}},"usageMetadata":{"promptTokenCount":3},"modelVersion":"m-1"}`},
	{"the end of a workflow's node", `{"author":"desk","output":{"a_b":{"c":[1,null]},"n":9007199254740993},"nodeInfo":{"path":"desk@i/sort@1","outputFor":["desk@i/sort@1","desk@i"],"ended":true,"x":1.0},"actions":{"route":["left",2,true]}}`},
	{"an output that is false", `{"author":"desk","output":false,"nodeInfo":{"path":"desk@i/check@1","ended":true}}`},
	{"the end of a node without output", `{"author":"desk","nodeInfo":{"path":"desk@i","ended":true}}`},
	{"another kit's node", `{"content":{"role":"model","parts":[{"text":"the answer"}]},"nodeInfo":{"path":"desk/answer","messageAsOutput":true,"executionId":"e1"}}`},
	{"odd unicode", `{"content":{"role":"model","parts":[{"text":"\u0000\u202eabc\ufeff👩‍👩‍👧‍👦ǵ̷̛\uffff\r\n\u2028"}]}}`},
	{"markup", `{"content":{"role":"model","parts":[{"text":"<b>&amp;</b> {{.x}} ${y} %s %d \\ \" ' -- \u001b[31m"}]}}`},
	{"keys that nobody knows", `{"id":"` + oddID + `2","x-top":{"n":1.0},"modelVersion":"m-1","customMetadata":{"k":"v"},"content":{"role":"model","parts":[{"text":"hello, my card is 4111 1111 1111 1111 and my mail ann@example.com"},{"functionCall":{"id":"k1","name":"get_weather","args":{"city":"Rome"}}}]},"actions":{"stateDelta":{"s":1},"x-action":[9007199254740993]}}`},
	{"many parts", `{"content":{"role":"model","parts":[` + strings.Repeat(`{"text":"word "},`, 300) + `{"text":"end"}]}}`},
	{"a huge text", `{"content":{"role":"model","parts":[{"text":"` + strings.Repeat("all work and no play ", 10_000) + `"}]}}`},
}

// oddInputs are inputs that authors of plugins do not expect.
var oddInputs = []struct{ what, json string }{
	{"an empty input", `{"content":{"role":"user","parts":[{"text":""}]}}`},
	{"an input without parts", `{"content":{"role":"user"}}`},
	{"an input with a picture", `{"content":{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo=","displayName":"../x.png"}},{"text":"what is it?"}]}}`},
	{"an input with state", `{"content":{"role":"user","parts":[{"text":"hi"}]},"actions":{"stateDelta":{"mood":"fine"}}}`},
	{"an input with unknown keys", `{"id":"` + oddID + `","x-top":{"n":1.0},"modelVersion":"m-1","customMetadata":{"k":"v"},"content":{"role":"user","parts":[{"text":"hello, my card is 4111 1111 1111 1111"}]},"actions":{"stateDelta":{"s":1},"x-action":[9007199254740993]}}`},
	{"a yes to nothing", `{"actions":{"requestedToolConfirmations":{"nobody":{"confirmed":true}}}}`},
	{"a late response", `{"content":{"role":"user","parts":[{"functionResponse":{"id":"nobody","name":"ship","response":{"ok":true}}}]}}`},
}

// event returns the event of a JSON text.
func event(text string) *session.Event {
	e := new(session.Event)
	if err := e.UnmarshalJSON([]byte(text)); err != nil {
		panic(fmt.Sprintf("plugintest: %v: %s", err, text)) // they are above
	}
	return e
}

// lost returns an error if a replacement has lost keys that its author did not know of. It may
// have lost all unknown keys (session.Event.WithoutUnknown), if it has all known ones.
func lost(was, is *session.Event) error {
	unknown := []string{"x-top", "actions.x-action"}
	known := []string{"modelVersion", "customMetadata.k", "actions.stateDelta.s"}
	a, b := leaves(was), leaves(is)
	gone := func(paths []string) []string {
		return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { _, had := a[p]; return !had || b[p] != "" })
	}
	switch u, k := gone(unknown), gone(known); {
	case len(u) > 0 && len(k) > 0:
		return fmt.Errorf("the replacement has lost %s: it was built anew; change a clone of what was given", strings.Join(append(k, u...), ", "))
	case len(u) == 1:
		return fmt.Errorf("the replacement has lost %s and kept the other unknown key", u[0])
	}
	for _, p := range unknown {
		if b[p] != "" && a[p] != b[p] {
			return fmt.Errorf("the replacement has %s as %s; it was %s", p, b[p], a[p])
		}
	}
	return nil
}

// leaves returns an event's JSON values by their paths.
func leaves(e *session.Event) map[string]string {
	all := map[string]string{}
	var walk func(path string, data json.RawMessage)
	walk = func(path string, data json.RawMessage) {
		var object map[string]json.RawMessage
		if path != "x-top" && json.Unmarshal(data, &object) == nil {
			for _, key := range slices.Sorted(maps.Keys(object)) {
				walk(strings.TrimPrefix(path+"."+key, "."), object[key])
			}
		}
		all[path] = string(data)
	}
	data, err := e.MarshalJSON()
	if err != nil {
		return map[string]string{"": errors.Join(errors.New("no JSON"), err).Error()}
	}
	walk("", data)
	return all
}
