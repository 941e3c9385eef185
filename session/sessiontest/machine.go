package sessiontest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

var machineCases = []testCase{{
	Name: "machine",
	Rule: "Whatever is done in whatever order to a few sessions of a few users, the store does and refuses " +
		"what package memory does and refuses, and the rest follows from the logs.",
	Run: func(t *tester) {
		rapid.Check(t.T, func(rt *rapid.T) {
			m := &machine{leases: map[session.Key]heldTwice{}}
			// Where a lease may have run out, the rest of the sequence says nothing.
			tb := &excusing{TB: rt, ranOut: m.ranOut, again: func(why string) {
				m.void = true
				rt.Skip(why)
			}}
			both := contract.NewTester(tb, t.T)
			m.tester = &tester{Tester: both, Service: t.Service, held: &holds{}}
			m.model = &tester{Tester: both, Service: memory.New(), held: &holds{}}
			step := func(do func(*rapid.T)) func(*rapid.T) {
				return func(rt *rapid.T) {
					if !m.void {
						do(rt)
					}
				}
			}
			defer func() {
				for _, lease := range m.leases {
					lease.release()
				}
			}()
			m.doCreate(rt)
			rt.Repeat(map[string]func(*rapid.T){
				"":          step(m.compare),
				"create":    step(m.doCreate),
				"append":    step(m.doAppend),
				"append 2":  step(m.doAppend), // as the commonest
				"append 3":  step(m.doAppend),
				"read":      step(m.doRead),
				"lease":     step(m.doLease),
				"delete":    step(m.doDelete),
				"list":      step(m.doList),
				"duplicate": step(m.doDuplicate),
			})
		})
	},
}}

// A machine does the same things to a store and to a model, which is another store. The last key is the one
// that something was done to.
type machine struct {
	*tester
	model  *tester
	order  []session.Key // of creation
	leases map[session.Key]heldTwice
	since  time.Time // when the first of leases was taken
	void   bool      // a lease may have run out: the store may answer otherwise than the model
	last   session.Key
	n      int // counts events
}

// heldTwice is a lease on a session of the store and one on that of the model.
type heldTwice struct {
	store, model *session.Lease
	number       int64 // of the store's session
}

func (h heldTwice) release() {
	h.store.Release()
	h.model.Release()
}

// pick draws the key of a session that may exist or not.
func (m *machine) pick(rt *rapid.T) session.Key {
	m.last = m.Key(rapid.SampledFrom([]string{"ann", "bob"}).Draw(rt, "user"),
		rapid.SampledFrom([]string{"s", "t"}).Draw(rt, "id"))
	return m.last
}

// there draws the key of a session that exists.
func (m *machine) there(rt *rapid.T) session.Key {
	if len(m.order) == 0 {
		rt.Skip("no session yet")
	}
	m.last = rapid.SampledFrom(m.order).Draw(rt, "session")
	return m.last
}

var (
	genKey   = rapid.SampledFrom([]string{"k", "l", "m", "app:a", "app:b", "user:u", "user:v", "temp:t"})
	genValue = rapid.SampledFrom([]any{
		nil, 1.0, 2.0, -0.5, "text", true, []any{1.0, nil}, map[string]any{"n": 1.0},
	})
	genState = rapid.MapOfN(genKey, genValue, 0, 3)
)

// refusals are why an operation is refused.
var refusals = []error{
	session.ErrInvalid, session.ErrNotFound, session.ErrExists, session.ErrIDReused, session.ErrFenced,
	session.ErrConflict, session.ErrBound,
}

// agree expects that the store and the model have both carried out an operation, or have both refused it
// for the same reason. ErrInvalid of one of them agrees with every reason of the other: an operation can
// be wrong in several ways, and a store may check them in another order.
func (m *machine) agree(err, want error) {
	m.Helper()
	why := func(err error) int {
		return slices.IndexFunc(refusals, func(r error) bool { return errors.Is(err, r) })
	}
	one, other := why(err), why(want)
	m.FailIf((err == nil) != (want == nil) || err != nil && one < 0 || one > 0 && other > 0 && one != other,
		"error is %v, want %v", err, want)
}

func (m *machine) doCreate(rt *rapid.T) {
	key := m.pick(rt)
	state := genState.Draw(rt, "state")
	_, err := m.Create(m.Soon(), key, state)
	_, want := m.model.Create(m.Soon(), key, state)
	m.agree(err, want)
	if err == nil {
		m.order = append(m.order, key)
	}
}

func (m *machine) doDelete(rt *rapid.T) {
	key := m.pick(rt)
	m.agree(m.Delete(m.Soon(), key), m.model.Delete(m.Soon(), key))
	m.order = slices.DeleteFunc(m.order, func(k session.Key) bool { return k == key })
}

// doAppend appends a batch. Most batches are valid, and name the log's last position.
func (m *machine) doAppend(rt *rapid.T) {
	key := m.there(rt)
	log := m.model.log(key)
	var batch []*session.Event
	for range rapid.IntRange(1, 3).Draw(rt, "events") {
		e := m.event(rt, log)
		batch = append(batch, e)
		if !e.Partial {
			c := *e
			c.Seq = int64(len(log)) + 1
			log = append(log, &c)
		}
	}
	m.try(rt, key, batch)
}

// doDuplicate appends events of the log again, perhaps with new ones or under changed content.
func (m *machine) doDuplicate(rt *rapid.T) {
	key := m.there(rt)
	log := m.model.log(key)
	if len(log) == 0 {
		rt.Skip("an empty log")
	}
	batch := []*session.Event{
		rapid.SampledFrom(log).Draw(rt, "again").Clone(),
		rapid.SampledFrom(log).Draw(rt, "again").Clone(),
	}
	switch rapid.IntRange(0, 3).Draw(rt, "with") {
	case 0:
		batch = append(batch, m.event(rt, log))
	case 1:
		batch[1].ErrorCode = "CHANGED"
	case 2: // as who made them would send them again
		batch[0].Timestamp = time.Time{}
	}
	m.try(rt, key, batch)
}

func (m *machine) try(rt *rapid.T, key session.Key, batch []*session.Event) {
	now := m.get(key)
	at := session.AppendTarget{Key: key, After: now.Position}
	modelAt := at
	if lease := m.leases[key]; lease.number == now.Number { // else it is of a session that was deleted
		at.Fence = lease.store.Fence
		modelAt.Fence = lease.model.Fence
	}
	switch rapid.IntRange(0, 15).Draw(rt, "at") {
	case 0:
		at.After += rapid.SampledFrom([]int64{-2, -1, 1}).Draw(rt, "off")
		modelAt.After = at.After
	case 1:
		off := rapid.SampledFrom([]int64{-1, 1}).Draw(rt, "off")
		at.Fence += off
		modelAt.Fence += off
	}
	mine := clones(batch)
	last, err := m.Append(m.Soon(), at, batch...)
	for i, e := range batch {
		mine[i].Timestamp = e.Timestamp // which the store has set
	}
	want, refused := m.model.Append(m.Soon(), modelAt, mine...)
	m.agree(err, refused)
	m.equal("the position that Append returns", last, want)
	m.equal("the caller's events after Append", batch, mine)
}

func (m *machine) doLease(rt *rapid.T) {
	key := m.pick(rt)
	if lease, ok := m.leases[key]; ok {
		lease.release()
		delete(m.leases, key)
		return
	}
	lease, err := m.Lease(m.Soon(), key, "")
	model, want := m.model.Lease(m.Soon(), key, "")
	m.agree(err, want)
	if err != nil {
		return
	}
	if len(m.leases) == 0 {
		m.since = time.Now()
	}
	m.leases[key] = heldTwice{store: lease, model: model, number: m.get(key).Number}
}

// ranOut reports whether a lease may have run out.
func (m *machine) ranOut() bool {
	return len(m.leases) > 0 && time.Since(m.since) > usual
}

func (m *machine) doRead(rt *rapid.T) {
	key := m.there(rt)
	stored := m.log(key)
	sel := session.Selection{
		Live:  rapid.Bool().Draw(rt, "live"),
		After: rapid.Int64Range(0, int64(len(stored))+1).Draw(rt, "after"),
		Last:  rapid.IntRange(0, 4).Draw(rt, "last"),
	}
	if len(stored) > 0 && rapid.Bool().Draw(rt, "since") {
		sel.Since = rapid.SampledFrom(stored).Draw(rt, "since").Timestamp.Add(time.Duration(rapid.IntRange(0, 1).Draw(rt, "a bit")))
	}
	want := stored
	if sel.Live {
		want = session.Live(stored)
	}
	want = slices.DeleteFunc(slices.Clone(want),
		func(e *session.Event) bool { return e.Seq <= sel.After || e.Timestamp.Before(sel.Since) })
	if sel.Last > 0 {
		want = want[max(0, len(want)-sel.Last):]
	}
	m.equal(fmt.Sprintf("events selected by %+v", sel), m.ids(m.read(key, sel)), m.ids(want))
}

func (m *machine) doList(*rapid.T) {
	var all, anns []string
	for _, k := range m.order {
		all = append(all, k.String())
		if k.User == "ann" {
			anns = append(anns, k.String())
		}
	}
	m.equal("sessions of the app", m.list(m.App, ""), all)
	m.equal("ann's sessions", m.list(m.App, "ann"), anns)
}

// compare compares the sessions with the model's, and the log of the one that something was done to.
func (m *machine) compare(*rapid.T) {
	for _, key := range m.order {
		got := m.get(key)
		want := m.model.get(key)
		m.equal("state of "+key.String(), got.State, want.State)
		m.equal("initial state of "+key.String(), got.Initial, want.Initial)
		m.equal("position and frontier of "+key.String(), []int64{got.Position, got.Frontier},
			[]int64{want.Position, want.Frontier})
		if key == m.last {
			m.equal("log of "+key.String(), m.log(key), m.model.log(key))
			m.folds(key)
		}
	}
}

// event draws an event that follows the log. Most of these events can be appended; some have to be refused.
func (m *machine) event(rt *rapid.T, log []*session.Event) *session.Event {
	m.n++
	id := fmt.Sprint("e", m.n)
	e := say(id)
	switch rapid.IntRange(0, 9).Draw(rt, "event") {
	case 0, 1, 2:
		e.Actions.StateDelta = genState.Draw(rt, "delta")
	case 3:
		key := rapid.SampledFrom([]string{"app:a", "app:b", "user:u", "user:v"}).Draw(rt, "key")
		by := float64(rapid.IntRange(-3, 3).Draw(rt, "by"))
		e = add(id, key, by)
		if rapid.Bool().Draw(rt, "bounded") {
			e = bounded(id, key, by, float64(rapid.IntRange(-2, 4).Draw(rt, "bound")))
		}
	case 4:
		e.Partial = true
	default:
		e = logtest.Event(rt, log)
		e.ID = id
	}
	return e
}
