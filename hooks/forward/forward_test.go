package forward

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is sent is what arrives, to the byte, whatever is in it.
func TestInput(t *testing.T) {
	for _, in := range []Input{
		{Agent: "claude", Event: "PreToolUse", Env: map[string]string{}, Payload: []byte(`{"a":1}`)},
		{Env: map[string]string{"CURSOR_VERSION": "1\n\"2\" \x00\xff"}, Event: "a b\n\"c", Payload: []byte("\n\xff\r\n\r\n")},
		{Env: map[string]string{}, Payload: []byte{}},
	} {
		got, err := ReadInput(in.append(nil))
		require.NoError(t, err)
		assert.Equal(t, in, got)
	}
	for _, body := range []string{"", "\n", `"a""b"`, `"a""b""c"` + "\n", `"a""b""c"x` + "\n", "{}\n", `"a""b""c""d"`} {
		_, err := ReadInput([]byte(body))
		assert.Error(t, err, "%q", body)
	}
}

// A reply that is not whole, or not one, is an error: the hook fails closed.
func TestReply(t *testing.T) {
	want := Reply{Stdout: []byte("{\"a\":\"\n\r\n\r\n\xff\"}"), Stderr: "no \"way\" \x1b", Exit: 2}
	const head = "HTTP/1.0 200 OK\r\nA: b\r\n\r\n"
	answer := head + string(want.Append(nil))
	exchange := func(answer string) (Reply, error) {
		return Exchange(struct {
			io.Reader
			io.Writer
		}{bytes.NewBufferString(answer), io.Discard}, Input{})
	}
	got, err := exchange(answer)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	for cut := range len(answer) {
		_, err := exchange(answer[:cut])
		assert.Error(t, err, "%q", answer[:cut])
	}
	_, err = exchange("HTTP/1.0 503 Service Unavailable\r\n\r\nthe database is away\n")
	assert.ErrorContains(t, err, "the database is away")
	_, err = exchange(answer + "more")
	assert.Error(t, err)
}
