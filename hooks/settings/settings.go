// Package settings puts hooks into the settings files of coding agents, and takes them out again.
//
// Only entries of our own are touched: those whose command is "…runner… hook AGENT …". Everything else
// stays as it is, comments and spaces included. Plan changes nothing; it returns the text before and
// after, which can be shown before Change.Write writes it.
//
// Which events an agent's file gets entries for, and their form, stands in data of hooks/dialect: add a
// row to data/install.json there.
package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/plughook/plughook/hooks/dialect"
)

// A Change is what would be written into an agent's file.
type Change struct {
	File          string
	Before, After []byte // nil if there is no file
	Events        []string
	// Advice says what a person still has to do, in the agent.
	Advice string
	// Others are commands of others on the same events: where two tools change one call, one change is lost.
	Others []string
}

// ErrFile is the error of a settings file that is better left alone: a link, or no JSON object.
var ErrFile = errors.New("the settings file is not changed")

// File returns the path of an agent's file: below a project's directory, or below a home directory.
func File(agent, project, home string) (string, error) {
	in, err := dialect.InstallationOf(agent)
	if err != nil {
		return "", err
	}
	if project != "" {
		return filepath.Join(project, filepath.FromSlash(in.Project)), nil
	}
	return filepath.Join(home, filepath.FromSlash(in.User)), nil
}

// Plan returns what installing writes into a file. command starts the runner, quoted for a shell, such as
// "/usr/local/bin/runner" hook; the agent, its event and arguments come behind it. An empty command uninstalls.
func Plan(agent, file, command, arguments string) (*Change, error) {
	in, err := dialect.InstallationOf(agent)
	if err != nil {
		return nil, err
	}
	c := &Change{File: file, Advice: in.After}
	if c.Before, err = read(file); err != nil {
		return nil, err
	}
	root, err := parse(file, c.Before, in)
	if err != nil {
		return nil, err
	}
	hooks := takeOut(root, agent)
	if command == "" {
		c.After = rest(root, hooks, in, c.Before)
		return c, nil
	}
	for _, group := range in.Entries {
		for _, event := range group.Events {
			line := fmt.Sprintf("%s %s --event %s%s", command, agent, event, arguments)
			if group.Closed {
				line += " || exit 2" // a program that is missing or killed refuses, too
			}
			c.Others = append(c.Others, commandsAt(root, event)...)
			put(root, event, group.Entry, line)
			c.Events = append(c.Events, event)
		}
	}
	c.Others = slices.Compact(slices.Sorted(slices.Values(c.Others)))
	c.After = root.Pack()
	return c, nil
}

// Installed returns the events of a file that have an entry of ours, and the commands.
func Installed(agent, file string) (events, commands []string, err error) {
	in, err := dialect.InstallationOf(agent)
	if err != nil {
		return nil, nil, err
	}
	text, err := read(file)
	if err != nil || text == nil {
		return nil, nil, err
	}
	root, err := parse(file, text, in)
	if err != nil {
		return nil, nil, err
	}
	for _, member := range objectAt(root, "hooks") {
		event := name(member)
		for _, command := range commandsIn(&member.Value) {
			if Ours(agent, command) {
				events = append(events, event)
				commands = append(commands, command)
			}
		}
	}
	return events, commands, nil
}

// Ours reports whether a command is one that Plan has written for an agent.
func Ours(agent, command string) bool {
	before, _, found := strings.Cut(command, " hook "+agent+" --event ")
	return found && strings.Contains(before, "runner")
}

// Write writes the change, whole or not at all. Nothing that was there is lost: the file must be as it was when
// the change was planned.
func (c *Change) Write() error {
	now, err := read(c.File)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, c.Before) {
		return fmt.Errorf("%s: %w: somebody has changed it meanwhile; try again", c.File, ErrFile)
	}
	if c.After == nil {
		if c.Before == nil {
			return nil
		}
		return os.Remove(c.File)
	}
	if err := os.MkdirAll(filepath.Dir(c.File), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(c.File); err == nil {
		mode = info.Mode().Perm()
	}
	temporary, err := os.CreateTemp(filepath.Dir(c.File), ".plughook-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(c.After)
	err = errors.Join(err, temporary.Chmod(mode), temporary.Sync(), temporary.Close())
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), c.File)
}

// read returns the text of a file, nil if there is none.
func read(file string) ([]byte, error) {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w: it is a link, or no file", file, ErrFile)
	}
	return os.ReadFile(file)
}

// parse reads a settings file. One that is not there has what the agent wants in each.
func parse(file string, text []byte, in *dialect.Installation) (*hujson.Value, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{\n}\n")
		if len(in.File) > 0 {
			members, err := json.MarshalIndent(in.File, "", "  ")
			if err != nil {
				return nil, err
			}
			text = append(members, '\n')
		}
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", file, ErrFile, err)
	}
	if root.Value.Kind() != '{' {
		return nil, fmt.Errorf("%s: %w: it is not a JSON object", file, ErrFile)
	}
	if hooks := find(&root, "hooks"); hooks != nil && hooks.Value.Kind() != '{' {
		return nil, fmt.Errorf("%s: %w: its member hooks is not an object", file, ErrFile)
	}
	return &root, nil
}
