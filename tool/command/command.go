// Package command makes tools of commands. Each call runs the command in a process of its own. The
// command reads the arguments as JSON from its standard input, and what it writes to standard
// output is the response.
//
// What a command is newly told goes into its environment or its input: command.go.
package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/child"
	"github.com/plughook/plughook/tool"
)

// A Config says what the tool is. Name and Command are required.
type Config struct {
	Name        string
	Description string
	// Parameters is the JSON schema of the arguments, which are an object: any value that marshals
	// to a schema. If it is nil, the tool takes no arguments.
	Parameters any
	// Command is the program and its arguments. There is no shell. A relative path is relative to Dir.
	Command []string
	// Dir is the working directory; "" is that of this process.
	Dir string
	// Env is the environment besides PATH, HOME and LANG: NAME passes on a variable of this
	// process, and NAME=VALUE sets one. Nothing else is passed on, so keys in the environment of
	// this process stay secret.
	//
	// The values of these variables are hidden from the model; see New. If the model may read the
	// value of a variable, set it in Command: "env", "UNIT=celsius", and then the program.
	Env []string
}

// Limits of a call.
const (
	maxOutput = 1 << 20         // bytes of standard output
	maxTail   = 2 << 10         // bytes of standard error that the model is shown
	patience  = 2 * time.Second // between asking a process to end and killing it
)

// New returns the tool, or an error if the program does not exist or cannot be executed.
//
// If the command writes a JSON object, that is the response; another JSON value, or text, becomes
// its "result". If the exit status is not 0, the call fails with an error that ends with the last
// lines of standard error, which the model reads. When the call is cancelled, or the program has
// ended, all processes that are left in its process group are ended too. On Linux the program is
// killed when this process ends, for whatever reason; processes that the program has started are
// not.
//
// In the response and in the error, the value of each variable in Env is replaced by [NAME]. Of a
// value with several lines, each line is replaced too. Values and lines below 6 bytes are not
// replaced, nor those of PATH, HOME and LANG. A value is found as it is, and as it is written in
// strings of JSON and of programming languages, in URLs, in base64 and in hex. It is not found if
// the command encodes it in another way, writes a part of it, or writes it to a file that the model
// reads later.
func New(c Config) (*tool.Tool, error) {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return nil, fmt.Errorf("tool %s: it has no command", c.Name)
	}
	path, err := child.Path(c.Command[0], c.Dir)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", c.Name, err)
	}
	path, err = exec.LookPath(path)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", c.Name, err)
	}
	return &tool.Tool{
		Declaration: &genai.FunctionDeclaration{
			Name:                 c.Name,
			Description:          c.Description,
			ParametersJsonSchema: c.Parameters,
		},
		Run: func(ctx context.Context, call *tool.Call) (map[string]any, error) {
			given := child.Environment(c.Env)
			env := append(child.Environment(child.Always), given...)
			hidden := newSecrets(given)
			out, err := c.run(ctx, path, env, hidden, call.Args)
			if err != nil {
				return nil, err
			}
			return response(out, hidden)
		},
	}, nil
}

// run runs the command and returns what it wrote to standard output.
func (c *Config) run(ctx context.Context, path string, env []string, hidden *secrets,
	args map[string]any) ([]byte, error) {
	if args == nil {
		args = map[string]any{}
	}
	in, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var stderr tail
	stdout := bounded{full: func() { cancel(fmt.Errorf("it wrote more than %d bytes", maxOutput)) }}
	cmd := exec.CommandContext(ctx, path, c.Command[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = env
	cmd.WaitDelay = patience
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stdout = &stdout
	cmd.Stderr = &stderr
	cmd.Cancel = func() error {
		err := child.Ask(cmd)
		if errors.Is(err, errors.ErrUnsupported) {
			return cmd.Process.Kill()
		}
		return err
	}
	child.Group(cmd)
	var failed error
	child.EndWithParent(cmd, func() {
		if failed = cmd.Start(); failed == nil {
			err = cmd.Wait()
		}
	})
	if failed != nil {
		return nil, fmt.Errorf("it cannot be started: %w", failed)
	}
	child.Kill(cmd)
	cause := context.Cause(ctx)
	leftOpen := errors.Is(err, exec.ErrWaitDelay) // a process that it has started kept its output open
	switch {
	case cause != nil:
		return nil, fmt.Errorf("it was ended: %w", cause)
	case err == nil || leftOpen:
		return stdout.data, nil
	}
	message := stderr.text(hidden)
	if message == "" {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %s", err, message)
}
