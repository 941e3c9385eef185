package inbound_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/internal/inbound"
	"github.com/plughook/plughook/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// answer is an answer whose body is bounded.
func answer(ctx context.Context, status int, kind string, body io.Reader) *http.Response {
	resp := &http.Response{
		StatusCode: status,
		Header:     http.Header{"Content-Type": {kind}},
		Body:       io.NopCloser(body),
	}
	inbound.Bound(ctx, resp)
	return resp
}

// endless repeats a text.
type endless struct {
	text string
	next int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[e.next]
		e.next = (e.next + 1) % len(e.text)
	}
	return len(p), nil
}

func TestBodies(t *testing.T) {
	const whole, events = "application/json; charset=utf-8", "text/event-stream"
	event := "data: {\"a\":[1,2,{\"b\":\"}],,,\\\"[\"}]}\n\n"
	for name, c := range map[string]struct {
		kind, want string
		body       io.Reader
	}{
		"small":                     {whole, "", strings.NewReader(`{"a":[1,2]}`)},
		"bytes without an end":      {whole, "33554432 bytes", &endless{text: "a"}},
		"a text without an end":     {whole, "33554432 bytes", io.MultiReader(strings.NewReader(`{"a":"`), &endless{text: "[{,"})},
		"values without an end":     {whole, "500000 JSON values", io.MultiReader(strings.NewReader(`[`), &endless{text: "{},\n\n"})},
		"too deep":                  {whole, "1000 JSON values in each other", &endless{text: "["}},
		"deep enough":               {whole, "", strings.NewReader(strings.Repeat("[", 1000) + strings.Repeat("]", 1000))},
		"brackets in a text":        {whole, "", strings.NewReader(`"` + strings.Repeat(`[{\"`, 5000) + `"`)},
		"many events":               {events, "", strings.NewReader(strings.Repeat(event, 110_000))},
		"events without an end":     {events, "33554432 bytes", &endless{text: event}},
		"an event without an end":   {events, "500000 JSON values", io.MultiReader(strings.NewReader("data: ["), &endless{text: "{},"})},
		"an event of many lines":    {events, "500000 JSON values", io.MultiReader(strings.NewReader("data: [\n\n"), &endless{text: "data: {},\n\n"})},
		"a quote in a comment":      {events, "1000 JSON values in each other", io.MultiReader(strings.NewReader(": it's 5\" long\ndata: "), &endless{text: "["})},
		"lines end with a return":   {events, "", strings.NewReader(strings.ReplaceAll(strings.Repeat(event, 110_000), "\n", "\r\n"))},
		"bytes come one at a time":  {events, "", iotest.OneByteReader(strings.NewReader(strings.Repeat(event, 1000)))},
		"a broken connection":       {whole, "broken", io.MultiReader(strings.NewReader("{"), iotest.ErrReader(errors.New("broken")))},
		"it fails again when asked": {whole, "JSON values", &endless{text: "{},"}},
	} {
		resp := answer(t.Context(), 200, c.kind, c.body)
		n, err := io.Copy(io.Discard, resp.Body)
		if c.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.want, name)
			require.LessOrEqual(t, n, int64(inbound.MaxBytes), name)
			_, again := resp.Body.Read(make([]byte, 1))
			require.Equal(t, err, again, name)
		}
		require.NoError(t, resp.Body.Close())
	}
}

func TestRefusalsAreCut(t *testing.T) {
	resp := answer(t.Context(), 503, "text/html", &endless{text: "[{\""})
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Len(t, text, 64<<10)
}

func TestMessages(t *testing.T) {
	message := `{"jsonrpc":"2.0","id":1,"result":{"a":[1,"]}\"",{}]}}` + "\n"
	for name, c := range map[string]struct {
		want string
		in   io.Reader
	}{
		"many":                      {"", strings.NewReader(strings.Repeat(message, 70_000))},
		"more than one's bytes":     {"", io.LimitReader(&endless{text: `{"a":"` + strings.Repeat("x", 1000) + "\"}\n"}, 2*inbound.MaxBytes)},
		"a line without an end":     {"33554432 bytes in one message", &endless{text: "x"}},
		"a text without an end":     {"33554432 bytes in one message", io.MultiReader(strings.NewReader(`{"a":"`), &endless{text: "x\n"})},
		"lines in a message":        {"500000 JSON values", io.MultiReader(strings.NewReader("[\n"), &endless{text: "{},\n"})},
		"deep":                      {"1000 JSON values in each other", &endless{text: "[\n"}},
		"deep after a text's break": {"1000 JSON values in each other", io.MultiReader(strings.NewReader("[\"a\n\","), &endless{text: "["})},
		"blank lines":               {"", io.LimitReader(&endless{text: "\n"}, 2*inbound.MaxBytes)},
	} {
		_, err := io.Copy(io.Discard, inbound.Messages(c.in))
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.want, name)
		var large *inbound.Error
		require.ErrorAs(t, err, &large)
	}
}

// What is read is what was sent, and the count does not depend on how it was cut.
func TestNothingIsChanged(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("{}[],\"\\\n\ra:"))).Draw(r, "text")
		kind := rapid.SampledFrom([]string{"application/json", "text/event-stream"}).Draw(r, "kind")
		got, err := io.ReadAll(
			answer(context.Background(), 200, kind,
				iotest.HalfReader(strings.NewReader(text))).Body,
		)
		require.NoError(r, err)
		require.Equal(r, text, string(got))
		got, err = io.ReadAll(inbound.Messages(iotest.OneByteReader(strings.NewReader(text))))
		require.NoError(r, err)
		require.Equal(r, text, string(got))
	})
}

func TestValues(t *testing.T) {
	require.Equal(t, 0, inbound.Values([]byte(`"a,b"`)))
	require.Equal(t, 4, inbound.Values([]byte(`{"a":[1,2],"b":"["}`)))
	require.Greater(t, inbound.Values(bytes.Repeat([]byte("["), 2000)), inbound.MaxValues)
}

// Of many large answers at once, two are held: from when they get large until they are decoded.
func TestLargeAnswersWaitForEachOther(t *testing.T) {
	inbound.DecodeWithin(t, time.Hour) // longer than a busy machine needs
	large := func() io.Reader { return strings.NewReader(`"` + strings.Repeat("x", 2<<20) + `"`) }
	var held, most atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			ctx, decoded := inbound.Hold(t.Context())
			defer decoded()
			for range 2 { // such as a call that is made again
				resp := answer(ctx, 200, "application/json", large())
				_, err := io.Copy(io.Discard, resp.Body)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
			}
			n := held.Add(1)
			for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
			}
			time.Sleep(5 * time.Millisecond) // it is decoded
			held.Add(-1)
		})
	}
	all.Wait()
	require.LessOrEqual(t, most.Load(), int32(2))

	// Two are held, so a third waits as long as its context lasts. Small ones do not wait.
	var ends []func()
	for range 2 {
		ctx, decoded := inbound.Hold(t.Context())
		_, err := io.Copy(io.Discard, answer(ctx, 200, "application/json", large()).Body)
		require.NoError(t, err)
		ends = append(ends, decoded)
	}
	_, err := io.Copy(io.Discard,
		answer(t.Context(), 200, "application/json", strings.NewReader(`{}`)).Body)
	require.NoError(t, err)
	late := errors.New("too late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, late)
	defer cancel()
	_, err = io.Copy(io.Discard, answer(ctx, 200, "application/json", large()).Body)
	require.Equal(t, late, err)

	// They end, once each. What a call that has ended still reads is not large.
	for _, end := range ends {
		end()
		end()
	}
	for i := range 5 {
		resp := answer(t.Context(), 200, "application/json", large()) // held until it is closed
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err, fmt.Sprint(i))
		require.NoError(t, resp.Body.Close())
	}
	over, decoded := inbound.Hold(t.Context())
	decoded()
	_, err = io.Copy(io.Discard, answer(over, 200, "application/json", large()).Body)
	require.ErrorContains(t, err, "has ended")
}

// A server that does not end a large answer keeps nobody waiting, nor does a long stream of small
// events, as a model's.
func TestAnswersThatGoOnHoldUpNobody(t *testing.T) {
	begun := strings.Repeat("x", 2<<20)
	chunk := "data: {\"choices\":[{\"delta\":{\"content\":\"word \"}}]}\n\n"
	for name, c := range map[string]struct{ kind, text string }{
		"an answer that does not end": {"application/json", `"` + begun},
		"an event that does not end":  {"text/event-stream", `data: "` + begun},
		"a long stream":               {"text/event-stream", strings.Repeat(chunk, 2<<20/len(chunk))},
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				ctx, decoded := inbound.Hold(t.Context())
				defer decoded()
				rest, server := io.Pipe() // nothing comes any more
				defer server.Close()
				resp := answer(ctx, 200, c.kind, io.MultiReader(strings.NewReader(c.text), rest))
				_, err := io.CopyN(io.Discard, resp.Body, int64(len(c.text)))
				require.NoError(t, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			honest := answer(ctx, 200, "application/json", strings.NewReader(`"`+begun+`"`))
			defer honest.Body.Close()
			_, err := io.Copy(io.Discard, honest.Body)
			require.NoError(t, err)
		})
	}
}

// A call that goes on after a large answer was there is the one that decodes for three seconds at most.
func TestNobodyDecodesForLong(t *testing.T) {
	event := `data: "` + strings.Repeat("x", 2<<20) + "\"\n\n"
	began := time.Now()
	for range 3 {
		ctx, decoded := inbound.Hold(t.Context())
		defer decoded()
		resp := answer(ctx, 200, "text/event-stream", strings.NewReader(event+event))
		_, err := io.CopyN(io.Discard, resp.Body, int64(len(event)))
		require.NoError(t, err)
	}
	require.Greater(t, time.Since(began), 2*time.Second)
}
