package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/internal/escape"
	"github.com/plughook/plughook/session/internal/codec"
)

// A Recording is a session as a session file holds it: JSON Lines, a header
//
//	{"session":{"appName":"a","userId":"u","id":"s","state":{},"createTime":"2026-03-01T12:00:00Z","lastUpdateTime":"2026-03-01T12:30:00Z"}}
//
// (the state and the times may be left out) and then the session's events in the order of their positions, one a line. A file may hold many.
type Recording struct {
	Key Key
	// State is what the session was created with.
	State map[string]any
	// Created and Updated are the session's times. Where one is zero, Import takes the time of the first or
	// the last event.
	Created, Updated time.Time
	// Events have their positions in Seq: those in the file, or counted.
	Events []*Event
}

// A FileError says where a session file is wrong.
type FileError struct {
	File string
	Line int
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }

type fileHeader struct {
	App   string         `json:"appName"`
	User  string         `json:"userId"`
	ID    string         `json:"id"`
	State map[string]any `json:"state"`
	// Other kits' files have no createTime, and lastUpdateTime as seconds.
	Created time.Time `json:"createTime,omitzero"`
	Updated time.Time `json:"lastUpdateTime,omitzero"`
}

// ReadRecordings yields the sessions of a session file, each once it is whole. What is wrong in it ends
// the sequence with a *FileError, which says name and line.
func ReadRecordings(name string, r io.Reader) iter.Seq2[*Recording, error] {
	return func(yield func(*Recording, error) bool) {
		var rec *Recording
		lines := bufio.NewReaderSize(r, 1<<16)
		for n := 1; ; n++ {
			line, err := lines.ReadBytes('\n') // lines have any length
			if err != nil && err != io.EOF {
				yield(nil, &FileError{File: name, Line: n, Err: err})
				return
			}
			if n == 1 {
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			if len(bytes.TrimSpace(line)) > 0 {
				next, bad := rec.read(line)
				if bad != nil {
					yield(nil, &FileError{File: name, Line: n, Err: bad})
					return
				}
				if next != nil {
					if rec != nil && !yield(rec, nil) {
						return
					}
					rec = next
				}
			}
			if err == io.EOF {
				break
			}
		}
		if rec != nil {
			yield(rec, nil)
		}
	}
}

// read takes in a line. It returns the recording that begins with it, or nil for an event of rec.
func (rec *Recording) read(line []byte) (*Recording, error) {
	var h struct {
		Session jsontext.Value `json:"session"`
	}
	err := json.Unmarshal(line, &h, codec.Decoding)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("the line ends within its JSON: the file is cut here, or an object has several lines and must have one: %w", err)
	case err != nil:
		return nil, err
	}
	if h.Session != nil {
		var s fileHeader
		if err := json.Unmarshal(h.Session, &s, codec.Lenient, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("session header: %w", err)
		}
		next := &Recording{
			Key:     Key{App: s.App, User: s.User, ID: s.ID},
			State:   s.State,
			Created: s.Created,
			Updated: s.Updated,
		}
		if err := codec.CheckNames(s.App, s.User, s.ID); err != nil {
			return nil, fmt.Errorf("session header: %w", err)
		}
		return next, next.Key.Check(false)
	}
	if rec == nil {
		return nil, errors.New(`an event before any session: the first line of a session is {"session":{"appName":…,"userId":…,"id":…}}`)
	}
	e, err := decode(bytes.Clone(line))
	if err != nil {
		return nil, err
	}
	if !e.hasKnownKey() {
		return nil, errors.New("not an event: it has no key that an event has, such as id, author, content or actions")
	}
	seq := int64(len(rec.Events)) + 1
	if e.Seq != 0 && e.Seq != seq {
		return nil, fmt.Errorf("event %q has seq %d, and is number %d of its session", e.ID, e.Seq, seq)
	}
	e.Seq = seq
	rec.Events = append(rec.Events, e)
	return nil, nil
}

// hasKnownKey reports whether an event that was read has a key that some kit's events have.
func (e *Event) hasKnownKey() bool {
	members, err := codec.Members(e.origin)
	if err != nil {
		return false
	}
	for _, m := range members {
		if _, extra := e.Extra[m.Name]; !extra || spellings.Known(m.Name) {
			return true
		}
	}
	return false
}

// writeRecording writes the header of a session and its events.
func writeRecording(w io.Writer, s *Session, events iter.Seq2[*Event, error]) error {
	h := struct {
		Session fileHeader `json:"session"`
	}{fileHeader{
		App:     s.App,
		User:    s.User,
		ID:      s.ID,
		State:   s.Initial,
		Created: s.Created.UTC(),
		Updated: s.Updated.UTC(),
	}}
	data, err := json.Marshal(&h, codec.Encoding)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	b.Write(append(escape.JSON(data), '\n')) // the first error stays until Flush
	for e, err := range events {
		if err != nil {
			return err
		}
		data, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		if _, err := b.Write(append(escape.JSON(data), '\n')); err != nil {
			return err
		}
	}
	return b.Flush()
}

// Export writes a session to w. Its file can be shown on a terminal: control characters, and those
// that change the direction of text, are escaped.
func Export(ctx context.Context, svc Service, key Key, w io.Writer) error {
	s, err := svc.Get(ctx, key)
	if err != nil {
		return err
	}
	return writeRecording(w, s, svc.Read(ctx, key, Selection{}))
}

// Import creates a session from a recording, all of it or no session. The session's times become the recording's. It
// may be repeated: a session that was created with the same state and begins with the same events is left as it is,
// and one that a killed import left empty gets its events. It is ErrExists if another session has the key.
//
// An Import that fails leaves no session, but state of the app and the user ("app:" and "user:" keys of
// Recording.State) as the recording has it: it was set when the session was created.
func Import(ctx context.Context, svc Service, rec *Recording) (err error) {
	// What is wrong with the recording is told before anything is changed, where it can be.
	if err := distinct(rec); err != nil {
		return err
	}

	// The session is made, unless an import that was killed has made it.
	_, err = svc.Create(ctx, rec.Key, rec.State)
	exists := errors.Is(err, ErrExists)
	if err != nil && !exists {
		return err
	}

	// Nobody else's run comes between.
	lease, err := svc.Lease(ctx, rec.Key, "import")
	if err == nil {
		defer lease.Release()
		err = fill(ctx, svc, rec, lease, exists)
	}

	// What this import has made and could not fill goes again.
	if err != nil && !exists {
		err = errors.Join(err, svc.Delete(context.WithoutCancel(ctx), rec.Key))
	}
	return err
}

// fill appends the events of a recording to the session that was made for it. It may exist since an earlier import.
func fill(ctx context.Context, svc Service, rec *Recording, lease *Lease, exists bool) error {
	// A session that was there must be the recording's: with its state, and empty or with all its events.
	s, err := svc.Get(ctx, rec.Key)
	if err != nil {
		return err
	}
	if exists && (!sameState(s.Initial, rec.State) || s.Position > 0 && s.Position < int64(len(rec.Events))) {
		return &KeyError{Key: rec.Key, Err: ErrExists}
	}

	// All events go in at once. Those that are there already are not appended again.
	_, err = svc.Append(ctx, AppendTarget{Key: rec.Key, Fence: lease.Fence}, rec.Events...)
	switch {
	case err == nil:
		err = whole(rec)
		if err == nil && (!exists || s.Position < int64(len(rec.Events))) { // it was filled now
			err = svc.SetTimes(ctx, rec.Key, rec.created(), rec.updated())
		}
	case errors.Is(err, ErrIDReused) || errors.Is(err, ErrConflict): // it has other events than these
		if s.Position > 0 {
			return &KeyError{Key: rec.Key, Err: ErrExists}
		}
	}
	return err
}

// created returns when the session was created, or its first event was made.
func (rec *Recording) created() time.Time {
	if rec.Created.IsZero() && len(rec.Events) > 0 && CheckTime(rec.Events[0].Timestamp) == nil {
		return rec.Events[0].Timestamp
	}
	return rec.Created
}

// updated returns when the session was changed, or its last event was made.
func (rec *Recording) updated() time.Time {
	if rec.Updated.IsZero() && len(rec.Events) > 0 {
		if last := rec.Events[len(rec.Events)-1].Timestamp; CheckTime(last) == nil {
			return last
		}
	}
	return rec.Updated
}

// distinct returns an error if a recording has an event twice, or a part of one.
func distinct(rec *Recording) error {
	seen := map[string]bool{}
	for i, e := range rec.Events {
		if e != nil && (e.Partial || seen[e.ID]) {
			return invalid("session %s: event %d of the recording, %q, is partial or repeats an earlier one; "+
				"a recording has each event once, and whole", rec.Key, i+1, e.ID)
		}
		if e != nil && e.ID != "" {
			seen[e.ID] = true
		}
	}
	return nil
}

// whole returns an error if a recording's events did not each get the position they have in it.
func whole(rec *Recording) error {
	for i, e := range rec.Events {
		if e.Seq != int64(i)+1 {
			return invalid("session %s: event %d of the recording, %q, is at %d in the log", rec.Key, i+1, e.ID, e.Seq)
		}
	}
	return nil
}

// sameState reports whether two states are stored alike: "temp:" keys and nil values are not stored.
func sameState(a, b map[string]any) bool {
	one, err := storedState(a)
	if err != nil {
		return false
	}
	two, err := storedState(b)
	return err == nil && bytes.Equal(one, two)
}

func storedState(state map[string]any) ([]byte, error) {
	stored := map[string]jsontext.Value{}
	for key, v := range state {
		value, err := codec.EncodeValue(v)
		if err != nil {
			return nil, err
		}
		if value != nil && !strings.HasPrefix(key, TempPrefix) {
			stored[key] = value
		}
	}
	return json.Marshal(stored, codec.Encoding)
}
