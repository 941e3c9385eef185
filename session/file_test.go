package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

func recordings(r io.Reader) (list []*session.Recording, err error) {
	for rec, err := range session.ReadRecordings("f.jsonl", r) {
		if err != nil {
			return list, err
		}
		list = append(list, rec)
	}
	return list, nil
}

const twoSessions = "\ufeff" + `{"session":{"appName":"a","userId":"u","id":"1","state":{"k":12345678901234567890},"lastUpdateTime":1.5}}
{"id":"e1","timestamp":"2026-01-02T03:04:05Z","content":{"role":"user","parts":[{"text":"hi","new":1.0}]}}

   {"id":"e2","seq":2,"timestamp":1767323045,"other":12345678901234567890}   ` + "\r" + `
{"session":{"appName":"a","userId":"u","id":"2"}}
{"id":"e1","timestamp":"2026-01-02T03:04:05Z"}`

func TestReadRecordings(t *testing.T) {
	for name, r := range map[string]io.Reader{"at once": strings.NewReader(twoSessions), "byte by byte": iotest.OneByteReader(strings.NewReader(twoSessions)), "with a last line end": strings.NewReader(twoSessions + "\n")} {
		list, err := recordings(r)
		require.NoError(t, err, name)
		require.Len(t, list, 2, name)
		require.Equal(t, session.Key{App: "a", User: "u", ID: "1"}, list[0].Key)
		require.Equal(t, []int64{1, 2}, logtest.Positions(list[0].Events))
		require.Equal(t, "hi", list[0].Events[0].Text())
		require.Equal(t, []int64{1}, logtest.Positions(list[1].Events))
	}
	list, err := recordings(strings.NewReader(""))
	require.NoError(t, err)
	require.Empty(t, list)
	for range session.ReadRecordings("f", strings.NewReader(twoSessions)) {
		break // leaving early is fine
	}
}

func TestReadRecordingsRefuses(t *testing.T) {
	head := `{"session":{"appName":"a","userId":"u","id":"1"}}` + "\n"
	for _, c := range []struct {
		name, text string
		line       int
		want       string
	}{
		{"an event first", `{"id":"1"}`, 1, "an event before any session"},
		{"no JSON", head + "\nhello", 3, ""},
		{"half a line", head + `{"id":"1"`, 2, ""},
		{"null", head + "null", 2, ""},
		{"a list", head + "[]", 2, ""},
		{"a header without a user", `{"session":{"appName":"a","id":"1"}}`, 1, "session header: it has no userId"},
		{"a header without an app", `{"session":{"userId":"u","id":"1"}}`, 1, "session header: it has no appName: "},
		{"a header without an id", `{"session":{"appName":"a","userId":"u"}}`, 1, "session header: it has no id: "},
		{"a header without anything", `{"session":null}`, 1, "it has no appName, no userId and no id"},
		{"a header on several lines", "{\n\"session\":{\"appName\":\"a\",\"userId\":\"u\",\"id\":\"1\"}}", 1, "the line ends within its JSON"},
		{"an unknown key in the header", `{"session":{"appName":"a","userId":"u","id":"1","user":"x"}}`, 1, "session header"},
		{"positions with a hole", head + `{"id":"1"}` + "\n" + `{"id":"2","seq":3}`, 3, "has seq 3, and is number 2"},
		{"no event's key", head + `{"id":"1"}` + "\n" + `{"hello":"world"}`, 3, "no key that an event has"},
		{"no key", head + `{}`, 2, "no key that an event has"},
		{"a key twice", head + `{"id":"1","id":"2"}`, 2, "duplicate"},
	} {
		_, err := recordings(strings.NewReader(c.text))
		var fe *session.FileError
		require.ErrorAs(t, err, &fe, c.name)
		require.Equal(t, "f.jsonl", fe.File, c.name)
		require.Equal(t, c.line, fe.Line, c.name)
		require.ErrorContains(t, err, c.want, c.name)
		require.Contains(t, err.Error(), "f.jsonl:", c.name)
	}
	broken := errors.New("broken pipe")
	_, err := recordings(io.MultiReader(strings.NewReader(head), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
}

// What is exported is what was appended: it imports into another store, and exports as the same bytes.
func TestExportImport(t *testing.T) {
	ctx, one, two := t.Context(), memory.New(), memory.New()
	list, err := recordings(strings.NewReader(twoSessions))
	require.NoError(t, err)
	var first, second bytes.Buffer
	for _, rec := range list {
		require.NoError(t, session.Import(ctx, one, rec))
		require.NoError(t, session.Import(ctx, one, rec), "again")
		require.NoError(t, session.Export(ctx, one, rec.Key, &first))
	}
	require.Equal(
		t,
		`{"session":{"appName":"a","userId":"u","id":"1","state":{"k":12345678901234567890},"createTime":"2026-01-02T03:04:05Z","lastUpdateTime":"1970-01-01T00:00:01.5Z"}}
{"id":"e1","timestamp":"2026-01-02T03:04:05Z","content":{"role":"user","parts":[{"text":"hi","new":1.0}]},"seq":1}
{"id":"e2","timestamp":"2026-01-02T03:04:05Z","other":12345678901234567890,"seq":2}
{"session":{"appName":"a","userId":"u","id":"2","state":{},"createTime":"2026-01-02T03:04:05Z","lastUpdateTime":"2026-01-02T03:04:05Z"}}
{"id":"e1","timestamp":"2026-01-02T03:04:05Z","seq":1}
`,
		first.String(),
	)
	list, err = recordings(bytes.NewReader(first.Bytes()))
	require.NoError(t, err)
	for _, rec := range list {
		require.NoError(t, session.Import(ctx, two, rec))
		require.NoError(t, session.Export(ctx, two, rec.Key, &second))
	}
	require.Equal(t, first.String(), second.String())
	require.ErrorIs(t,
		session.Export(ctx, two, session.Key{App: "a", User: "u", ID: "none"}, io.Discard),
		session.ErrNotFound)
	broken := errors.New("disk full")
	require.ErrorIs(t, session.Export(ctx, two, list[0].Key, failing{broken}), broken)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// An import that fails leaves no session behind.
func TestImportIsAllOrNothing(t *testing.T) {
	key := session.Key{App: "a", User: "u", ID: "1"}
	for name, events := range map[string][]*session.Event{
		"a bad event":   {session.Message("fine"), {ID: "r", Actions: session.Actions{Rewind: &session.Rewind{To: 7}}}},
		"a partial one": {session.Message("fine"), {ID: "p", Partial: true}},
		"one twice":     {{ID: "1"}, {ID: "1"}},
		"one like it":   {{ID: "1"}, {ID: "1", Author: "user"}},
	} {
		svc := memory.New()
		other, err := svc.Create(t.Context(), session.Key{App: "a", User: "u", ID: "other"},
			map[string]any{"app:n": 7})
		require.NoError(t, err)
		events[0].Actions.StateIncrement = map[string]float64{"app:n": 1}
		err = session.Import(t.Context(), svc, &session.Recording{Key: key, Events: events})
		require.ErrorIs(t, err, session.ErrInvalid, name)
		_, err = svc.Get(t.Context(), key)
		require.ErrorIs(t, err, session.ErrNotFound, name)
		other, err = svc.Get(t.Context(), other.Key)
		require.NoError(t, err)
		require.EqualValues(t, "7", fmt.Sprint(other.State["app:n"]), name)
	}
}

// An import that was killed between the session and its events is simply made again.
func TestImportGoesOn(t *testing.T) {
	mem := memory.New()
	for rec, err := range session.ReadRecordings("f", strings.NewReader(foreignMarks)) {
		require.NoError(t, err)
		_, err = mem.Create(t.Context(), rec.Key, map[string]any{"other": true})
		require.NoError(t, err)
		require.ErrorIs(t, session.Import(t.Context(), mem, rec), session.ErrExists)
		require.NoError(t, mem.Delete(t.Context(), rec.Key))
		_, err = mem.Create(t.Context(), rec.Key, rec.State)
		require.NoError(t, err)
		require.NoError(t, session.Import(t.Context(), mem, rec))
		require.NoError(t, session.Import(t.Context(), mem, rec), "it is there")
		rec.Events[2].ErrorMessage = "another event"
		require.ErrorIs(t, session.Import(t.Context(), mem, rec), session.ErrExists)
		s, err := mem.Get(t.Context(), rec.Key)
		require.NoError(t, err)
		require.EqualValues(t, 7, s.Position, "what is there is not deleted")
	}
}

// leaseFails is a service that gives nobody a lease.
type leaseFails struct{ session.Service }

func (leaseFails) Lease(context.Context, session.Key, string) (*session.Lease, error) {
	return nil, errors.New("no lease")
}

// An import that could not take the lease of the session that it has made leaves none.
func TestImportWithoutALeaseLeavesNoSession(t *testing.T) {
	t.Parallel()
	svc := memory.New()
	rec := &session.Recording{Key: session.Key{App: "a", User: "u", ID: "s"}}
	require.ErrorContains(t, session.Import(t.Context(), leaseFails{svc}, rec), "no lease")
	_, err := svc.Get(t.Context(), rec.Key)
	require.ErrorIs(t, err, session.ErrNotFound)

	// One that was there stays.
	_, err = svc.Create(t.Context(), rec.Key, nil)
	require.NoError(t, err)
	require.ErrorContains(t, session.Import(t.Context(), leaseFails{svc}, rec), "no lease")
	_, err = svc.Get(t.Context(), rec.Key)
	require.NoError(t, err)
}
