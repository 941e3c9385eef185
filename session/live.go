package session

import (
	"maps"
	"slices"
	"strings"
)

// Live returns what counts of a log: the events that no rewind voids and no compaction stands for. It
// is a pure function of the log, which holds events with positions ascending.
//
// It walks from the newest event to the oldest and skips, at each rewind it meets, what that rewind
// voids. Of the events it met the newest compaction heads the rest: its own event comes first, then
// the events it keeps, then those after its Through. Older compactions are part of what it stands for.
//
// The law, for every log and every position n in it: Live(log + rewind to n) == Live(log[:n]).
func Live(log []*Event) []*Event {
	// Walk back, and skip what each rewind voids.
	var met []*Event // newest first
	for i := len(log) - 1; i >= 0; i-- {
		r := log[i].Actions.Rewind
		if r == nil {
			met = append(met, log[i])
			continue
		}
		for i > 0 && log[i-1].Seq > r.To {
			i--
		}
	}
	slices.Reverse(met)

	// The newest compaction heads what was met.
	head := -1
	for i := len(met) - 1; i >= 0 && head < 0; i-- {
		if met[i].compaction() != nil {
			head = i
		}
	}
	if head < 0 {
		return met
	}

	// It comes first, then what it keeps and what came after it.
	c := met[head].compaction()
	live := []*Event{met[head]}
	for _, e := range met {
		if e.compaction() == nil && (e.Seq > c.Through || slices.Contains(c.Keep, e.Seq)) {
			live = append(live, e)
		}
	}
	return live
}

// Scopes of state keys.
const (
	AppPrefix  = "app:"  // shared by the app's sessions
	UserPrefix = "user:" // shared by the sessions of the app's user
	TempPrefix = "temp:" // of one invocation, never stored
)

// State returns the state that a log leaves of the session's own keys, given those it was created
// with. Keys with a prefix are left out: they live outside of the session, and no rewind undoes them.
//
// The law, for every log and every position n in it: State(log + rewind to n) == State(log[:n]).
func State(initial map[string]any, log []*Event) map[string]any {
	states := make([]map[string]any, len(log)+1) // after each event
	states[0] = map[string]any{}
	for k, v := range initial {
		if ownKey(k) && v != nil {
			states[0][k] = v
		}
	}
	for i, e := range log {
		states[i+1] = states[i]
		if r := e.Actions.Rewind; r != nil {
			n, _ := slices.BinarySearchFunc(log[:i], r.To+1, func(e *Event, seq int64) int { return int(e.Seq - seq) })
			states[i+1] = states[n]
			continue
		}
		states[i+1] = applied(states[i], e.Actions.StateDelta, ownKey)
	}
	return maps.Clone(states[len(log)])
}

// SharedKey reports whether a state key lives outside of the session: it begins with AppPrefix or UserPrefix.
func SharedKey(key string) bool {
	return strings.HasPrefix(key, AppPrefix) || strings.HasPrefix(key, UserPrefix)
}

// ownKey reports whether a state key is the session's own, which a rewind undoes.
func ownKey(key string) bool { return !SharedKey(key) && !strings.HasPrefix(key, TempPrefix) }

// applied returns state with the keys of delta for which takes returns true. It returns state itself if there are none.
func applied(state, delta map[string]any, takes func(key string) bool) map[string]any {
	cloned := false
	for k, v := range delta {
		if !takes(k) {
			continue
		}
		if !cloned {
			cloned = true
			state = maps.Clone(state)
			if state == nil {
				state = map[string]any{}
			}
		}
		if v == nil {
			delete(state, k)
		} else {
			state[k] = v
		}
	}
	return state
}
