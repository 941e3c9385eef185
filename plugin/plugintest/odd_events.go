package plugintest

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// oddID begins the IDs of the events that have unknown keys: one in each of the two files. A plugin that
// replaces such an event has to keep these keys.
const oddID = "with-unknown-keys"

//go:embed odd_events.txt odd_inputs.txt
var oddFiles embed.FS

// An oddEvent is in real logs, and authors of plugins do not expect it.
type oddEvent struct{ what, json string }

// oddEvents returns the events that are odd, and two that are long.
func oddEvents() []oddEvent {
	return append(oddRows("odd_events.txt"),
		oddEvent{"many parts", `{"content":{"role":"model","parts":[` + strings.Repeat(`{"text":"word "},`, 300) + `{"text":"end"}]}}`},
		oddEvent{"a huge text", `{"content":{"role":"model","parts":[{"text":"` + strings.Repeat("all work and no play ", 10_000) + `"}]}}`},
	)
}

// oddRows returns the rows of a file.
func oddRows(name string) (rows []oddEvent) {
	data, err := oddFiles.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	for line := range strings.Lines(string(data)) {
		what, json, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if ok { // else it is the comment
			rows = append(rows, oddEvent{what, json})
		}
	}
	return rows
}

// event returns the event of a JSON text.
func event(text string) *session.Event {
	e := new(session.Event)
	if err := e.UnmarshalJSON([]byte(text)); err != nil {
		panic(fmt.Sprintf("plugintest: %v: %s", err, text)) // they are ours
	}
	return e
}

// lost returns an error if a replacement has lost keys that its author did not know of. It may
// have lost all unknown keys (session.Event.WithoutUnknown), if it has all known ones.
func lost(was, is *session.Event) error {
	unknown := []string{"x-top", "actions.x-action"}
	known := []string{"modelVersion", "customMetadata.k", "actions.stateDelta.s"}
	a, b := leaves(was), leaves(is)
	gone := func(paths []string) []string {
		return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { _, had := a[p]; return !had || b[p] != "" })
	}
	switch u, k := gone(unknown), gone(known); {
	case len(u) > 0 && len(k) > 0:
		return fmt.Errorf("the replacement has lost %s: it was built anew; change a clone of what was given", strings.Join(append(k, u...), ", "))
	case len(u) == 1:
		return fmt.Errorf("the replacement has lost %s and kept the other unknown key", u[0])
	}
	for _, p := range unknown {
		if b[p] != "" && a[p] != b[p] {
			return fmt.Errorf("the replacement has %s as %s; it was %s", p, b[p], a[p])
		}
	}
	return nil
}

// leaves returns an event's JSON values by their paths.
func leaves(e *session.Event) map[string]string {
	all := map[string]string{}
	var walk func(path string, data json.RawMessage)
	walk = func(path string, data json.RawMessage) {
		var object map[string]json.RawMessage
		if path != "x-top" && json.Unmarshal(data, &object) == nil {
			for _, key := range slices.Sorted(maps.Keys(object)) {
				walk(strings.TrimPrefix(path+"."+key, "."), object[key])
			}
		}
		all[path] = string(data)
	}
	data, err := e.MarshalJSON()
	if err != nil {
		return map[string]string{"": errors.Join(errors.New("no JSON"), err).Error()}
	}
	walk("", data)
	return all
}
