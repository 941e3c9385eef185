package runs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/notify"
	"github.com/plughook/plughook/session"
)

// How messages are sent.
const (
	sendTime  = 10 * time.Second      // one attempt
	claimTime = 2*sendTime + slotTime // no other server tries meanwhile
	giveUp    = 24 * time.Hour        // after which a message is dropped
	mostSent  = 32                    // at once, to one target
	slotTime  = time.Second           // for which a message waits until a target takes fewer than that at once
)

// An outbox sends messages about runs. Each run has a notice in the store from before it begins until its message was
// sent. How the run ended is written there while the session is still the run's alone. So if the server is killed,
// another one, or the next, finds either the message or a run that was cut off.
type outbox struct {
	targets []*receiver
	quiet   time.Duration // after which a run that was cut off is told of, if nobody has gone on with it
	attempt time.Duration // how long one may take
	wake    chan struct{}
	slots   chan struct{} // for messages. A target can hold only some of them up, so others always get theirs
	down    bool          // the store could not be asked the last time
}

// A receiver is a target, with what it is being sent.
type receiver struct {
	*notify.Target
	slots chan struct{}
	stuck atomic.Bool // no slot came free in time: messages do not wait for one
}

// newOutbox returns the outbox for targets.
func newOutbox(targets []*notify.Target, quiet time.Duration) *outbox {
	o := &outbox{
		quiet:   quiet,
		attempt: sendTime,
		wake:    make(chan struct{}, 1),
		slots:   make(chan struct{}, mostSent*(len(targets)+1)),
	}
	for _, t := range targets {
		o.targets = append(o.targets, &receiver{Target: t, slots: make(chan struct{}, mostSent)})
	}
	return o
}

// slot takes a slot of the receiver's, and reports whether there was one.
func (to *receiver) slot(ctx context.Context) bool {
	select {
	case to.slots <- struct{}{}:
		return true
	default:
	}
	if to.stuck.Load() {
		return false
	}
	timer := time.NewTimer(slotTime)
	defer timer.Stop()
	select {
	case to.slots <- struct{}{}:
		return true
	case <-timer.C:
		to.stuck.Store(true)
	case <-ctx.Done():
	}
	return false
}

// try sends a message once, in a slot that was taken.
func (to *receiver) try(ctx context.Context, m *notify.Message, limit time.Duration) error {
	defer func() { <-to.slots }()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := to.Send(ctx, m)
	if ctx.Err() == nil {
		to.stuck.Store(false)
	}
	return err
}

// owed are the data of a run's notice.
type owed struct {
	Invocation string          `json:"invocation,omitempty"`
	Begun      time.Time       `json:"begun"`
	Position   int64           `json:"position"` // of the log before the run
	Message    *notify.Message `json:"message,omitempty"`
	Failed     int             `json:"failed,omitempty"` // attempts
	Sent       []string        `json:"sent,omitempty"`   // IDs of targets
}

// A debt is the notice of a run of this process.
type debt struct {
	keeper session.NoticeKeeper
	number int64 // the session's
	notice session.Notice
	owed
	fresh   bool // this run has made it
	settled bool
}

// Notify has targets told how runs end, until ctx is done, and Close waits for that. resumeAfter is after what time
// somebody goes on with a run that was cut off; 0 if nobody does. It is called before the first Start.
func (r *Runs) Notify(ctx context.Context, served []*apps.App, targets []*notify.Target, resumeAfter time.Duration) {
	o := newOutbox(targets, time.Minute+2*resumeAfter)
	r.outbox = o
	r.active.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-o.wake:
			case <-ctx.Done():
				return
			}
			down := false
			for _, app := range served {
				if err := r.sendDue(ctx, app); err != nil && ctx.Err() == nil {
					down = true
					if !o.down {
						r.log.Warn("messages about runs are not sent for now", "app", app.Name, "error", err)
					}
				}
			}
			o.down = down
		}
	})
}

// sendDue begins to send what is due of an app.
func (r *Runs) sendDue(ctx context.Context, app *apps.App) error {
	free := cap(r.outbox.slots) - len(r.outbox.slots)
	if free == 0 {
		return nil
	}
	keeper := app.Sessions().(session.NoticeKeeper) // server.New has checked it
	list, err := keeper.TakeNotices(ctx, app.Name, claimTime, free)
	for _, n := range list {
		r.outbox.slots <- struct{}{}
		r.active.Go(func() {
			if err := r.send(keeper, n); err != nil {
				r.log.Warn("a message about a run was not dealt with, and is tried again", "session", n.Key, "error", err)
			}
			<-r.outbox.slots
			r.outbox.look()
		})
	}
	return err
}

// look has the outbox look for what is due.
func (o *outbox) look() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// send sends a message to those who have not got it, and says in the store who has.
func (r *Runs) send(keeper session.NoticeKeeper, n session.Notice) error {
	var w owed
	if err := json.Unmarshal(n.Data, &w); err != nil {
		return err
	}
	if w.Message == nil {
		if over, err := r.cutOff(keeper, n, &w); !over || err != nil {
			return err
		}
	}
	failed, full := false, false
	if w.Message != nil { // else nothing is left to tell
		failed, full = r.sendTo(r.life, n.Key, &w)
	}
	var data []byte
	wait := sendTime // until a target that was full has taken something, or was given up
	if failed {
		wait = min(time.Second<<(2*min(w.Failed, 8)), 10*time.Minute)
		w.Failed++
	}
	if failed || full {
		var err error
		if data, err = json.Marshal(w); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(r.life, sendTime)
	defer cancel()
	_, err := keeper.ReplaceNotice(ctx, n, data, wait)
	return err
}

// sendTo sends a message to each target that wants it and has not got it. It reports whether it
// is to be tried again, since one has not taken it, or one is full and was not asked.
func (r *Runs) sendTo(ctx context.Context, key session.Key, w *owed) (again, full bool) {
	var group sync.WaitGroup
	var mu sync.Mutex
	late := time.Since(w.Message.Time) > giveUp
	missing := slices.DeleteFunc(slices.Clone(r.outbox.targets), func(t *receiver) bool {
		return !t.Wants(w.Message.Type) || slices.Contains(w.Sent, t.ID())
	})
	for _, t := range missing {
		group.Go(func() {
			asked := t.slot(ctx)
			var err error
			if asked {
				err = t.try(ctx, w.Message, r.outbox.attempt)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case !asked:
				full = true
			case err == nil:
				w.Sent = append(w.Sent, t.ID())
				r.budget.Notices.Sent.Add(1)
			case late:
				r.budget.Notices.GivenUp.Add(1)
				r.log.Error("a message about a run is given up", "session", key, "invocation", w.Message.Data.Invocation,
					"message", w.Message.ID, "to", t.Name(), "attempts", w.Failed+1, "error", err)
			default:
				again = true
				r.budget.Notices.Failed.Add(1)
				r.log.Info("a message about a run was not taken", "session", key, "message", w.Message.ID,
					"to", t.Name(), "attempt", w.Failed+1, "error", err)
			}
		})
	}
	group.Wait()
	return again, full
}

// cutOff reports whether a run of which no end is known has ended all the same, and gives it a message then: its server
// has died, and nobody goes on with it. Without a message there is nothing to tell.
func (r *Runs) cutOff(keeper session.NoticeKeeper, n session.Notice, w *owed) (over bool, err error) {
	ctx, cancel := context.WithTimeout(r.life, sendTime)
	defer cancel()
	s, err := keeper.Get(ctx, n.Key)
	switch {
	case errors.Is(err, session.ErrNotFound):
		return false, nil // the notice went with it
	case err != nil:
		return false, err
	case r.Find(n.Key, w.Invocation) != nil,
		s.Holder != "" && (w.Invocation == "" || s.Holder == w.Invocation),
		time.Since(w.Begun) < r.outbox.quiet, time.Since(s.Updated) < r.outbox.quiet:
		return false, nil // it runs, or somebody may go on with it
	}
	var events []*session.Event
	for e, err := range keeper.Read(ctx, n.Key, session.Selection{After: w.Position, Last: lookedBack}) {
		if err != nil {
			return false, err
		}
		if w.Invocation == "" {
			w.Invocation = e.InvocationID
		}
		if e.InvocationID == w.Invocation {
			events = append(events, e)
		}
	}
	if len(events) == 0 { // it waits in another process, or that died before the run began
		return time.Since(w.Begun) > giveUp, nil
	}
	end := EndIn(events)
	if end.Kind == "" {
		end.Kind = CutOff
	}
	w.Message = message(n, s.Number, w.Invocation, end, events, nil)
	return true, nil
}

// owe keeps a notice of a run that is about to begin.
func (r *Runs) owe(ctx context.Context, run *Run) error {
	q := run.request
	if r.outbox == nil || q.Config.NoAgent {
		return nil
	}
	d := &debt{keeper: q.Runner.Sessions().(session.NoticeKeeper)}
	s, err := d.keeper.Get(ctx, q.Key)
	if errors.Is(err, session.ErrNotFound) && q.Config.Create {
		s, err = d.keeper.Create(ctx, q.Key, nil)
		if errors.Is(err, session.ErrExists) {
			s, err = d.keeper.Get(ctx, q.Key)
		}
	}
	if err != nil {
		return err
	}
	d.number = s.Number
	d.owed = owed{Invocation: run.Invocation, Begun: time.Now(), Position: s.Position}
	d.notice = session.Notice{Key: q.Key, ID: run.Input}
	if run.Input == "" {
		d.notice.ID = session.NewID()
	}
	data, err := json.Marshal(d.owed)
	if err == nil {
		d.fresh, err = d.keeper.ReplaceNotice(ctx, d.notice, data, r.outbox.quiet)
	}
	d.notice.Data = data
	run.debt = d
	return err
}

// settle writes into a run's notice how the run has ended, so that it is told. A run that was cut off stays open: somebody
// may go on with it.
func (r *Runs) settle(ctx context.Context, run *Run, end End) {
	d := run.debt
	if d == nil || d.settled || end.Kind == CutOff {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTime)
	defer cancel()
	events, calls, news := run.said(d.Position)
	var err error
	switch {
	case news || end.Plugin != "":
		n := d.notice
		d.Message = message(n, d.number, run.Invocation, end, events, calls)
		if n.Data, err = json.Marshal(d.owed); err == nil {
			err = d.keeper.KeepNotice(ctx, n, 0)
		}
	case d.fresh: // its caller was told what it has come to, or was told again what is known
		_, err = d.keeper.ReplaceNotice(ctx, d.notice, nil, 0)
	}
	d.settled = err == nil || errors.Is(err, session.ErrNotFound)
	if !d.settled {
		r.log.Warn("a run's end was not kept, and is told late", "session", run.Key, "invocation", run.Invocation, "error", err)
	}
	r.outbox.look()
}

// said returns what the run has yielded of the log, and the calls that wait after it. news says that some of the events are
// the run's own, behind a position.
func (r *Run) said(after int64) (events []*session.Event, calls []session.Call, news bool) {
	events = r.Events()
	r.mu.Lock()
	defer r.mu.Unlock()
	news = slices.ContainsFunc(events, func(e *session.Event) bool { return e.Seq > after && !r.elsewhere[e.ID] })
	return events, Outside(r.waiting), news
}

// message returns what is told of a run that has ended.
func message(
	n session.Notice, number int64, invocation string, end End, events []*session.Event, calls []session.Call,
) *notify.Message {
	m := &notify.Message{Type: "run.ended", Time: time.Now().UTC(), Data: notify.Run{
		App: n.Key.App, User: n.Key.User, Session: n.Key.ID, Invocation: invocation, End: string(end.Kind), Plugin: end.Plugin,
	}}
	position := int64(0)
	for _, e := range events {
		position = max(position, e.Seq)
		if e.InvocationID != "" {
			m.Data.Invocation = e.InvocationID
		}
		if e.ErrorCode != "" && end.Kind != Done {
			m.Data.Code = e.ErrorCode
		}
	}
	switch {
	case end.Kind == Failed, end.Kind == CutOff:
		m.Type = "run.failed"
	case end.Kind == Done && len(calls) > 0:
		m.Type = "run.waits"
		m.Data.End = string(Waiting)
	}
	for _, c := range calls {
		m.Data.Waiting = append(m.Data.Waiting, notify.Call{ID: c.ID, Name: c.Name, Confirm: c.Held != nil && c.Decision == nil})
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q %d", number, n.ID, position))
	m.ID = "msg_" + hex.EncodeToString(sum[:12])
	return m
}
