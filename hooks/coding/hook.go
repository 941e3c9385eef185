package coding

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/plughook/plughook/hooks/dialect"
)

// Undecided is what an agent is told if nobody could decide.
const Undecided = "runner hook: the policy could not be evaluated"

// Deadline is how long Answer takes at most. It is shorter than what installed hooks are given by any agent, since
// most agents let a call pass whose hook is late.
const Deadline = 20 * time.Second

// Input is what an agent's hook was started with.
type Input struct {
	Agent   string            `json:"agent"` // whose file names the hook
	Event   string            `json:"event"` // in the command's arguments; empty if it is only in the payload
	Env     map[string]string `json:"env"`   // the variables in EnvNames that are set
	Payload []byte            `json:"payload"`
}

// EnvNames are the environment variables that say which agent has started a hook.
func EnvNames() []string { return []string{"CURSOR_VERSION", "COPILOT_CLI"} }

// Answer judges what a hook was told and returns what it prints. It always returns a reply, which fails closed as far
// as the event allows; the error says what went wrong, for a log: agents read what hooks print.
func (h Host) Answer(ctx context.Context, in Input) (dialect.Reply, error) {
	e, err := in.read()
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

func (in Input) read() (*dialect.Event, error) {
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
	e, _ := in.read()
	return failed(e)
}

// Path is where a server answers hooks.
const Path = "/hooks/coding"

// Handler answers hooks that are forwarded by Forward.
func (h Host) Handler(log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != Path {
			http.Error(w, "POST "+Path+" answers hooks", http.StatusNotFound)
			return
		}
		var in Input
		// The payload is base64 in the body.
		body := http.MaxBytesReader(w, r.Body, 2*dialect.MaxInput)
		if err := json.UnmarshalRead(body, &in); err != nil {
			http.Error(w, "the body is not the input of a hook: "+err.Error(), http.StatusBadRequest)
			return
		}
		reply, err := h.Answer(r.Context(), in)
		if err != nil {
			log.Warn("a hook was refused, since nobody could decide", "agent", in.Agent, "event", in.Event, "error", err)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.MarshalWrite(w, reply) // the client is gone, or reads it
	})
}

// ErrNoServer is the error of Forward where nobody listens.
var ErrNoServer = errors.New("no server listens for hooks")

// Forward lets the server behind a Unix socket answer a hook. The error is ErrNoServer if there is none; any other error
// means that the server could not answer, and that the hook has to fail closed.
func Forward(ctx context.Context, socket string, in Input) (dialect.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return dialect.Reply{}, fmt.Errorf("%w at %s: %w", ErrNoServer, socket, err)
	}
	if !sameUser(conn) { // somebody else would decide
		conn.Close()
		return dialect.Reply{}, fmt.Errorf("%w at %s, but one of another user", ErrNoServer, socket)
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}
	body, err := json.Marshal(in)
	if err != nil {
		return dialect.Reply{}, err
	}
	target := url.URL{Scheme: "http", Host: "hooks", Path: Path}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return dialect.Reply{}, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return dialect.Reply{}, fmt.Errorf("the server at %s: %w", socket, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(response.Body, 500))
		return dialect.Reply{}, fmt.Errorf("the server at %s answers %s: %s", socket, response.Status, strings.TrimSpace(string(why)))
	}
	var reply dialect.Reply
	if err := json.UnmarshalRead(response.Body, &reply); err != nil {
		return dialect.Reply{}, fmt.Errorf("the server at %s: %w", socket, err)
	}
	return reply, nil
}

// Socket returns the path of the socket at which a server of this user listens for hooks, if nothing else is said: in
// $XDG_RUNTIME_DIR, or in a directory of the user's own below the one for temporary files.
func Socket() string {
	directory := os.Getenv("XDG_RUNTIME_DIR")
	if directory == "" {
		directory = filepath.Join(os.TempDir(), "plughook-"+strconv.Itoa(os.Getuid()))
	}
	return filepath.Join(directory, "plughook-hooks.sock")
}

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
