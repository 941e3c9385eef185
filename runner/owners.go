package runner

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// keepOwned takes over into e, a replacement by plugin name, what other plugins have written into their
// state keys in was, the event before. It returns an error if e says something else there.
func keepOwned(was, e *session.Event, name string, owners plugin.StateOwners) error {
	for _, err := range []error{
		keepKeys(was.Actions.StateDelta, &e.Actions.StateDelta, name, owners),
		keepKeys(was.Actions.StateIncrement, &e.Actions.StateIncrement, name, owners),
		keepKeys(was.Actions.StateBound, &e.Actions.StateBound, name, owners),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func keepKeys[V any](was map[string]V, now *map[string]V, name string, owners plugin.StateOwners) error {
	others := func(key string) bool {
		of, owned := owners.Of(key)
		return owned && !slices.Contains(of, name)
	}
	for key, value := range *now {
		before, had := was[key]
		if others(key) && !(had && reflect.DeepEqual(before, value)) {
			return fmt.Errorf("writes state key %q, which belongs to %s", key, owners.NameOwners(key))
		}
	}
	for key, value := range was {
		if _, has := (*now)[key]; has || !others(key) {
			continue
		}
		if *now == nil {
			*now = map[string]V{}
		}
		(*now)[key] = value
	}
	return nil
}
