package guardrail_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// shelf is a server with a policy.
type shelf struct {
	*httptest.Server
	mu     sync.Mutex
	text   string // what it answers; "" for an error
	tag    string
	hits   int
	unread int // answers without a body, since nothing has changed
}

func newShelf(t *testing.T, text string) *shelf {
	s := &shelf{text: text, tag: `"1"`}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hits++
		if s.text == "" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if s.tag != "" && r.Header.Get("If-None-Match") == s.tag {
			s.unread++
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if s.tag != "" {
			w.Header().Set("ETag", s.tag)
		}
		_, _ = w.Write([]byte(s.text))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *shelf) put(text, tag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
	s.tag = tag
}

func (s *shelf) counts() (hits, unread int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits, s.unread
}

// A policy is loaded from an address, and asked for again while runs go on. What is wrong there
// leaves the one before it in force, and the log says which that is.
func TestPolicyFromAnAddress(t *testing.T) {
	const one = `{release: one, rules: [{id: a, detect: {words: [heron]}, action: redact}]}`
	const two = `{release: two, rules: [{id: a, detect: {words: [egret]}, action: redact}]}`
	shelf := newShelf(t, one)
	var clock sync.Mutex
	now := time.Now()
	s := stage(
		t,
		guardrail.Config{File: shelf.URL + "/p.yaml", Reload: true, Now: func() time.Time {
			clock.Lock()
			defer clock.Unlock()
			return now
		}},
		slices.Repeat([]any{"ok"}, 1000)...)
	run := func(text string) string { return s.run(text)[0] }
	later := func() { // looks again, and waits until that is done
		clock.Lock()
		now = now.Add(time.Minute)
		clock.Unlock()
		before, _ := shelf.counts()
		require.Eventually(
			t,
			func() bool { // a run does not look while the look before it has not ended
				run("x")
				hits, _ := shelf.counts()
				return hits > before
			},
			time.Minute,
			100*time.Millisecond,
		)
	}
	require.Equal(t, "user: a [WORD], an egret", run("a heron, an egret"))
	hits, _ := shelf.counts()
	require.Equal(t, 1, hits, "it is not asked with each run")

	later()
	_, unread := shelf.counts()
	require.Equal(t, 1, unread)

	shelf.put(two, `"2"`)
	later()
	require.Eventually(t,
		func() bool { return run("a heron, an egret") == "user: a heron, an [WORD]" }, time.Minute,
		10*time.Millisecond)
	for _, wrong := range []string{"", "rules: [{id: a, actoin: flag}]"} {
		shelf.put(wrong, `"3"`)
		later()
		require.Equal(t, "user: a heron, an [WORD]", run("a heron, an egret"))
	}

	// Once the address answers again, and with no tag, nothing is wrong any more.
	shelf.put(two, "")
	for range 3 {
		later()
	}
	require.NoError(t, s.runner.Close(ctx)) // it waits for who asks
	require.Equal(t, []string{
		"INFO one the policy is in force",
		"INFO two the policy was reloaded",
		"ERROR two the policy was not reloaded; the one before it stays in force: HTTP status 502",
		"ERROR two the policy was not reloaded; the one before it stays in force: unknown key \"actoin\"",
		"INFO two the policy that is in force can be read again",
	}, policyRecords(t, s.log.String()))
}

// policyRecords returns what a log says of the policy that is in force: level, release and message,
// with the part of an error that a reader looks for. What is said again is said once.
func policyRecords(t *testing.T, log string) (list []string) {
	reason := regexp.MustCompile(`HTTP status \d+|unknown key "\w+"|context deadline exceeded`)
	for line := range strings.Lines(log) {
		var r struct{ Level, Msg, Release, Revision, Error string }
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		if r.Revision == "" || !strings.Contains(r.Msg, "policy") {
			continue
		}
		said := r.Level + " " + r.Release + strings.TrimPrefix(r.Msg, "guardrail:")
		if r.Error != "" {
			said += ": " + reason.FindString(r.Error)
		}
		if r.Level != "WARN" {
			list = append(list, said)
		}
	}
	return list
}

// The run that asks an address has the policy that it finds there.
func TestTheRunThatAsksWaits(t *testing.T) {
	shelf := newShelf(t, `rules: [{id: a, detect: {words: [heron]}, action: redact}]`)
	now := time.Now()
	s := stage(t,
		guardrail.Config{File: shelf.URL, Reload: true, Now: func() time.Time { return now }}, "1",
		"2")
	require.Equal(t, "user: a [WORD]", s.run("a heron")[0])
	shelf.put(`rules: [{id: a, detect: {words: [egret]}, action: redact}]`, `"2"`)
	now = now.Add(time.Minute)
	require.Equal(t, "user: an [WORD]", s.run("an egret")[0])
}

// Nobody waits for an address that does not answer, neither a run nor the end of the program.
func TestAnAddressThatHangs(t *testing.T) {
	hangs := make(chan struct{})
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 1 {
			<-hangs
		}
		_, _ = w.Write([]byte(`rules: [{id: a, detect: {words: [heron]}, action: redact}]`))
	}))
	defer server.Close()
	defer close(hangs)
	now := time.Now()
	s := stage(t,
		guardrail.Config{File: server.URL, Reload: true, Now: func() time.Time { return now }}, "1",
		"2")
	now = now.Add(time.Minute)
	require.Equal(t, "user: a [WORD]", s.run("a heron")[0])
	require.NoError(t, s.runner.Close(ctx))
	require.Equal(t, []string{"INFO  the policy is in force"}, policyRecords(t, s.log.String()))
}

// An address that says "not modified" to somebody who has nothing, or that points elsewhere, has no
// policy.
func TestAddressesWithoutAPolicy(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusNotModified: "HTTP status 304",
		http.StatusFound:       "redirects to another address",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if status == http.StatusFound {
				w.Header().Set("Location", "/there")
			}
			w.WriteHeader(status)
		}))
		_, err := guardrail.New(guardrail.Config{File: server.URL})
		require.ErrorContains(t, err, want)
		server.Close()
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	for name, want := range map[string]string{
		"http://policies.corp.example/p.yaml":    "a policy is loaded over https",
		"https://ann:secret@corp.example/p.yaml": "without a user",
		"ftp://corp.example/p.yaml":              "a policy is loaded over https",
		"http://127.0.0.1:1/p.yaml":              "the policy cannot be loaded",
	} {
		_, err := guardrail.New(guardrail.Config{File: name})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
}

// Each decision is a line of JSON, with the policy's revision and release, and nothing of the text.
func TestDecisionsAreWritten(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "p.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
release: "7"
on_error: allow
rules:
  - {id: a, detect: {words: [heron]}, action: redact}
  - {id: b, mode: shadow, detect: {words: [canary]}, action: block}
  - {id: c, stages: [output], when: int(text) > 1, action: block}
`), 0o600))
	log := filepath.Join(dir, "decisions.jsonl")
	s := stage(t, guardrail.Config{File: file, Decisions: log}, "a canary")
	events := s.events("two heron, heron")
	require.NoError(t, s.runner.Close(ctx))

	f, err := os.Open(log)
	require.NoError(t, err)
	defer f.Close()
	var lines []guardrail.Decision
	for scanner := bufio.NewScanner(f); scanner.Scan(); {
		require.NotContains(t, scanner.Text(), "heron")
		require.NotContains(t, scanner.Text(), "canary")
		var d guardrail.Decision
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &d))
		lines = append(lines, d)
	}
	require.Len(t, lines, 3)
	first := lines[0]
	require.Equal(t, []any{"7", file, "app", "ann", "s", "", "a", policy.Redact, 2}, []any{
		first.Release, first.Policy, first.App, first.User, first.Session, first.Agent, first.Rule, first.Action, first.Count,
	})
	require.Equal(t, events[0].InvocationID, first.Invocation)
	require.WithinDuration(t, time.Now(), first.Time, time.Hour)
	require.Equal(t, []any{"bot", "b", policy.Allow, policy.Block},
		[]any{lines[1].Agent, lines[1].Rule, lines[1].Action, lines[1].Would})
	require.Equal(t, []any{"on_error", policy.Allow}, []any{lines[2].Rule, lines[2].Action})
	require.Contains(t, lines[2].Error, "rule c: when: it cannot be computed")
	n, _ := guardrail.NoteOf(events[0])
	require.Equal(t, "7", n.Release)
}

// A judge that has not answered is a decision, too, whatever its rule says is done then.
func TestDecisionsAreWrittenOfJudgesThatFail(t *testing.T) {
	log := filepath.Join(t.TempDir(), "decisions.jsonl")
	j := &panel{answers: map[string]string{"strict": "banana", "lenient": "banana"}}
	s := stage(t, guardrail.Config{Decisions: log, Models: only(j.model()), Policy: parse(t, `
rules:
  - {id: lenient, stages: [input, tool_args], judge: {model: judge, question: lenient, timeout: 1m, on_error: allow}, action: block}
  - {id: strict, stages: [output], judge: {model: judge, question: strict, timeout: 1m, on_error: block}, action: flag}
`)}, []*genai.Part{
		{FunctionCall: call("fetch", nil)},
		{FunctionCall: call("send", map[string]any{"to": "a@b"})},
	}, "Good morning.")
	s.run("hello")
	require.NoError(t, s.runner.Close(ctx))

	data, err := os.ReadFile(log)
	require.NoError(t, err)
	var said [][]any
	for line := range strings.Lines(string(data)) {
		var d guardrail.Decision
		require.NoError(t, json.Unmarshal([]byte(line), &d))
		require.Contains(t, d.Error, "its model has not answered with")
		require.Zero(t, d.Score, "no judge has given one")
		said = append(said, []any{d.Rule, d.Stage, d.Type, d.Action, d.Count})
	}
	require.Equal(t, [][]any{
		{"lenient", policy.Input, "UNJUDGED", policy.Allow, 1},
		{"lenient", policy.ToolArgs, "UNJUDGED", policy.Allow, 2},
		{"strict", policy.Output, "UNJUDGED", policy.Block, 1},
	}, said)
}
