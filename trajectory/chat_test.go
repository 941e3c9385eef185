package trajectory_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/trajectory"
)

// A chat has what the model was given beside the conversation, and ends with what an assistant says.
func TestChatForTraining(t *testing.T) {
	reward := 0.5
	chat := trajectory.Chat{
		System: "Be kind.",
		Tools: []*genai.FunctionDeclaration{
			{Name: "f", Description: "Does f.", ParametersJsonSchema: map[string]any{"type": "object"}},
			{Name: "g", Parameters: &genai.Schema{Type: genai.TypeObject}},
		},
		Reward: &reward,
	}
	const beside = `"tools":[{"type":"function","function":{"name":"f","description":"Does f.","parameters":{"type":"object"}}},
		{"type":"function","function":{"name":"g","parameters":{"type":"object"}}}],"reward":0.5`
	const begin = `{"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"go"},`
	const call = `{"role":"assistant","name":"bot","tool_calls":[{"id":"1","type":"function",` +
		`"function":{"name":"f","arguments":"{\"b\":12345678901234567890,\"a\":1}"}}]}`
	for _, c := range []struct {
		name    string
		lines   []string
		want    string
		omitted trajectory.Omitted
	}{
		{"an answer", []string{said("user", "i1", "go"), said("bot", "i1", "Done.")},
			begin + `{"role":"assistant","name":"bot","content":"Done."}],` + beside + `}`, trajectory.Omitted{}},
		{"no answer to the last message", []string{said("user", "i1", "go"), said("bot", "i1", "Done."), said("user", "i2", "and?")},
			begin + `{"role":"assistant","name":"bot","content":"Done."}],` + beside + `}`, trajectory.Omitted{Messages: 1}},
		{"no answer after a response", []string{said("user", "i1", "go"), called("bot", "1", "f"), answered("bot", "i1", "1", "f", `{}`)},
			begin + call + `],` + beside + `}`, trajectory.Omitted{Messages: 1}},
		{"responses without a call", []string{said("user", "i1", "go"), answered("bot", "i1", "7", "g", `{}`),
			answered("bot", "i1", "8", "f", `{}`), answered("bot", "i1", "9", "g", `{}`), said("bot", "i1", "Done.")},
			begin + `{"role":"assistant","name":"bot","content":"Done."}],` + beside + `}`,
			trajectory.Omitted{Responses: 3, Tools: []string{"f", "g"}}},
		{"a call that a user has written", []string{said("user", "i1", "go"), called("user", "1", "f"),
			answered("user", "i1", "1", "f", `{}`), said("bot", "i1", "Done.")},
			begin + `{"role":"assistant","name":"bot","content":"Done."}],` + beside + `}`,
			trajectory.Omitted{Responses: 1, Tools: []string{"f"}}},
		{"nobody answers", []string{said("user", "i1", "go")}, "", trajectory.Omitted{Chats: 1}},
	} {
		var out bytes.Buffer
		omitted, err := trajectory.WriteChat(&out, extract(t, recording(t, c.lines...), trajectory.Config{}), chat)
		require.NoError(t, err, c.name)
		require.Equal(t, c.omitted, omitted, c.name)
		if c.want == "" {
			require.Empty(t, out.String(), c.name)
			continue
		}
		require.JSONEq(t, c.want, out.String(), c.name)
	}
	all := trajectory.Omitted{Responses: 1, Tools: []string{"g"}}
	all.Add(trajectory.Omitted{Responses: 2, Tools: []string{"f", "g"}, Chats: 1})
	require.Equal(t, "3 responses without their call (f, g), 1 conversations in which no assistant says anything", all.String())
}
