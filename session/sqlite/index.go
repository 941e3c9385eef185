package sqlite

import (
	"context"
	"strings"

	"github.com/plughook/plughook/internal/sqlstore"
	"github.com/plughook/plughook/session/store"
)

// The index of words is a table of FTS5 without the texts: for each term of store.Terms the events that have
// it. FTS5 is given the terms with spaces between, and its tokenizer parts them there and nowhere else: they
// have no character of ASCII but lower-case letters and digits.
//
// To index each event on its own would cost as much as its append. So an append only notes, in its
// transaction, that its events are not in the index (the table unindexed). Once there are enough of them, the
// append that notices takes them in together. A search looks through those that are left.
const createWords = "CREATE VIRTUAL TABLE words USING fts5(terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii')"

// Index implements session.Indexer.
func (s *Store) Index(ctx context.Context, progress func(done, left int64)) error {
	err := s.write(ctx, 0, func(c *conn) error {
		made, err := c.exec("INSERT INTO word_index (one, pending) SELECT 1, coalesce(sum(position), 0) FROM sessions WHERE true ON CONFLICT DO NOTHING")
		if err != nil || made == 0 {
			return err
		}
		if _, err := c.exec(createWords); err != nil {
			return err
		}
		_, err = c.exec("INSERT INTO unindexed (sid, first, last) SELECT sid, 1, position FROM sessions WHERE position > 0")
		return err
	})
	var done int64
	for err == nil {
		var took, left int64
		err = s.write(ctx, sqlstore.IndexBytes, func(c *conn) (err error) {
			took, left, err = takeIn(c, sqlstore.IndexBatch)
			return err
		})
		done += took
		if err == nil && progress != nil {
			progress(done, left)
		}
		if left == 0 {
			break
		}
	}
	return err
}

// DropIndex implements session.Indexer.
func (s *Store) DropIndex(ctx context.Context) error {
	return s.write(ctx, 0, func(c *conn) error {
		was, err := c.exec("DELETE FROM word_index")
		if err != nil || was == 0 {
			return err
		}
		if _, err := c.exec("DELETE FROM unindexed"); err != nil {
			return err
		}
		_, err = c.exec("DROP TABLE words")
		return err
	})
}

// Indexed implements session.Indexer.
func (s *Store) Indexed(ctx context.Context) (is bool, err error) {
	err = s.view(ctx, func(c *conn) error {
		_, is, err = pending(c)
		return err
	})
	return is, err
}

// pending returns how many events are not in the index yet, and whether there is one.
func pending(c *conn) (n int64, indexed bool, err error) {
	indexed, err = c.row("SELECT pending FROM word_index", nil, &n)
	return n, indexed, err
}

// note notes that the events from position first to last of a session are not in the index, if there is one.
// It takes in what waits if that is enough.
func note(c *conn, sid, first, last int64) error {
	var n int64
	indexed, err := c.row("UPDATE word_index SET pending = pending + ? RETURNING pending", []any{last - first + 1}, &n)
	if err != nil || !indexed {
		return err
	}
	if _, err := c.exec("INSERT INTO unindexed (sid, first, last) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET last = excluded.last",
		sid, first, last); err != nil {
		return err
	}
	if n < sqlstore.IndexFrom {
		return nil
	}
	// As many as these are, and some more: so what waits becomes less.
	for most := last - first + 1 + sqlstore.IndexBatch; most > 0 && n > 0; {
		var took int64
		if took, n, err = takeIn(c, min(most, sqlstore.IndexBatch)); err != nil {
			return err
		}
		most -= took
	}
	return nil
}

// takeIn takes the next events into the index. It returns how many, and how many are left.
func takeIn(c *conn, most int64) (took, left int64, err error) {
	for size := 0; took < most && size < sqlstore.IndexBytes; {
		// The next session with such events, in the order of the index.
		var sid, first, last int64
		ok, err := c.row("SELECT sid, first, last FROM unindexed ORDER BY sid LIMIT 1", nil, &sid, &first, &last)
		if err != nil {
			return 0, 0, err
		}
		if !ok {
			break
		}

		// Its events.
		type document struct {
			pos   int64
			terms string
		}
		var list []document
		var at int64
		var data []byte
		err = c.each(rangeQuery, []any{pos(sid, first), pos(sid, min(last, first+most-took-1))},
			[]any{&at, &data}, func() error {
				e, err := store.Decode(data, at&maxSeq)
				if err != nil {
					return err
				}
				list = append(list, document{pos: at, terms: strings.Join(store.Terms(e), " ")})
				size += len(data)
				if size >= sqlstore.IndexBytes {
					return errEnough
				}
				return nil
			})
		if err != nil {
			return 0, 0, err
		}
		for _, d := range list {
			if _, err := c.exec("INSERT INTO words (rowid, terms) VALUES (?, ?)", d.pos, d.terms); err != nil {
				return 0, 0, err
			}
		}
		n := int64(len(list))
		if n == 0 {
			return 0, 0, hole(first)
		}
		took += n
		if first+n > last {
			_, err = c.exec("DELETE FROM unindexed WHERE sid = ?", sid)
		} else {
			_, err = c.exec("UPDATE unindexed SET first = ? WHERE sid = ?", first+n, sid)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	_, err = c.row("UPDATE word_index SET pending = pending - ? RETURNING pending", []any{took}, &left)
	return took, left, err
}

// forget takes a session that is deleted out of the index.
func forget(c *conn, sid int64) error {
	_, indexed, err := pending(c)
	if err != nil || !indexed {
		return err
	}
	if _, err := c.exec(`UPDATE word_index SET pending = pending - (SELECT last - first + 1 FROM unindexed WHERE sid = ?1)
		WHERE EXISTS (SELECT 1 FROM unindexed WHERE sid = ?1)`, sid); err != nil {
		return err
	}
	if _, err := c.exec("DELETE FROM unindexed WHERE sid = ?", sid); err != nil {
		return err
	}
	_, err = c.exec("DELETE FROM words WHERE rowid BETWEEN ? AND ?", pos(sid, 0), pos(sid, maxSeq))
	return err
}
