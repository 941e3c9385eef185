package kit_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the kit's Python client knows of an event. It refuses an event with any other key.
const (
	knownEvent = "id invocationId author branch timestamp content partial turnComplete interrupted errorCode errorMessage " +
		"finishReason usageMetadata groundingMetadata citationMetadata modelVersion customMetadata longRunningToolIds actions " +
		"avgLogprobs logprobsResult inputTranscription outputTranscription cacheMetadata interactionId " +
		"liveSessionResumptionUpdate"
	knownActions = "stateDelta artifactDelta skipSummarization transferToAgent escalate requestedToolConfirmations " +
		"requestedAuthConfigs compaction endOfAgent agentState rewindBeforeInvocationId"
	knownPart = "text thought thoughtSignature inlineData fileData functionCall functionResponse executableCode " +
		"codeExecutionResult videoMetadata"
	knownUsage = "promptTokenCount candidatesTokenCount totalTokenCount thoughtsTokenCount cachedContentTokenCount " +
		"toolUsePromptTokenCount promptTokensDetails candidatesTokensDetails cacheTokensDetails " +
		"toolUsePromptTokensDetails trafficType"
)

// strictEvent holds an event to the kit's model of one.
func strictEvent(t *testing.T, e map[string]any) {
	t.Helper()
	only(t, e, knownEvent)
	for _, key := range []string{"id", "invocationId", "author"} {
		text, ok := e[key].(string)
		require.True(t, ok && text != "", "%s of %v", key, e)
	}
	when, ok := e["timestamp"].(float64)
	require.True(t, ok && when > 1e9 && when < 1e11, "timestamp of %v", e)

	actions := e["actions"].(map[string]any)
	only(t, actions, knownActions)
	for _, key := range []string{"stateDelta", "artifactDelta", "requestedAuthConfigs"} {
		require.IsType(t, map[string]any{}, actions[key], "%s of %v", key, e)
	}
	for _, version := range actions["artifactDelta"].(map[string]any) {
		require.IsType(t, 0.0, version)
	}
	confirmations, _ := actions["requestedToolConfirmations"].(map[string]any)
	for _, c := range confirmations {
		only(t, c.(map[string]any), "hint confirmed payload")
		require.IsType(t, true, c.(map[string]any)["confirmed"])
	}
	if compaction, ok := actions["compaction"].(map[string]any); ok {
		only(t, compaction, "startTimestamp endTimestamp compactedContent")
		require.LessOrEqual(t, compaction["startTimestamp"], compaction["endTimestamp"])
		strictContent(t, compaction["compactedContent"].(map[string]any))
	}

	calls := map[string]bool{}
	text := false
	if content, ok := e["content"].(map[string]any); ok {
		strictContent(t, content)
		for _, p := range asMaps(content["parts"].([]any)) {
			text = text || p["text"] != nil
			if call, ok := p["functionCall"].(map[string]any); ok {
				calls[call["id"].(string)] = true
			}
			text = text || p["functionResponse"] != nil || p["functionCall"] != nil
		}
	}
	waiting, _ := e["longRunningToolIds"].([]any)
	for _, id := range waiting {
		require.True(t, calls[id.(string)], "the pages look for the waiting call %v in %v", id, e)
	}
	require.True(t, text || e["errorCode"] == nil,
		"older pages do not show a failure without text: %v", e)
	if usage, ok := e["usageMetadata"].(map[string]any); ok {
		only(t, usage, knownUsage)
	}
}

// strictContent holds a content to the kit's model of one. Older pages fail without parts, and on a call
// without arguments.
func strictContent(t *testing.T, content map[string]any) {
	t.Helper()
	only(t, content, "role parts")
	require.NotEmpty(t, content["parts"], content)
	for _, p := range asMaps(content["parts"].([]any)) {
		only(t, p, knownPart)
		if call, ok := p["functionCall"].(map[string]any); ok {
			only(t, call, "id name args")
			require.IsType(t, map[string]any{}, call["args"])
		}
		if response, ok := p["functionResponse"].(map[string]any); ok {
			only(t, response, "id name response willContinue scheduling parts")
			require.IsType(t, map[string]any{}, response["response"])
		}
	}
}

// only requires that an object has no other keys than those, and no null.
func only(t *testing.T, object map[string]any, known string) {
	t.Helper()
	names := map[string]bool{}
	for name := range strings.FieldsSeq(known) {
		names[name] = true
	}
	for key, value := range object {
		require.True(t, names[key], "the kit does not know the key %q of %v", key, object)
		require.NotNil(t, value, "the kit leaves out null: %q of %v", key, object)
	}
}

var hexID = regexp.MustCompile(`^[0-9a-f]{16}([0-9a-f]{16})?$`)

// strictSpans holds the spans of a session to what the pages need: one that breaks a rule stops an older
// page, or empties the tab of a newer one.
func strictSpans(t *testing.T, spans []map[string]any) {
	t.Helper()
	earliest := map[any]map[string]any{} // by trace, of those with the ID of an invocation
	traces := map[any]bool{}
	names := map[any]bool{}
	for _, s := range spans {
		names[s["span_id"]] = true
	}
	for _, s := range spans {
		only := []string{
			"name",
			"span_id",
			"trace_id",
			"parent_span_id",
			"start_time",
			"end_time",
			"attributes",
		}
		require.Len(t, s, len(only), s)
		for _, key := range only {
			require.Contains(t, s, key)
		}
		require.Regexp(t, hexID, s["span_id"])
		require.Regexp(t, hexID, s["trace_id"])
		if s["parent_span_id"] != nil {
			require.True(t, names[s["parent_span_id"]], s)
		}
		require.LessOrEqual(t, s["start_time"], s["end_time"])
		traces[s["trace_id"]] = true
		attributes := s["attributes"].(map[string]any)
		for key, value := range attributes {
			require.NotNil(t, value, key)
			if strings.Contains(key, "_tokens") {
				require.IsType(t, 0.0, value)
			}
			if strings.HasSuffix(key, "finish_reasons") {
				require.IsType(t, []any{}, value)
			}
		}
		name := s["name"].(string)
		if strings.HasPrefix(name, "execute_tool") {
			require.Equal(t, "{}", attributes["gcp.vertex.agent.llm_request"])
			require.Equal(t, "{}", attributes["gcp.vertex.agent.llm_response"])
		}
		if strings.HasPrefix(name, "invoke_agent") {
			require.NotEmpty(t, attributes["gen_ai.conversation.id"])
		}
		if attributes["gcp.vertex.agent.invocation_id"] == nil {
			continue
		}
		first := earliest[s["trace_id"]]
		if first == nil || s["start_time"].(float64) < first["start_time"].(float64) {
			earliest[s["trace_id"]] = s
		}
	}
	for trace := range traces {
		first := earliest[trace]
		require.NotNil(t, first, "trace %v has no model call", trace)
		request := fmt.Sprint(first["attributes"].(map[string]any)["gcp.vertex.agent.llm_request"])
		var asked struct {
			Contents []struct {
				Role  string
				Parts []struct{ Text *string }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(request), &asked))
		users := 0
		for _, c := range asked.Contents {
			if c.Role == "user" {
				users++
				require.NotNil(t, c.Parts[0].Text)
			}
		}
		require.Equal(t, 1, users, request)
	}
}
