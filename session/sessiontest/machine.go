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
)

var machineCases = []testCase{{
	Name: "machine",
	Rule: "Whatever is done in whatever order to a few sessions of a few users, the store answers as the " +
		"model in model.go does: a log, and the rest computed from it.",
	Run: func(t *tester) {
		rapid.Check(t.T, func(rt *rapid.T) {
			m := &machine{model: newModel(), leases: map[session.Key]*session.Lease{}}
			// Where a lease may have run out, the rest of the sequence says nothing.
			tb := &excusing{TB: rt, ranOut: m.ranOut, again: func(why string) {
				m.void = true
				rt.Skip(why)
			}}
			m.tester = &tester{Tester: contract.NewTester(tb, t.T), Service: t.Service, held: &holds{}}
			step := func(do func(*rapid.T)) func(*rapid.T) {
				return func(rt *rapid.T) {
					if !m.void {
						do(rt)
					}
				}
			}
			defer func() {
				for _, lease := range m.leases {
					lease.Release()
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

// A machine does things to a store and to the model. The last key is the one that something was done to.
type machine struct {
	*tester
	model  *model
	order  []session.Key // of creation
	leases map[session.Key]*session.Lease
	since  time.Time // when the first of leases was taken
	void   bool      // a lease may have run out: the store may answer otherwise than the model
	last   session.Key
	n      int // counts events
}

// pick draws a session's key; there need not be such a session.
func (m *machine) pick(rt *rapid.T) session.Key {
	m.last = m.Key(rapid.SampledFrom([]string{"ann", "bob"}).Draw(rt, "user"),
		rapid.SampledFrom([]string{"s", "t"}).Draw(rt, "id"))
	return m.last
}

// there draws the key of a session.
func (m *machine) there(rt *rapid.T) (session.Key, *modelSession) {
	if len(m.order) == 0 {
		rt.Skip("no session yet")
	}
	m.last = rapid.SampledFrom(m.order).Draw(rt, "session")
	return m.last, m.model.sessions[m.last]
}

var (
	genKey   = rapid.SampledFrom([]string{"k", "l", "m", "app:a", "app:b", "user:u", "user:v", "temp:t"})
	genValue = rapid.SampledFrom([]any{
		nil, 1.0, 2.0, -0.5, "text", true, []any{1.0, nil}, map[string]any{"n": 1.0},
	})
	genState = rapid.MapOfN(genKey, genValue, 0, 3)
)

func (m *machine) doCreate(rt *rapid.T) {
	key := m.pick(rt)
	state := genState.Draw(rt, "state")
	_, err := m.Create(m.Soon(), key, state)
	if m.model.sessions[key] != nil {
		m.Is(err, session.ErrExists)
		return
	}
	m.Must(err)
	m.model.create(key, state)
	m.order = append(m.order, key)
}

func (m *machine) doDelete(rt *rapid.T) {
	key := m.pick(rt)
	err := m.Delete(m.Soon(), key)
	if m.model.sessions[key] == nil {
		m.Is(err, session.ErrNotFound)
		return
	}
	m.Must(err)
	delete(m.model.sessions, key)
	m.order = slices.DeleteFunc(m.order, func(k session.Key) bool { return k == key })
}

// doAppend appends a batch, most often a good one at the right place.
func (m *machine) doAppend(rt *rapid.T) {
	key, s := m.there(rt)
	log := slices.Clone(s.log)
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
	m.try(rt, key, s, batch)
}

// doDuplicate appends events of the log again, perhaps with new ones or under changed content.
func (m *machine) doDuplicate(rt *rapid.T) {
	key, s := m.there(rt)
	if len(s.log) == 0 {
		rt.Skip("an empty log")
	}
	batch := []*session.Event{
		rapid.SampledFrom(s.log).Draw(rt, "again").Clone(),
		rapid.SampledFrom(s.log).Draw(rt, "again").Clone(),
	}
	switch rapid.IntRange(0, 3).Draw(rt, "with") {
	case 0:
		batch = append(batch, m.event(rt, s.log))
	case 1:
		batch[1].ErrorCode = "CHANGED"
	}
	m.try(rt, key, s, batch)
}

func (m *machine) try(rt *rapid.T, key session.Key, s *modelSession, batch []*session.Event) {
	at := session.AppendTarget{Key: key, After: int64(len(s.log)), Fence: s.fence}
	switch rapid.IntRange(0, 15).Draw(rt, "at") {
	case 0:
		at.After += rapid.SampledFrom([]int64{-2, -1, 1}).Draw(rt, "off")
	case 1:
		at.Fence += rapid.SampledFrom([]int64{-1, 1}).Draw(rt, "off")
	}
	mine := clones(batch)
	last, err := m.Append(m.Soon(), at, batch...)
	wrong := m.model.append(at, mine)
	if len(wrong) > 0 {
		if !slices.ContainsFunc(wrong, func(w error) bool { return errors.Is(err, w) }) {
			m.Fatalf("append of %s after %d: error is %v, want one of %v", brief(mine), at.After, err, wrong)
		}
		return
	}
	if err != nil {
		m.Fatalf("append of %s after %d: %v", brief(mine), at.After, err)
	}
	m.equal("the position that Append returns", last, len(s.log))
	for i, e := range batch {
		at := slices.IndexFunc(s.log, func(o *session.Event) bool { return o.ID == e.ID }) + 1
		if e.Partial {
			at = 0
		}
		m.equal(fmt.Sprintf("position of event %d, %s", i, e.ID), e.Seq, at)
	}
}

func (m *machine) doLease(rt *rapid.T) {
	key := m.pick(rt)
	s := m.model.sessions[key]
	if lease := m.leases[key]; lease != nil {
		lease.Release()
		delete(m.leases, key)
		if s != nil {
			s.fence = 0 // if it was that session's at all
		}
		return
	}
	lease, err := m.Lease(m.Soon(), key, "")
	if s == nil {
		m.Is(err, session.ErrNotFound)
		return
	}
	m.Must(err)
	if len(m.leases) == 0 {
		m.since = time.Now()
	}
	m.leases[key] = lease
	s.fence = lease.Fence
}

// ranOut reports whether a lease may have run out.
func (m *machine) ranOut() bool {
	return len(m.leases) > 0 && time.Since(m.since) > usual
}

func (m *machine) doRead(rt *rapid.T) {
	key, s := m.there(rt)
	sel := session.Selection{
		Live:  rapid.Bool().Draw(rt, "live"),
		After: rapid.Int64Range(0, int64(len(s.log))+1).Draw(rt, "after"),
		Last:  rapid.IntRange(0, 4).Draw(rt, "last"),
	}
	stored := m.log(key)
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

// compare compares the session that something was done to, and the states of all.
func (m *machine) compare(*rapid.T) {
	for key, s := range m.model.sessions {
		got := m.get(key)
		m.equal("state of "+key.String(), got.State, m.model.state(key))
		m.equal("initial state of "+key.String(), got.Initial, s.initial)
		m.equal("position and frontier of "+key.String(), []int64{got.Position, got.Frontier},
			[]int64{int64(len(s.log)), logtest.Frontier(s.log)})
		if key != m.last {
			continue
		}
		log := m.log(key)
		for i, e := range log {
			if i < len(s.log) && content(e) != content(s.log[i]) {
				m.Fatalf("event %d is %s, want %s", e.Seq, brief(e), brief(s.log[i]))
			}
		}
		m.equal("log of "+key.String(), m.ids(log), m.ids(s.log))
		m.equal("live view of "+key.String(), m.ids(m.live(key)), m.ids(session.Live(s.log)))
	}
}

// event draws an event to follow the log: most often one that may.
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
