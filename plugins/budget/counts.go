package budget

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plughook/plughook/session"
)

// The counts are numbers in the state. The parts of a key say what the number is:
//
//	user:budget:daily:tokens:day:1767222000000   what is used of a window that ends then, in ms
//	user:budget:total:runs:ever:0                what is used of a limit that counts for ever
//	app:budget:rate:runs:1h0m0s:DIGEST:0         what is used in a rolling window, by the tenant
//	app:budget:rate:runs:1h0m0s:DIGEST:17672…    how much of that counts until that time, below 0
//	budget:daily:tokens:ever:warned:0            that there was a warning in the window
//
// A rolling window is cut into 12 slices. Each addition changes two numbers: it is added to what is
// used, and taken off the number of the slice of that moment. That number counts until a window's
// length after the slice's end. Then the next event that is counted undoes it: it adds the same to
// the slice's number, with the bound 0, and takes it off what is used. So of two processes that
// undo a slice at the same moment the second passes the bound, is refused, and looks again.
const (
	windowSlices = 12
	warnedWord   = "warned:"
)

// prefix is what the keys of a limit's numbers begin with, for one session.
func (b *budget) prefix(l *limit, state map[string]any) string {
	window := "ever"
	switch {
	case l.daily != nil:
		window = "day"
	case l.Every > 0:
		window = l.Every.String()
	}
	rest := b.Name + ":" + l.Name + ":" + l.Count + ":" + window + ":"
	switch l.Per {
	case perSession:
		return rest
	case perUser:
		return session.UserPrefix + rest
	case perTenant:
		tenant, _ := state[b.TenantKey].(string)
		digest := sha256.Sum256([]byte(tenant)) // a tenant's name may be anything
		return session.AppPrefix + rest + hex.EncodeToString(digest[:12]) + ":"
	}
	return session.AppPrefix + rest
}

// owned reports whether a state key is the plugin's.
func (b *budget) owned(key string) bool {
	key = strings.TrimPrefix(strings.TrimPrefix(key, session.UserPrefix), session.AppPrefix)
	return strings.HasPrefix(key, b.Name+":")
}

// expiry splits a key of the plugin into its last part, the time in milliseconds until which its
// number counts (0 is for ever), and what is before that.
func expiry(key string) (until int64, prefix string, ok bool) {
	end := strings.LastIndexByte(key, ':') + 1
	until, err := strconv.ParseInt(key[end:], 10, 64)
	return until, key[:end], err == nil
}

// A use is what is used of a limit at one moment.
type use struct {
	limit  *limit
	prefix string  // of the keys of its numbers
	key    string  // of the number that says what is used
	used   float64 // what counts of that number
	adds   float64 // what the event at hand adds
	ends   int64   // when the window ends, in milliseconds; 0 if it does not, or rolls
	warned bool    // in this window

	// of a rolling window
	slice   string             // the key of the slice of this moment
	live    []slice            // those that count, by their end
	expired map[string]float64 // what those that do not count any more have, by their keys
}

type slice struct {
	until int64
	n     float64
}

// read returns what the numbers say about a limit.
func read(l *limit, prefix string, numbers map[string]float64, now time.Time) *use {
	u := &use{limit: l, prefix: prefix, expired: map[string]float64{}}
	switch {
	case l.daily != nil:
		u.ends = l.daily.next(now).UnixMilli()
	case l.Every > 0:
		width := l.Every.Milliseconds() / windowSlices
		sliceEnd := (now.UnixMilli()/width + 1) * width
		u.slice = prefix + strconv.FormatInt(sliceEnd+l.Every.Milliseconds(), 10)
	}
	u.key = prefix + strconv.FormatInt(u.ends, 10)
	u.used = numbers[u.key]
	for key, n := range numbers {
		until, before, ok := expiry(key)
		switch {
		case !ok:
		case before == prefix+warnedWord && (until == 0 || until > now.UnixMilli()):
			u.warned = true
		case before != prefix || u.slice == "" || n >= 0:
		case until <= now.UnixMilli():
			u.expired[key] = -n
			u.used += n
		default:
			u.live = append(u.live, slice{until: until, n: -n})
		}
	}
	slices.SortFunc(u.live, func(a, b slice) int { return cmp.Compare(a.until, b.until) })
	return u
}

// full reports whether nothing is left.
func (u *use) full() bool { return u.used+u.adds >= float64(u.limit.Max) }

// frees returns the time at which something is free again, zero if that is never.
func (u *use) frees() time.Time {
	if u.ends > 0 {
		return time.UnixMilli(u.ends)
	}
	rest := u.used
	for _, s := range u.live {
		rest -= s.n
		if rest < float64(u.limit.Max) {
			return time.UnixMilli(s.until)
		}
	}
	return time.Time{}
}

// share is the use at which the limit warns.
func (u *use) share() float64 { return u.limit.Warn * float64(u.limit.Max) }

// warns reports whether, with what is added, a share is used that nobody was warned of in this
// window.
func (u *use) warns() bool {
	return u.limit.Warn > 0 && !u.warned && u.adds > 0 && u.used+u.adds >= u.share()
}

// charge adds what is used to an event's actions.
func (u *use) charge(a *changes, now time.Time) {
	// Slices that do not count any more are undone. What they had and what is added now change the
	// same number.
	undone := 0.0
	for key, n := range u.expired {
		a.add(key, n, 0)
		a.set(key, nil)
		undone += n
	}
	if u.slice != "" {
		a.add(u.slice, -u.adds, unbounded)
	}

	// One addition warns: the one that reaches the share. It is bounded to the number that it
	// tells, and those before it to less than the share. If other sessions have added meanwhile,
	// the store refuses it, and the runner offers the event again.
	bound := unbounded
	if u.limit.exact() {
		bound = float64(u.limit.Max)
	}
	switch {
	case u.limit.Warn == 0 || u.warned:
	case u.warns():
		bound = u.used + u.adds
		ends := u.ends
		if u.limit.Every > 0 {
			ends = now.Add(u.limit.Every).UnixMilli()
		}
		a.set(u.prefix+warnedWord+strconv.FormatInt(ends, 10), 1.0)
	default:
		bound = math.Ceil(u.share()) - 1
	}
	a.add(u.key, u.adds-undone, bound)
}

// sweep deletes numbers that do not count any more, a few at a time: those of windows that have
// ended, of other tenants and of limits that the configuration no longer has. A slice is undone by
// its own limit; one that nobody has undone for an hour is undone here.
func (t *tally) sweep(a *changes) {
	const atMost = 64
	swept := 0
	for _, key := range slices.Sorted(maps.Keys(t.numbers)) {
		until, prefix, ok := expiry(key)
		_, done := a.StateDelta[key]
		if !ok || done || until == 0 || until > t.now.UnixMilli() || swept == atMost {
			continue
		}
		n := t.numbers[key]
		if n < 0 && until > t.now.Add(-time.Hour).UnixMilli() {
			continue
		}
		if n < 0 {
			a.add(key, -n, 0)
			a.add(prefix+"0", n, unbounded)
		}
		a.set(key, nil)
		swept++
	}
}

// changes are what an event does to the state.
type changes struct {
	*session.Actions
	numbers map[string]float64 // the numbers that the state has
}

// unbounded is the bound of what may grow without end.
var unbounded = math.Inf(1)

// add adds to a number. In shared state that is an increment, which the store adds to whatever
// other sessions have added. The session's own state has no increments and needs none: only one run
// at a time changes it.
func (c *changes) add(key string, n, bound float64) {
	if !session.SharedKey(key) {
		c.numbers[key] += n
		c.set(key, c.numbers[key])
		return
	}
	if c.StateIncrement == nil {
		c.StateIncrement = map[string]float64{}
	}
	c.StateIncrement[key] += n
	if bound == unbounded {
		return
	}
	if c.StateBound == nil {
		c.StateBound = map[string]float64{}
	}
	c.StateBound[key] = bound
}

// set sets a key; nil deletes it.
func (c *changes) set(key string, value any) {
	if c.StateDelta == nil {
		c.StateDelta = map[string]any{}
	}
	c.StateDelta[key] = value
}
