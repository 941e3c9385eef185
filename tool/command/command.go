// Package command has tools that are commands. Each call is a process of its own: the arguments are JSON
// on its standard input, and what it writes to standard output is the response.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/tool"
)

// A Config says what the tool is. Name and Command are needed.
type Config struct {
	Name, Description string
	// Parameters is the JSON schema of the arguments, an object's: anything that marshals to a schema. nil
	// takes none.
	Parameters any
	// Command is the program and its arguments; no shell reads it. A relative path is one from Dir.
	Command []string
	// Dir is where it runs; "" is where this process runs.
	Dir string
	// Env is the environment beyond PATH, HOME and LANG: NAME passes on a variable of this process,
	// NAME=VALUE sets one. Nothing else is passed on, so the keys of this process stay here.
	//
	// The values of these variables are hidden from the model: see New. What it may read, and a command needs
	// in a variable, is set in Command: "env", "UNIT=celsius", then the program.
	Env []string
}

// Bounds on one call.
const (
	maxOutput = 1 << 20         // bytes of standard output
	maxTail   = 2 << 10         // bytes of standard error that the model is shown
	patience  = 2 * time.Second // between asking a process to end, and ending it
)

// New returns the tool, or an error if the program is not there or cannot be executed.
//
// A JSON object on standard output is the response; another JSON value, or text, is its "result". An exit
// status other than 0 is an error, which ends with the last lines of standard error: the model reads them.
// When the call is cancelled, or the program has ended, every process that it has left in its process
// group is ended too. On Linux the program is killed with this process, however that ends; what the program
// has started is not.
//
// In the response and in the error each value of a variable in Env is replaced by its [NAME] if it has 6
// bytes or more, and so is each such line of a value of several lines; the values of PATH, HOME and LANG are
// not. A value is found as it is, as JSON has it in a string, and as a URL has it in its query. It is not
// found if the command encodes it in another way, writes a part of it, or writes it elsewhere: into a file,
// say, that the model may read later.
func New(c Config) (*tool.Tool, error) {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return nil, fmt.Errorf("tool %s: it has no command", c.Name)
	}
	path := c.Command[0]
	if filepath.Base(path) != path && !filepath.IsAbs(path) {
		dir, err := filepath.Abs(c.Dir)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", c.Name, err)
		}
		path = filepath.Join(dir, path)
	}
	path, err := exec.LookPath(path)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", c.Name, err)
	}
	return &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: c.Name, Description: c.Description, ParametersJsonSchema: c.Parameters},
		Run: func(ctx context.Context, call *tool.Call) (map[string]any, error) {
			env := environment(c.Env)
			hidden := hiding(env[len(environment(nil)):])
			out, err := c.run(ctx, path, env, hidden, call.Args)
			if err != nil {
				return nil, err
			}
			return response(out, hidden)
		},
	}, nil
}

// run runs the command and returns what it wrote.
func (c *Config) run(ctx context.Context, path string, env []string, hidden *secrets, args map[string]any) ([]byte, error) {
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
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.Dir, env, patience
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(string(in)), &stdout, &stderr
	ownGroup(cmd)
	defer endWithUs(cmd)()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("it cannot be started: %w", err)
	}
	err = cmd.Wait()
	endGroup(cmd)
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return nil, fmt.Errorf("it was ended: %w", cause)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // that is what a process left behind kept open
		if said := stderr.text(hidden); said != "" {
			return nil, fmt.Errorf("%w: %s", err, said)
		}
		return nil, err
	}
	return stdout.data, nil
}

// always are the variables that are always passed on.
var always = []string{"PATH", "HOME", "LANG"}

// environment returns the variables that the list lets through, after those that are always passed on.
func environment(list []string) []string {
	env := []string{} // nil would be everything
	for _, name := range slices.Concat(always, list) {
		if strings.Contains(name, "=") {
			env = append(env, name)
		} else if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
