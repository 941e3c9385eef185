package wire_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/plugin/remote/wire"
)

// holdJSON are the fields of type bytes in messages of Serve. The document shows what is in them.
var holdJSON = []string{"event", "events", "state", "contents", "replace", "emit", "attrs"}

// The conversation in docs/protocol.md is one of messages that there are.
func TestTheDocumentsConversation(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/protocol.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(doc), "\n```\n> ")
	require.True(t, found)
	block, _, _ = strings.Cut("> "+block, "\n```")
	for line := range strings.SplitSeq(block, "\n") {
		var m proto.Message = &wire.HostMessage{}
		if line[0] == '<' {
			m = &wire.PluginMessage{}
		}
		var shown any
		require.NoError(t, json.Unmarshal([]byte(line[2:]), &shown), line)
		data, err := json.Marshal(asBytes(t, shown))
		require.NoError(t, err)
		require.NoError(t, protojson.Unmarshal(data, m), line)
	}
}

// asBytes returns a value with what holds JSON as bytes of that JSON.
func asBytes(t *testing.T, shown any) any {
	encoded := func(v any) []byte {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		return data
	}
	fields, isObject := shown.(map[string]any)
	if !isObject {
		return shown
	}
	for name, v := range fields {
		list, isList := v.([]any)
		switch {
		case slices.Contains(holdJSON, name) && isList:
			for i, one := range list {
				list[i] = encoded(one)
			}
		case slices.Contains(holdJSON, name):
			fields[name] = encoded(v)
		default:
			fields[name] = asBytes(t, v)
		}
	}
	return fields
}
