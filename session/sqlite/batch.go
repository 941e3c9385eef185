package sqlite

import "context"

// begin begins a transaction, durable on request.
func (w *writer) begin(durable bool) error {
	if err := w.s.there(); err != nil {
		return err
	}
	if durable != w.synced {
		mode := "PRAGMA synchronous = NORMAL"
		if durable {
			mode = "PRAGMA synchronous = FULL"
		}
		if _, err := w.c.exec(mode); err != nil {
			return err
		}
		w.synced = durable
	}
	_, err := w.c.exec("BEGIN IMMEDIATE")
	return err
}

// attempt runs a batch in the transaction that was begun, and ends that. A request that is refused has
// no effect on the others. If the database fails, nothing of the batch has happened.
func (w *writer) attempt(batch []*request) error {
	if len(batch) == 1 {
		r := batch[0]
		if r.err = r.do(w.c); r.err != nil {
			w.c.rollback()
			if broken(r.err) {
				return r.err
			}
			return nil
		}
	} else {
		for _, r := range batch {
			if err := w.step(r); err != nil {
				w.c.rollback()
				return err
			}
		}
	}
	_, err := w.c.exec("COMMIT")
	if err != nil {
		w.c.rollback()
	}
	return err
}

func (w *writer) step(r *request) error {
	if _, err := w.c.exec("SAVEPOINT request"); err != nil {
		return err
	}
	if r.err = r.do(w.c); broken(r.err) {
		return r.err
	} else if r.err != nil {
		if _, err := w.c.exec("ROLLBACK TO request"); err != nil {
			return err
		}
	}
	_, err := w.c.exec("RELEASE request")
	return err
}

// answer tells the callers how it ended: each its own way if err is nil.
func (w *writer) answer(batch []*request, err error) {
	for _, r := range batch {
		if err != nil {
			r.err = err
		}
		r.done <- r.err
	}
}

// alone runs a request of a batch that failed, in a transaction of its own.
func (w *writer) alone(r *request) {
	err := patiently(context.Background(), w.s.patience, func() error { return w.begin(!r.lease) })
	if err == nil {
		err = w.attempt([]*request{r})
	}
	w.answer([]*request{r}, err)
}
