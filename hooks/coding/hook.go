package coding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/plughook/plughook/hooks/dialect"
	"github.com/plughook/plughook/hooks/forward"
)

// Undecided is what an agent is told if nobody could decide.
const Undecided = "runner hook: the policy could not be evaluated"

// Deadline is how long Answer takes at most.
const Deadline = forward.Deadline

// Input is what an agent's hook was started with.
type Input = forward.Input

// Answer judges what a hook was told and returns what it prints. It always returns a reply, which fails closed as far
// as the event allows; the error says what went wrong, for a log: agents read what hooks print.
func (h Host) Answer(ctx context.Context, in Input) (dialect.Reply, error) {
	e, err := read(in)
	if err != nil {
		return failed(e), err
	}
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	v, err := h.Judge(ctx, e)
	if err != nil {
		return failed(e), err
	}
	return e.Reply(v), nil
}

func read(in Input) (*dialect.Event, error) {
	return dialect.Read(in.Agent, in.Event, func(key string) string { return in.Env[key] }, in.Payload)
}

// failed returns the reply to an event that nobody could judge. Exit code 2 and a line on standard error
// is a refusal that every agent knows.
func failed(e *dialect.Event) dialect.Reply {
	if e == nil {
		return dialect.Reply{Exit: 2, Stderr: Undecided}
	}
	return e.Reply(dialect.Verdict{Answer: dialect.Failed, Reason: Undecided, Instead: "[withheld: the policy could not be evaluated]"})
}

// Refuse returns the reply to an input that nobody could judge.
func Refuse(in Input) dialect.Reply {
	e, _ := read(in)
	return failed(e)
}

// Handler answers hooks that are forwarded by Forward.
func (h Host) Handler(log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != forward.Path {
			http.Error(w, "POST "+forward.Path+" answers hooks", http.StatusNotFound)
			return
		}
		const beside = 64 << 10 // bytes of what stands before the payload
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, dialect.MaxInput+beside))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		in, err := forward.ReadInput(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		reply, err := h.Answer(r.Context(), in)
		if err != nil {
			log.Warn("a hook was refused, since nobody could decide", "agent", in.Agent, "event", in.Event, "error", err)
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		out := forward.Reply{Stdout: reply.Stdout, Stderr: reply.Stderr, Exit: reply.Exit}
		_, _ = w.Write(out.Append(nil)) // the client is gone, or reads it
	})
}

// ErrNoServer is the error of Forward where nobody listens.
var ErrNoServer = forward.ErrNoServer

// Forward lets the server behind a Unix socket answer a hook. The error is ErrNoServer if there is none; any other error
// means that the server could not answer, and that the hook has to fail closed.
func Forward(socket string, in Input) (dialect.Reply, error) {
	reply, err := forward.Send(socket, in, Deadline)
	if err != nil {
		return dialect.Reply{}, fmt.Errorf("the server at %s: %w", socket, err)
	}
	return dialect.Reply{Stdout: reply.Stdout, Stderr: reply.Stderr, Exit: reply.Exit}, nil
}

// Socket returns the path of the socket at which a server of this user listens for hooks, if nothing else is said.
func Socket() string { return forward.Socket() }

// Listen listens at a socket that only this user can connect to, and closes connections of other users. A socket
// that nobody listens at any more is taken over. The directory is made; one that others may write to is refused.
func Listen(socket string) (net.Listener, error) {
	directory := filepath.Dir(socket)
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Stat(directory); err != nil {
		return nil, err
	} else if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("others may write to %s, so they could put a socket of theirs there: use a directory with mode 0700", directory)
	}
	if conn, err := net.Dial("unix", socket); err == nil {
		conn.Close()
		return nil, fmt.Errorf("another server listens for hooks at %s", socket)
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		listener.Close()
		return nil, err
	}
	return ownUser{listener}, nil
}

// ownUser accepts connections of this process's user.
type ownUser struct{ net.Listener }

func (l ownUser) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || sameUser(conn) {
			return conn, err
		}
		conn.Close()
	}
}
