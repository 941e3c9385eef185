package kitstore

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/internal/codec"
	"github.com/plughook/plughook/session/internal/spelling"
)

// The columns of the table events that have one key of an event each, by what they hold. Not every version of
// a kit has all. The key is the column's name without "_json", as the Python kit spells it or in camelCase.
var (
	textColumns = strings.Fields("id invocation_id author branch isolation_scope error_code error_message")
	flagColumns = strings.Fields("partial turn_complete interrupted")
	jsonColumns = strings.Fields("content grounding_metadata custom_metadata usage_metadata citation_metadata " +
		"input_transcription output_transcription long_running_tool_ids_json routes_json output_json node_info_json " +
		"requested_input_json")
	keyColumns = slices.Concat(textColumns, flagColumns, jsonColumns)
)

// eventColumns returns the columns of events that are read, "id" first.
func (d *Database) eventColumns() []string {
	list := []string{"id", "timestamp"}
	if d.whole {
		return append(list, "invocation_id", "event_data")
	}
	list = append(list, "actions")
	for _, c := range keyColumns {
		if c != "id" && d.events[c] {
			list = append(list, c)
		}
	}
	return list
}

// A log is a session that is being read.
type log struct {
	d       *Database
	key     session.Key
	created time.Time
	updated time.Time
	entries []entry
	left    []string
}

// An entry is an event with its time, which may be that of a clock in a zone that nobody has named yet.
type entry struct {
	event *session.Event
	time  time.Time
	local bool
}

func (d *Database) newLog(r row) *log {
	l := &log{d: d, key: r.key()}
	l.created, _, _ = parseTime(string(r[3])) // a time that is none stays unset
	l.updated, _, _ = parseTime(string(r[4]))
	return l
}

func (l *log) leave(format string, args ...any) {
	l.left = append(l.left, fmt.Sprintf(format, args...))
}

// add takes in an event's row.
func (l *log) add(columns []string, r row) {
	values := make(map[string][]byte, len(columns))
	for i, c := range columns {
		values[c] = r[i]
	}
	id := string(values["id"])
	at, local, err := parseTime(string(values["timestamp"]))
	if err != nil {
		l.leave("event %q: its time is left out: %v", id, err)
		local = false
	}
	var data []codec.Member
	if l.d.whole {
		data = l.wholeEvent(id, values)
	} else {
		data = l.eventOfColumns(id, values)
	}
	e, err := session.DecodeEvent(codec.Object(data))
	if err != nil {
		l.leave("event %q: all but its id is left out: %v", id, err)
		e = &session.Event{ID: id, InvocationID: string(values["invocation_id"])}
	}
	if !e.Timestamp.IsZero() { // the event says its time itself, and says it in UTC
		at = e.Timestamp
		local = false
	}
	if e.Partial {
		l.leave("event %q is left out: it is a part of one that follows", id)
		return
	}
	l.entries = append(l.entries, entry{event: e, time: at, local: local})
}

// wholeEvent returns an event that stands in one column. The columns beside it count, as in the kit.
func (l *log) wholeEvent(id string, values map[string][]byte) []codec.Member {
	list := []codec.Member{member("id", id)}
	if invocation := values["invocation_id"]; len(invocation) > 0 {
		list = append(list, member("invocation_id", string(invocation)))
	}
	value := l.json(id, "event_data", values["event_data"])
	if value == nil {
		l.leave("event %q has no data", id)
		return list
	}
	if value.Kind() != '{' {
		l.leave("event %q: its data is no JSON object, and is left out", id)
		return list
	}
	members, err := codec.Members(value)
	if err != nil {
		l.leave("event %q: its data is left out: %v", id, err)
		return list
	}
	for _, m := range members {
		if m.Name != "id" && m.Name != "invocation_id" && m.Name != "invocationId" && m.Value.Kind() != 'n' {
			list = append(list, m)
		}
	}
	return list
}

// eventOfColumns returns an event each of whose keys stands in a column. The first byte of its actions
// says which kit has written it: '{' is the Go kit's JSON, all else Python's pickle.
func (l *log) eventOfColumns(id string, values map[string][]byte) []codec.Member {
	ofGo := bytes.HasPrefix(values["actions"], []byte("{"))
	var list []codec.Member
	for i, c := range keyColumns {
		value := values[c]
		key := strings.TrimSuffix(c, "_json")
		if ofGo {
			key = spelling.Camel(key)
		}
		switch {
		case value == nil:
		case i < len(textColumns):
			if len(value) > 0 {
				list = append(list, member(key, string(value)))
			}
		case i < len(textColumns)+len(flagColumns):
			if string(value) == "1" || string(value) == "true" {
				list = append(list, codec.Member{Name: key, Value: jsontext.Value("true")})
			}
		default:
			if v := l.json(id, c, value); v != nil {
				list = append(list, codec.Member{Name: key, Value: v})
			}
		}
	}
	if actions := l.actions(id, values["actions"], ofGo); actions != nil {
		list = append(list, codec.Member{Name: "actions", Value: actions})
	}
	return list
}

// actions returns the JSON of an event's actions, nil if they cannot be read.
func (l *log) actions(id string, data []byte, ofGo bool) jsontext.Value {
	if ofGo {
		return l.json(id, "actions", data)
	}
	value, left, err := readPickle(data)
	for _, what := range left {
		l.leave("event %q: left out of its pickled actions: %s", id, what)
	}
	if err != nil {
		l.leave("event %q: its pickled actions are left out: %v", id, err)
		return nil
	}
	if _, ok := value.(map[string]any); !ok {
		l.leave("event %q: its pickled actions are left out: they are no object", id)
		return nil
	}
	encoded, err := json.Marshal(value, codec.Encoding)
	if err != nil {
		l.leave("event %q: its pickled actions are left out: %v", id, err)
		return nil
	}
	return encoded
}

// json returns the JSON of a column, nil if it has none.
func (l *log) json(id, column string, data []byte) jsontext.Value {
	value, mended, err := parseJSON(data)
	if err != nil {
		l.leave("event %q: its column %s is left out: %v", id, column, err)
		return nil
	}
	if mended {
		l.leave("event %q: a number that is NaN or infinite became null in its column %s", id, column)
	}
	if value.Kind() == 'n' {
		return nil
	}
	return value
}

func member(name, text string) codec.Member {
	quoted, _ := jsontext.AppendQuote(nil, text) // bytes that are not UTF-8 become U+FFFD
	return codec.Member{Name: name, Value: quoted}
}

// parseJSON returns JSON as it is, but for NaN and Infinity, which Python writes: they become null.
func parseJSON(data []byte) (value jsontext.Value, mended bool, err error) {
	if len(data) == 0 {
		return jsontext.Value("null"), false, nil
	}
	value = bytes.Clone(data)
	err = value.Compact(codec.Decoding)
	if err == nil {
		return value, false, nil
	}
	var out []byte
	for i, quoted := 0, false; i < len(data); {
		b := data[i]
		taken := 1
		if quoted && b == '\\' && i+1 < len(data) {
			taken = 2
		}
		if b == '"' {
			quoted = !quoted
		}
		for _, word := range []string{"NaN", "-Infinity", "Infinity"} {
			if !quoted && bytes.HasPrefix(data[i:], []byte(word)) {
				out = append(out, "null"...)
				i += len(word)
				taken = 0
				mended = true
				break
			}
		}
		out = append(out, data[i:i+taken]...)
		i += taken
	}
	value = out
	if !mended || value.Compact(codec.Decoding) != nil {
		return nil, false, err
	}
	return value, true, nil
}

// session returns the session once all of its rows are there.
func (l *log) session() *Session {
	l.toUTC()
	// The kit orders events by their time alone. Of one time, a response comes after its call.
	slices.SortStableFunc(l.entries, func(a, b entry) int {
		return cmp.Or(a.time.Compare(b.time), len(a.event.FunctionResponses())-len(b.event.FunctionResponses()))
	})
	rec := &session.Recording{Key: l.key, Created: l.created, Updated: l.updated}
	for i, e := range l.entries {
		e.event.Timestamp = e.time
		e.event.Seq = int64(i) + 1
		rec.Events = append(rec.Events, e.event)
	}
	return &Session{Recording: rec, Left: l.left}
}

// toUTC turns local times into UTC. If the caller has not named the zone, it is guessed: the session's time of update is
// in UTC, and its last event has the local time of about the same moment.
func (l *log) toUTC() {
	var last time.Time
	for _, e := range l.entries {
		if e.local && e.time.After(last) {
			last = e.time
		}
	}
	if last.IsZero() {
		return
	}
	zone := l.d.zone
	if zone == nil {
		const quarter = 15 * time.Minute
		ahead := last.Sub(l.updated)
		offset := ahead.Round(quarter)
		if l.updated.IsZero() || offset.Abs() > 14*time.Hour || (ahead-offset).Abs() > 2*time.Minute {
			offset = 0
		}
		zone = time.FixedZone("", int(offset.Seconds()))
		l.leave("its times are local and name no zone; they were taken for UTC%s; --zone says it exactly",
			time.Time{}.In(zone).Format("-07:00"))
	}
	for i, e := range l.entries {
		if e.local {
			t := e.time
			l.entries[i].time = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(),
				t.Nanosecond(), zone).UTC()
		}
	}
}

// parseTime reads a time as the kits' databases hold it: a text with a zone, a text without one, which is
// returned as if it were UTC and said to be local, or seconds since 1970.
func parseTime(text string) (t time.Time, local bool, err error) {
	for _, layout := range []string{"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z07", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), false, nil
		}
	}
	for _, layout := range []string{time.DateTime, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true, nil
		}
	}
	if err := json.Unmarshal([]byte(text), &t, codec.Lenient); err != nil || jsontext.Value(text).Kind() != '0' {
		return time.Time{}, false, fmt.Errorf("%.40q is no time", text)
	}
	return t, false, nil
}
