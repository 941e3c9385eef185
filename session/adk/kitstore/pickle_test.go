package kitstore

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// named is a pickle's step that names a class.
func named(module, name string) string {
	return "\x8c" + string(rune(len(module))) + module + "\x8c" + string(rune(len(name))) + name + "\x93"
}

// text is a pickle's step with a short text.
func text(s string) string { return "\x8c" + string(rune(len(s))) + s }

// actions is a pickle of the kit's actions whose state delta is made by steps.
func actions(delta string) []byte {
	return []byte("\x80\x05" + named("google.adk.events.event_actions", "EventActions") + ")\x81" +
		"}(" + text("__dict__") + "}(" + text("state_delta") + delta + text("escalate") + "N" + "u" + "ub.")
}

// A pickle is read as the data in it: attributes that are set, members of enums, numbers of any size.
func TestPickleIsData(t *testing.T) {
	value, left, err := readPickle(
		actions("}(" + text("k") + "K\x07" + text("my_list") + "](NK\x01\x85e" +
			text("temp:x") + named("made.up", "Thing") + ")\x81" +
			text(
				"auth",
			) + named("google.adk.auth.auth_credential", "AuthCredentialTypes") + text("oauth2") + "\x85R" + "u"),
	)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Equal(t, map[string]any{"state_delta": map[string]any{
		"k": 7, "my_list": []any{nil, []any{1}}, "auth": "oauth2",
	}}, value)
}

// What would call something is left out, by name. It is never called.
func TestPickleExecutesNothing(t *testing.T) {
	value, left, err := readPickle(
		actions("}(" + text("k") + named("posix", "system") + text("echo") + "\x85R" + "u"))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"state_delta": map[string]any{}}, value)
	require.Len(t, left, 1)
	require.Contains(t, left[0], "posix.system")
}

// Pickles that are malformed, or would take more memory or depth than a real one, are errors at once.
func TestPicklesRefused(t *testing.T) {
	doubling := "]\x94"
	for i := range 60 {
		doubling += "h" + string([]byte{byte(i)}) + "h" + string([]byte{byte(i)}) + "\x86\x94"
	}
	for name, data := range map[string]string{
		"empty":                      "",
		"no end":                     "\x80\x05N",
		"more after the end":         "N.N.",
		"a length that is not there": "\x80\x05X\xff\xff\xff\x7fabc.",
		"a length of 8 bytes":        "\x80\x05\x8d\xff\xff\xff\xff\xff\xff\xff\xffabc.",
		"a frame that is not there":  "\x80\x05\x95\xff\xff\xff\xff\xff\xff\xff\x7fN.",
		"an empty stack":             "\x80\x05.",
		"the step global":            "cos\nsystem\n.",
		"no such step":               "\xff.",
		"a long without bytes":       "\x80\x05\x8a\x00.",
		"deep":                       strings.Repeat("]", 5000) + strings.Repeat("a", 4999) + ".",
		"in itself":                  "]\x94h\x00a.",
		"shared":                     doubling + ".",
		"a dict with half an entry":  "}(Nu.",
		"a set of lists of bytes":    "\x8f(C\x01a\x90.",
		"many steps":                 strings.Repeat("N0", 400_000) + "N.",
	} {
		_, _, err := readPickle([]byte(data))
		require.Error(t, err, name)
	}
}

func FuzzPickle(f *testing.F) {
	f.Add(actions("}(" + text("k") + "K\x07" + "u"))
	f.Add(actions("}(" + text("k") + named("posix", "system") + text("echo") + "\x85R" + "u"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, _ = readPickle(data) // it returns
	})
}
