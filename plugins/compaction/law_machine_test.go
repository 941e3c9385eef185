package compaction_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/session"
)

// history draws what happens to a session, and holds it to the laws after each step.
func history(t *rapid.T, store session.Service) map[string]int {
	w := newWorld(t, store)
	defer func() { w.shut(true) }() // a failed history too leaves nothing behind
	t.Repeat(map[string]func(*rapid.T){
		"":         func(*rapid.T) { w.laws() },
		"say":      w.doSay,
		"say 2":    w.doSay, // as the commonest
		"say 3":    w.doSay,
		"say 4":    w.doSay,
		"answer":   w.doAnswer,
		"answer 2": w.doAnswer,
		"command":  w.doCommand,
		"forge":    w.doForge,
		"let go":   func(*rapid.T) { w.teller.letGo(false) },
		"reopen":   w.doReopen,
		"crash":    w.doCrash,
	})
	w.doReopen(t)
	w.laws()
	w.unchanged()
	w.copied()
	return w.seen
}

func genMove(w *world, t *rapid.T) move {
	m := move{
		kind: rapid.SampledFrom([]string{"text", "calls", "calls", "calls", "calls", "fail", "too long"}).
			Draw(t, "move"),
		n: rapid.IntRange(1, 60).Draw(t, "words"),
	}
	if m.kind == "calls" {
		names := []string{"read", "read", "read", "later", "ask", "broken", "pin"}
		if w.shape == "callee" {
			names = append(names, "helper", "helper", "helper")
		}
		m.calls = rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(t, "calls")
		m.id = rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "id")
	}
	return m
}

// plan draws what the agents' models do next.
func (w *world) plan(t *rapid.T) {
	w.actor.mu.Lock()
	defer w.actor.mu.Unlock()
	for _, name := range w.agents {
		w.actor.moves[name] = nil
		for range rapid.IntRange(0, 5).Draw(t, "moves of "+name) {
			w.actor.moves[name] = append(w.actor.moves[name], genMove(w, t))
		}
	}
	w.teller.mu.Lock()
	defer w.teller.mu.Unlock()
	w.teller.modes = rapid.SliceOfN(rapid.SampledFrom([]string{"tell", "tell", "tell", "fail", "panic", "exit", "empty", "long"}), 0, 3).
		Draw(t, "summaries")
}

// message draws what a user says.
func (w *world) message(t *rapid.T) *session.Event {
	w.said++
	w.question = fmt.Sprintf("q%d.", w.said)
	e := session.Message(w.question + " " + filler(rapid.IntRange(1, 60).Draw(t, "words")))
	e.Actions.StateDelta = map[string]any{"turns": float64(w.said)}
	if rapid.IntRange(0, 9).Draw(t, "pinned") == 0 && w.unused("pinned") {
		e.ID = "pinned"
	}
	return e
}

func (w *world) unused(id string) bool {
	for _, e := range w.naive.log {
		if e.ID == id {
			return false
		}
	}
	return true
}

// doSay runs a message; now and then the caller leaves before the end.
func (w *world) doSay(t *rapid.T) {
	w.plan(t)
	leave := 0
	if rapid.IntRange(0, 5).Draw(t, "leaves") == 0 {
		leave = rapid.IntRange(1, 6).Draw(t, "after")
	}
	_, err := w.run(w.message(t), leave)
	w.question = ""
	w.must(err)
}

// doAnswer answers a call that waits, the latest or a late one.
func (w *world) doAnswer(t *rapid.T) {
	var inputs []*session.Event
	for _, c := range session.Calls(w.read(session.Selection{Live: true})) {
		switch {
		case !c.Waits():
		case c.Held != nil && c.Decision == nil:
			inputs = append(inputs, session.Decision(rapid.Bool().Draw(t, "verdict"), c.ID))
		default:
			inputs = append(inputs,
				session.Respond(c.FunctionCall, map[string]any{"result": filler(5)}))
		}
	}
	if len(inputs) == 0 {
		t.Skip("nothing waits")
	}
	w.plan(t)
	_, err := w.run(rapid.SampledFrom(inputs).Draw(t, "answer"), 0)
	w.must(err)
	w.note("answered")
}

// doCommand sends a command that anyone can send.
func (w *world) doCommand(t *rapid.T) {
	var c session.Command
	position := int64(len(w.naive.log))
	switch kind := rapid.SampledFrom([]string{"now", "now", "to", "to", "turns", "undo"}).Draw(t, "command"); kind {
	case "now":
		c = compaction.Now("")
	case "to":
		c = rewind.To(rapid.Int64Range(0, position).Draw(t, "position"))
	case "turns":
		c = rewind.Turns(rapid.IntRange(1, 3).Draw(t, "n"))
	case "undo":
		c = rewind.Undo()
	}
	w.plan(t)
	_, err := w.run(c.Event(), 0)
	w.must(err)
	w.note("command %s", c.Name)
}

// doForge lets a plugin emit a compaction of its own: drawn, stale, beyond the log. What the store takes
// is valid; but whoever writes it is not bound to tell what it covers.
func (w *world) doForge(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "seldom") > 0 {
		t.Skip("seldom")
	}
	position := int64(len(w.naive.log))
	c := &session.Compaction{
		Through:  rapid.Int64Range(-1, position+2).Draw(t, "through"),
		Frontier: w.naive.now().frontier,
	}
	if rapid.Bool().Draw(t, "stale") {
		c.Frontier = rapid.Int64Range(0, position).Draw(t, "frontier")
	}
	for _, seq := range w.naive.now().raw {
		if seq <= c.Through && rapid.Bool().Draw(t, "keep") {
			c.Keep = append(c.Keep, seq)
		}
	}
	data, err := json.Marshal(c)
	w.must(err)
	_, err = w.run(
		session.Command{Name: "forge", Args: map[string]any{"compaction": string(data)}}.Event(), 0)
	switch {
	case errors.Is(err, session.ErrInvalid):
		w.note("forged: refused")
	case err != nil:
		w.Fatalf("a forged compaction: %v", err)
	case c.Through > 0:
		w.forged = true
		w.note("forged: taken")
	}
}

// doReopen ends the process in good order and starts another.
func (w *world) doReopen(*rapid.T) {
	w.shut(false)
	w.open()
}

// doCrash ends the process at some append of a run, or while it is making a summary, and starts another.
func (w *world) doCrash(t *rapid.T) {
	w.plan(t)
	w.life.acked.Store(rapid.Bool().Draw(t, "the last append is made"))
	w.life.left.Store(rapid.Int64Range(1, 8).Draw(t, "appends"))
	_, err := w.run(w.message(t), 0)
	w.question = ""
	if err != nil && !errors.Is(err, errCrash) {
		w.Fatalf("a crash: %v", err)
	}
	w.shut(true)
	w.open()
	w.note("crashed")
}
