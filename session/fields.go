package session

import (
	"reflect"
	"strings"

	"github.com/plughook/plughook/session/internal/spelling"
)

// A FieldKind says what a field of an event holds, for code that treats all fields of a kind alike. A field of Event
// and of Actions names its kind in its tag, as in
//
//	ErrorMessage string `json:"errorMessage,omitzero" event:"text"`
//
// Clone, the reading of other kits' spellings, store.CheckRewind, the runner's replacement of an event and the guardrail's
// walk through its texts follow these tags, so a new field is added in one place.
type FieldKind string

const (
	// Identity says which event it is, when it was and whose it is. The runner and the store set it. A replacement
	// of the event keeps it.
	Identity FieldKind = "identity"
	// Text is a string that people or models write.
	Text FieldKind = "text"
	// Word is a string for programs, such as the code of an error.
	Word FieldKind = "word"
	// Keys is a map whose keys somebody has chosen, and whose values are numbers.
	Keys FieldKind = "keys"
	// JSON is any JSON value: an object with keys that somebody has chosen, or an any.
	JSON FieldKind = "json"
	// Report is a pointer to what a model's service says about its answer.
	Report FieldKind = "report"
	// Flag has nothing that somebody has written: a bool, a number, or the ids of calls.
	Flag FieldKind = "flag"
	// Record is a structure of its own. Whoever looks for texts needs a step for each record.
	Record FieldKind = "record"
)

// A Field is a row of the table of an event's fields: a field of Event, or of its Actions.
type Field struct {
	// Name is the Go name, as in "ErrorMessage" and "Actions.StateDelta". Key is the JSON name.
	Name, Key string
	// Kind is what the tag says.
	Kind FieldKind
	// Application says that the field has the application's own words, but in an input, which a caller writes
	// (",application" in the tag).
	Application bool

	index  []int
	offset uintptr // in Event
}

// fields is the table. Extra and Actions are no rows.
var fields = append(fieldsOf(reflect.TypeFor[Event](), "", nil, 0),
	fieldsOf(reflect.TypeFor[Actions](), "Actions.", actionsField.Index, actionsField.Offset)...)

var actionsField, _ = reflect.TypeFor[Event]().FieldByName("Actions")

// Fields returns the table of an event's fields. Nobody may change it.
func Fields() []Field { return fields }

// In returns the field of an event. It can be set.
func (f *Field) In(e *Event) reflect.Value { return reflect.ValueOf(e).Elem().FieldByIndex(f.index) }

// fieldsOf returns the rows of a struct that begins at an offset of an event.
func fieldsOf(t reflect.Type, prefix string, index []int, offset uintptr) []Field {
	var rows []Field
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" || f.Type == reflect.TypeFor[Actions]() {
			continue
		}
		kind, application := strings.CutSuffix(f.Tag.Get("event"), ",application")
		rows = append(rows, Field{
			Name:        prefix + f.Name,
			Key:         key,
			Kind:        FieldKind(kind),
			Application: application,
			index:       append(index[:len(index):len(index)], i),
			offset:      offset + f.Offset,
		})
	}
	return rows
}

// spellings knows the fields' names in every spelling.
var spellings = func() *spelling.Table {
	var event, actions, free []string
	for _, f := range fields {
		if strings.HasPrefix(f.Name, "Actions.") {
			actions = append(actions, f.Key)
		} else {
			event = append(event, f.Key)
		}
		if f.Kind == JSON || f.Kind == Keys {
			free = append(free, f.Key)
		}
	}
	return spelling.NewTable(append(event, "actions"), actions, free)
}()

// KeepIdentity gives the event the identity of another one, in whose place it comes.
func (e *Event) KeepIdentity(of *Event) {
	for _, f := range fields {
		if f.Kind == Identity {
			f.In(e).Set(f.In(of))
		}
	}
}
