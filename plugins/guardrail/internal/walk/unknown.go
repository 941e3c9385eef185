package walk

import (
	"bytes"
	"encoding/json"

	"github.com/plughook/plughook/session"
)

// Unknown returns what an event has in its fields under keys that this program does not know. The
// log keeps it as it came.
func Unknown(e *session.Event) map[string]any {
	nested := e.Actions.Compaction != nil || len(e.Actions.RequestedToolConfirmations) > 0 || e.NodeInfo != nil
	if !e.WasRead() && !nested {
		return nil // it was made here, of fields that have no unknown keys
	}
	plain := e.WithoutUnknown()
	plain.Extra = e.Extra // the walk has its own step for these
	plain.Actions.Extra = e.Actions.Extra
	written, err := e.MarshalJSON()
	if err != nil {
		return nil // nor can it get into the log
	}
	known, err := plain.MarshalJSON()
	if err != nil || bytes.Equal(written, known) {
		return nil
	}
	var a, b map[string]any
	if json.Unmarshal(written, &a) != nil || json.Unmarshal(known, &b) != nil {
		return nil
	}
	rest, _ := without(a, b).(map[string]any)
	return rest
}

// without returns what is left of a JSON value if another value is taken out of it; nil if that is all of
// it.
func without(a, b any) any {
	switch a := a.(type) {
	case map[string]any:
		b, same := b.(map[string]any)
		if !same {
			return a
		}
		var rest map[string]any
		for name, value := range a {
			more := value
			if known, ok := b[name]; ok {
				more = without(value, known)
			}
			if more == nil {
				continue
			}
			if rest == nil {
				rest = map[string]any{}
			}
			rest[name] = more
		}
		if rest != nil {
			return rest
		}
	case []any:
		b, same := b.([]any)
		if !same || len(a) != len(b) {
			return a
		}
		var rest []any
		for i := range a {
			more := without(a[i], b[i])
			if more != nil {
				rest = append(rest, more)
			}
		}
		if rest != nil {
			return rest
		}
	}
	return nil
}
