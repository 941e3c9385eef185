package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// unreadable says that the connection string does not parse. It says why only if the passwords in the string
// are found: they are taken out of the text.
func unreadable(text string, err error) error {
	hint := "it should look like postgres://user:password@host:5432/database"
	u, e := url.Parse(text)
	if e != nil || u.Scheme == "" {
		return errors.New("postgres: the connection string does not parse; " + hint)
	}
	why := err.Error()
	secrets := []string{u.Query().Get("password"), u.Query().Get("sslpassword")}
	if password, ok := u.User.Password(); ok {
		_, raw, _ := strings.Cut(u.User.String(), ":")
		secrets = append(secrets, password, raw)
	}
	for _, secret := range secrets {
		if secret != "" {
			why = strings.ReplaceAll(strings.ReplaceAll(why, secret, "xxxxx"), url.QueryEscape(secret), "xxxxx")
		}
	}
	return fmt.Errorf("postgres: the connection string does not parse: %s; %s", why, hint)
}

// fail returns a database error as the caller gets it. what says which operation failed, on which session.
func (s *Store) fail(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case s.open.Err() != nil:
		return session.ErrClosed
	case unfit(err):
		// Perhaps a newer program has migrated the schema since the version was looked at.
		if newer := current(ctx, s.pool); errors.Is(newer, session.ErrNewerSchema) {
			err = newer
		}
	}
	if away(err) || disturbed(err) {
		err = fmt.Errorf("%w: %w", session.ErrUnavailable, err)
	}
	return fmt.Errorf("postgres: %s: %w", what, err)
}

// do does an operation that is not about one session: it calls f as again does. what says what it is.
func (s *Store) do(ctx context.Context, what string, f func() error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	return s.fail(ctx, what, s.again(ctx, f))
}

// on does an operation on a session: it calls f as again does. The session is not there if f finds no row.
// The errors by which f refuses what the caller wants stay as they are.
func (s *Store) on(ctx context.Context, what string, key session.Key, f func() error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if key.Check(false) != nil {
		return store.NotFound(key)
	}
	err := s.again(ctx, f)
	var position *session.PositionError
	var event *session.EventError
	switch {
	case err == nil, errors.As(err, &position), errors.As(err, &event):
		return err
	case none(err):
		return store.NotFound(key)
	}
	return s.fail(ctx, what+" session "+key.String(), err)
}

// check returns the error of an operation that is not to be begun.
func (s *Store) check(ctx context.Context) error {
	if s.open.Err() != nil {
		return session.ErrClosed
	}
	return context.Cause(ctx)
}

// again calls f once more each time a broken connection was the reason that it failed. f must be safe to
// repeat, even if it has succeeded. A server that was restarted leaves as many broken connections as the pool
// holds. While there is no server, f is called again and again for as long as a lease lasts: an outage that is
// shorter than that ends no run.
func (s *Store) again(ctx context.Context, f func() error) error {
	end := time.Now().Add(leaseTime)
	for broken := 0; ; {
		err := f()
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case away(err) && time.Now().Before(end):
			pause := time.NewTimer(50*time.Millisecond + rand.N(100*time.Millisecond))
			select {
			case <-pause.C:
			case <-ctx.Done():
			case <-s.open.Done():
			}
			pause.Stop()
			if ctx.Err() != nil || s.open.Err() != nil {
				return err
			}
		case disturbed(err) && broken < s.conns:
			broken++
		default:
			return err
		}
	}
}

// disturbed reports whether the statement may succeed when it is repeated: the connection broke, or the
// database asks for a repetition (a deadlock, a conflict of transactions).
func disturbed(err error) bool {
	var answer *pgconn.PgError
	answered := errors.As(err, &answer)
	switch {
	case answered && answer.Code == "57P01": // terminated, perhaps while it connected
		return true
	case unreachable(err):
		return false // see away
	case answered:
		switch answer.Code {
		case "57P02", "40001", "40P01": // crashed, serialization, deadlock
			return true
		}
		return strings.HasPrefix(answer.Code, "08")
	}
	return pgconn.SafeToRetry(err) || broken(err)
}

// unfit reports whether an error may say that a statement is for another schema: it names what is not there
// (42), or what it yields is of another type than when it was prepared (0A) or than it is read into.
func unfit(err error) bool {
	var answer *pgconn.PgError
	var scan pgx.ScanArgError
	return errors.As(err, &answer) && (strings.HasPrefix(answer.Code, "42") || strings.HasPrefix(answer.Code, "0A")) ||
		errors.As(err, &scan)
}

// broken reports whether an error is that of a connection that has gone.
func broken(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.As(err, &op)
}

// away reports whether an error says that there is no server now: none listens, or it starts, stops, or has no
// connection left. One that refuses this client for good is there.
func away(err error) bool {
	var answer *pgconn.PgError
	return unreachable(err) && (!errors.As(err, &answer) ||
		!strings.HasPrefix(answer.Code, "28") && !strings.HasPrefix(answer.Code, "3D"))
}

// unreachable reports whether an error says that there is no server to connect to.
func unreachable(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect)
}
