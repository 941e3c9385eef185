package guardrail

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plughook/plughook/session"
)

// A limit's count is kept in the state of the user, or of the app, as numbers that events add to:
//
//	user:guardrail:limit:ID:tool_calls:user:24h0m0s:UNTIL
//	user:guardrail:limit:ID:tokens:session:ever:SESSION:0
//
// UNTIL is the time in milliseconds up to which the number counts, 0 for ever; SESSION is a digest of the session's id. A
// session's count is in the user's state too, since the session's own follows rewinds.
const keyWord = "guardrail:"

// owned reports whether a key in the state is this plugin's alone.
func owned(key string) bool {
	key = strings.TrimPrefix(strings.TrimPrefix(key, session.UserPrefix), session.AppPrefix)
	return strings.HasPrefix(key, keyWord)
}

// forges reports whether an event would change what is this plugin's alone.
func forges(e *session.Event) bool {
	for key := range e.Actions.StateDelta {
		if owned(key) {
			return true
		}
	}
	for key := range e.Actions.StateIncrement {
		if owned(key) {
			return true
		}
	}
	return false
}

// disown takes what is this plugin's alone out of what an event does.
func disown(a *session.Actions) {
	maps.DeleteFunc(a.StateDelta, func(key string, _ any) bool { return owned(key) })
	maps.DeleteFunc(a.StateIncrement, func(key string, _ float64) bool { return owned(key) })
}

// buckets is how many numbers a window is made of.
const buckets = 12

// prefix is what the keys of a limit's numbers begin with.
func (r *rule) prefix(sessionID string) string {
	l := r.limit
	scope, every, of := session.UserPrefix, "ever", ""
	if l.per == "app" {
		scope = session.AppPrefix
	}
	if l.every > 0 {
		every = l.every.String()
	}
	if l.per == "session" {
		sum := sha256.Sum256([]byte(sessionID))
		of = hex.EncodeToString(sum[:12]) + ":"
	}
	return scope + keyWord + "limit:" + r.id + ":" + string(l.what) + ":" + l.per + ":" + every + ":" + of
}

// key is that of the number to which is added now, and until when that counts. A window is looked at in twelfths: what
// is counted at any time in one counts until every has gone by since its end. So in no span of time as long as the
// window there is more than the limit, and what was used is free again after the window and at most a twelfth of it.
func (r *rule) key(sessionID string, now time.Time) (key string, until int64) {
	if every := r.limit.every; every > 0 {
		width := max(1, every.Milliseconds()/buckets)
		until = (now.UnixMilli()/width+1)*width + every.Milliseconds()
	}
	return r.prefix(sessionID) + strconv.FormatInt(until, 10), until
}

// number is one of those that are a limit's count.
type number struct {
	key   string
	until int64
	n     float64
}

// numbers returns what of a state counts for a limit, by when it does no more.
func (r *rule) numbers(state map[string]any, sessionID string, now time.Time) (list []number) {
	prefix := r.prefix(sessionID)
	for key, value := range state {
		rest, mine := strings.CutPrefix(key, prefix)
		n, is := value.(float64)
		until, err := strconv.ParseInt(rest, 10, 64)
		if mine && is && err == nil && (until == 0 || until > now.UnixMilli()) {
			list = append(list, number{key, until, n})
		}
	}
	slices.SortFunc(list, func(a, b number) int { return cmp.Compare(a.until, b.until) })
	return list
}

func sum(list []number) (n float64) {
	for _, one := range list {
		n += one.n
	}
	return n
}

// frees returns in what time a limit that is used up has something again, 0 if it never has.
func (l *limit) frees(list []number, now time.Time) time.Duration {
	rest := sum(list)
	for _, one := range list {
		if rest -= one.n; one.until > 0 && rest < l.max {
			return time.Duration(one.until-now.UnixMilli()) * time.Millisecond
		}
	}
	return 0
}

// expired returns keys in the state of numbers that count no more, some at a time.
func expired(state map[string]any, now time.Time) (keys []string) {
	const some = 64
	for _, key := range slices.Sorted(maps.Keys(state)) {
		_, rest, mine := strings.Cut(key, ":"+keyWord+"limit:")
		if !mine || !owned(key) {
			continue
		}
		until, err := strconv.ParseInt(rest[strings.LastIndex(rest, ":")+1:], 10, 64)
		if err == nil && until > 0 && until <= now.UnixMilli() && len(keys) < some {
			keys = append(keys, key)
		}
	}
	return keys
}

// counted puts what is added to limits on an event, and takes what has expired out of the state.
func (g *guard) counted(inv *session.Invocation, a *session.Actions, adds map[string]float64) {
	if len(adds) == 0 {
		return
	}
	if a.StateIncrement == nil {
		a.StateIncrement = map[string]float64{}
	}
	for key, n := range adds {
		a.StateIncrement[key] = n
	}
	for _, key := range expired(inv.State, g.Now()) {
		if a.StateDelta == nil {
			a.StateDelta = map[string]any{}
		}
		a.StateDelta[key] = nil
	}
}

// counts says which limits are added to, for the log.
func counts(adds map[string]float64) string {
	var ids []string
	for _, key := range slices.Sorted(maps.Keys(adds)) {
		_, rest, _ := strings.Cut(key, keyWord+"limit:")
		id, _, _ := strings.Cut(rest, ":")
		ids = append(ids, id)
	}
	return "counts for " + strings.Join(slices.Compact(ids), ", ")
}
