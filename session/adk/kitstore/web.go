package kitstore

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/internal/codec"
	"github.com/plughook/plughook/session/store"
)

// ReadWeb reads a session that the web page of a kit has saved as a JSON file.
func ReadWeb(data []byte) (*Session, error) {
	var file struct {
		ID      string           `json:"id"`
		App     string           `json:"appName"`
		User    string           `json:"userId"`
		State   map[string]any   `json:"state"`
		Events  []jsontext.Value `json:"events"`
		Updated jsontext.Value   `json:"lastUpdateTime"`
	}
	if err := json.Unmarshal(data, &file, codec.Lenient); err != nil {
		return nil, err
	}
	if err := codec.CheckNames(file.App, file.User, file.ID); err != nil {
		return nil, err
	}
	key := session.Key{App: file.App, User: file.User, ID: file.ID}
	if err := key.Check(false); err != nil {
		return nil, err
	}
	rec := &session.Recording{Key: key}
	s := &Session{Recording: rec}
	if len(file.Updated) > 0 && file.Updated.Kind() == '0' {
		if err := json.Unmarshal(file.Updated, &rec.Updated, codec.Lenient); err != nil {
			return nil, fmt.Errorf("lastUpdateTime: %w", err)
		}
	}
	timeless := 0
	for i, value := range file.Events {
		e, err := session.DecodeEvent(withoutNulls(value))
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", i+1, err)
		}
		if e.ID == "" {
			return nil, fmt.Errorf("event %d: it has no id", i+1)
		}
		if e.Partial {
			s.Left = append(s.Left, fmt.Sprintf("event %q is left out: it is a part of one that follows", e.ID))
			continue
		}
		if e.Timestamp.IsZero() { // the Go kit's page leaves them out
			if rec.Updated.IsZero() {
				return nil, errors.New("neither its events nor the session have a time")
			}
			e.Timestamp = rec.Updated
			timeless++
		}
		e.Seq = int64(len(rec.Events)) + 1
		rec.Events = append(rec.Events, e)
	}
	if timeless > 0 {
		s.Left = append(s.Left, fmt.Sprintf("%d events have no time; they got that of the session's last update", timeless))
	}
	// The file has the state of the session, its app and its user in one.
	all := newStates()
	all.sessions[key] = map[string]any{}
	for name, value := range file.State {
		owner := store.Owner(key, name)
		switch {
		case owner == "":
			all.sessions[key][name] = value
		case all.owners[owner] == nil:
			all.owners[owner] = map[string]any{name: value}
		default:
			all.owners[owner][name] = value
		}
	}
	all.note(s)
	all.finish(s)
	s.Left = append(s.Left, all.differences()...)
	return s, nil
}

// withoutNulls returns an event without the keys that are null: the Go kit's page writes all of them.
func withoutNulls(event jsontext.Value) jsontext.Value {
	if event.Kind() != '{' {
		return event
	}
	members, err := codec.Members(event)
	if err != nil {
		return event
	}
	kept := members[:0]
	for _, m := range members {
		if m.Value.Kind() != 'n' {
			kept = append(kept, m)
		}
	}
	return codec.Object(kept)
}
