package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/plughook/plughook/plugin/remote"
)

// processKind is the kind of a plugin in a process of its own.
const processKind = "command"

// processTimeout bounds a hook of such a plugin if the configuration does not.
const processTimeout = 250 * time.Millisecond

// attachKind is the kind of a plugin in a process that somebody else has started.
const attachKind = "attach"

func (c *pluginConfig) process() bool  { return c.Command != nil || c.attached() }
func (c *pluginConfig) attached() bool { return c.Attach != "" }

// process returns how the plugin at an index is started, before it is pinned.
func (c *config) process(i int, log *slog.Logger) (remote.Config, error) {
	p := &c.Plugins[i]
	r := remote.Config{Name: p.Name, Command: p.Command, Dir: c.path("."), Env: p.Env, SHA256: strings.ToLower(p.SHA256),
		StartTimeout: p.StartTimeout, Timeout: processTimeout, BackgroundTimeout: p.BackgroundTimeout, Timeouts: p.Timeouts.byHook(),
		MaxMessage: int(p.MaxMessage), Network: p.Network, Log: log,
		Limits: remote.Limits{Memory: int64(p.Limits.Memory), OpenFiles: p.Limits.OpenFiles, Processes: p.Limits.Processes}}
	if p.attached() { // with what has no start
		r.Attach, r.Dir, r.Timeout = c.path(p.Attach), "", 0
	}
	if p.Timeout > 0 {
		r.Timeout = p.Timeout
	}
	for _, f := range p.Files {
		if r.Files == nil {
			r.Files = map[string]string{}
		}
		r.Files[f.path] = strings.ToLower(f.sha256)
	}
	if p.Config != nil {
		settings, err := json.Marshal(p.Config, json.Deterministic(true))
		if err != nil {
			return r, exitUsage.as(c.source.Errorf(pluginPath(i)+".config", "plugin %s: its config cannot be JSON: %w", p.Name, err))
		}
		r.Settings = []byte(settings)
	}
	return r, nil
}

// start starts the plugin at an index, by a configuration that is pinned as far as it is to be.
func (c *config) start(ctx context.Context, i int, r remote.Config) (*remote.Host, error) {
	h, err := remote.Open(ctx, r)
	if err != nil {
		exit := exitPlugin
		for _, wrong := range []error{fs.ErrNotExist, fs.ErrPermission, exec.ErrNotFound, remote.ErrDigest, remote.ErrSettings} {
			if errors.Is(err, wrong) && (r.Attach == "" || wrong == remote.ErrSettings) {
				exit = exitUsage // the configuration, or what it names
			}
		}
		return nil, exit.as(c.placed(i, err))
	}
	return h, nil
}

// checkStart returns what is wrong with a start as far as that can be said without one.
func (c *config) checkStart(i int, r remote.Config) error {
	if r.Attach != "" { // it may come later
		return nil
	}
	if r.SHA256 == "" { // anything may run, if it is there
		name := r.Command[0]
		if strings.ContainsRune(name, filepath.Separator) {
			name, _ = filepath.Abs(c.path(name)) // without a slash it would be looked up in PATH
		}
		_, err := exec.LookPath(name)
		if err != nil && !errors.Is(err, exec.ErrDot) {
			return c.placed(i, err)
		}
		return nil
	}
	now, err := remote.Pin(r)
	if err != nil {
		return c.placed(i, err)
	}
	if d := differences(lockedOf(r), lockedOf(now)); len(d) > 0 {
		return c.placed(i, &digestError{strings.Join(d, "; ")})
	}
	return nil
}
