package guardrail

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// A Decision is a line of the file that Config.Decisions names, in JSON: what one rule made of one event,
// or of one request to a model. It has nothing of the text.
type Decision struct {
	// Time is when it was decided.
	Time time.Time `json:"time"`
	// Policy is the policy's file or address, Revision the beginning of its SHA-256, and Release what its
	// author calls it.
	Policy   string `json:"policy"`
	Revision string `json:"revision"`
	Release  string `json:"release,omitempty"`
	// Signed is when the policy was signed, if Config.PublicKey asks for that.
	Signed time.Time `json:"signed,omitzero"`
	// App, User and Session name the session, Invocation the run, Event the event as it came, "" for a
	// request to a model, and Agent who said it, "" for the caller.
	App        string `json:"app"`
	User       string `json:"user"`
	Session    string `json:"session"`
	Invocation string `json:"invocation"`
	Event      string `json:"event,omitempty"`
	Agent      string `json:"agent,omitempty"`
	Record
	// Error says why a text could not be judged: Rule is the one whose judge has not answered, or "on_error"
	// if the policy could not judge it, and Action is what is said to be done then.
	Error string `json:"error,omitempty"`
}

// openDecisions opens the file of decisions; nil if there is none.
func openDecisions(name string, log *slog.Logger) (*decisionLog, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("guardrail: decisions: %w", err)
	}
	return &decisionLog{log: log, file: file}, nil
}

// write writes what was made of an event. A line that cannot be written is told in the log, and fails no
// run.
func (d *decisionLog) write(ev *evaluation, event string) {
	if d == nil {
		return
	}
	line := Decision{
		Time:       time.Now(),
		Policy:     ev.policy.Name(),
		Revision:   ev.policy.Revision(),
		Release:    ev.policy.Release(),
		App:        ev.inv.Key.App,
		User:       ev.inv.Key.User,
		Session:    ev.inv.Key.ID,
		Invocation: ev.inv.ID,
		Event:      event,
	}
	if ev.guard.PublicKey != "" {
		line.Signed = ev.policy.Signed()
	}
	if ev.event.Author != session.User {
		line.Agent = ev.event.Author
	}
	var lines []byte
	add := func() {
		data, err := json.Marshal(line)
		if err != nil {
			panic(err) // a decision has only what JSON can hold
		}
		lines = append(append(lines, data...), '\n')
	}
	failures := ev.failures()
	for _, r := range append(slices.Clone(ev.records), passedUnjudged(failures)...) {
		line.Record = r
		line.Error = ""
		i := slices.IndexFunc(failures, func(q *question) bool {
			return q.spec.Rule == r.Rule && q.Stage == r.Stage && judging.TypeOf(q.err) == r.Type
		})
		if i >= 0 {
			line.Error = failures[i].err.Error()
		}
		add()
	}
	if ev.err != nil {
		line.Record = Record{
			Rule:   "on_error",
			Stage:  ev.stage(),
			Type:   judging.TypeUnjudged,
			Action: ev.policy.OnError(),
		}
		if line.Action == "" {
			line.Action = policy.Block
		}
		line.Error = ev.err.Error()
		add()
	}
	if lines == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := d.file.Write(lines)
	if err != nil {
		d.log.Error("guardrail: a decision was not written", slog.String("error", err.Error()))
	}
}

// failures returns the questions that judges have not answered.
func (ev *evaluation) failures() (list []*question) {
	for _, q := range ev.answers {
		if q.err != nil {
			list = append(list, q)
		}
	}
	return list
}

// passedUnjudged returns the records of texts that pass though their judges have not answered. They have
// no findings, from which other records are made.
func passedUnjudged(failures []*question) (list []Record) {
	for _, q := range failures {
		if policy.Action(q.spec.OnError) != policy.Allow {
			continue
		}
		kind := judging.TypeOf(q.err)
		i := slices.IndexFunc(list, func(r Record) bool {
			return r.Rule == q.spec.Rule && r.Stage == q.Stage && r.Type == kind
		})
		if i < 0 {
			i = len(list)
			list = append(list, Record{
				Rule:   q.spec.Rule,
				Stage:  q.Stage,
				Type:   kind,
				Action: policy.Allow,
			})
		}
		list[i].Count++
		list[i].Length += len(q.text)
	}
	return list
}

// close closes the file.
func (d *decisionLog) close() error {
	if d == nil {
		return nil
	}
	return d.file.Close()
}
