// Package forward hands what a coding agent's hook was told to a server that listens at a Unix socket, and
// returns what the server says. It decides nothing.
//
// A hook is a process that an agent waits for, so this package needs little: each package below it costs
// time at the start, and so does each that Go initialises before it. It may need neither os nor unicode, and so
// not strings (see cmd/runner/internal/early). A request is a line of quoted texts and the payload, an answer a line with two
// numbers and what is for standard error, and what is for standard output.
//
// What a request has besides belongs into Input, append and ReadInput.
package forward

import (
	"errors"
	"io"
	"strconv"
	"syscall"
	"time"
)

// Input is what an agent's hook was started with.
type Input struct {
	Agent   string            // whose file names the hook
	Event   string            // in the command's arguments; empty if it is only in the payload
	Env     map[string]string // the variables in EnvNames that are set
	Payload []byte            // standard input
}

// MaxInput is how many bytes a payload may have: 10 MiB.
const MaxInput = 10 << 20

// Reply is what a hook prints, and how it exits.
type Reply struct {
	Stdout []byte
	Stderr string // a line, or nothing
	Exit   int
}

// Deadline is how long a hook waits for an answer. It is shorter than what installed hooks are given by any
// agent, since most agents let a call pass whose hook is late.
const Deadline = 20 * time.Second

// Path is where a server answers hooks.
const Path = "/hooks/coding"

// ErrNoServer is the error where nobody listens.
var ErrNoServer = errors.New("no server listens for hooks")

// EnvNames are the environment variables that say which agent has started a hook.
func EnvNames() []string { return []string{"CURSOR_VERSION", "COPILOT_CLI"} }

// Environment returns those of EnvNames that are set.
func Environment() map[string]string {
	env := map[string]string{}
	for _, name := range EnvNames() {
		if value, _ := syscall.Getenv(name); value != "" {
			env[name] = value
		}
	}
	return env
}

// Socket returns the path of the socket at which a server of this user listens for hooks, if nothing else is
// said: in $XDG_RUNTIME_DIR, or in a directory of the user's own below the one for temporary files.
func Socket() string {
	directory, _ := syscall.Getenv("XDG_RUNTIME_DIR")
	if directory == "" {
		temporary, _ := syscall.Getenv("TMPDIR")
		if temporary == "" {
			temporary = "/tmp"
		}
		directory = temporary + "/plughook-" + strconv.Itoa(syscall.Getuid())
	}
	return directory + "/plughook-hooks.sock"
}

// Exchange sends an input over a connection to a server, and returns the reply. The server ends the connection.
func Exchange(conn io.ReadWriter, in Input) (Reply, error) {
	body := in.append(nil)
	request := "POST " + Path + " HTTP/1.0\r\nHost: hooks\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	if _, err := conn.Write(append([]byte(request), body...)); err != nil {
		return Reply{}, err
	}
	response, err := io.ReadAll(conn)
	if err != nil {
		return Reply{}, err
	}
	head, answer, whole := cut(string(response), "\r\n\r\n")
	status, _, _ := cut(head, "\r\n")
	const well = "HTTP/1.0 200 "
	if !whole || len(status) < len(well) || status[:len(well)] != well {
		return Reply{}, errors.New("the server answers " + strconv.Quote(status+": "+answer[:min(len(answer), 500)]))
	}
	return readReply(answer)
}

// append appends the form of an input in a request.
func (in Input) append(body []byte) []byte {
	body = strconv.AppendQuote(body, in.Agent)
	body = strconv.AppendQuote(body, in.Event)
	for _, name := range EnvNames() {
		body = strconv.AppendQuote(body, in.Env[name])
	}
	return append(append(body, '\n'), in.Payload...)
}

// ReadInput reads an input from the body of a request.
func ReadInput(body []byte) (in Input, err error) {
	end := 0
	for end < len(body) && body[end] != '\n' {
		end++
	}
	whole := end < len(body)
	rest := string(body[:end])
	in = Input{Env: map[string]string{}, Payload: body[min(end+1, len(body)):]}
	next := func() string {
		quoted, failed := strconv.QuotedPrefix(rest)
		text, alsoFailed := strconv.Unquote(quoted)
		if failed != nil || alsoFailed != nil || !whole {
			err = errors.New("the body is not the input of a hook")
			return ""
		}
		rest = rest[len(quoted):]
		return text
	}
	in.Agent = next()
	in.Event = next()
	for _, name := range EnvNames() {
		if value := next(); value != "" {
			in.Env[name] = value
		}
	}
	return in, err
}

// Append appends the form of a reply in an answer. It has the length of what is for standard output, so that a
// reply that was cut off is none.
func (r Reply) Append(body []byte) []byte {
	body = append(strconv.AppendInt(body, int64(r.Exit), 10), ' ')
	body = append(strconv.AppendInt(body, int64(len(r.Stdout)), 10), ' ')
	body = append(strconv.AppendQuote(body, r.Stderr), '\n')
	return append(body, r.Stdout...)
}

func readReply(body string) (Reply, error) {
	line, stdout, _ := cut(body, "\n")
	first, rest, _ := cut(line, " ")
	second, quoted, _ := cut(rest, " ")
	exit, badExit := strconv.Atoi(first)
	size, badSize := strconv.Atoi(second)
	stderr, badStderr := strconv.Unquote(quoted)
	if badExit != nil || badSize != nil || badStderr != nil || size != len(stdout) {
		return Reply{}, errors.New("the server's answer is not whole, or not that of a hook")
	}
	return Reply{Stdout: []byte(stdout), Stderr: stderr, Exit: exit}, nil
}

// cut is strings.Cut.
func cut(s, separator string) (before, after string, found bool) {
	for i := 0; i+len(separator) <= len(s); i++ {
		if s[i:i+len(separator)] == separator {
			return s[:i], s[i+len(separator):], true
		}
	}
	return s, "", false
}
