package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/plughook/plughook/config/internal/lockfile"
	"github.com/plughook/plughook/plugin/remote"
)

// processTimeout bounds a hook of such a plugin if the configuration does not.
const processTimeout = 250 * time.Millisecond

func (c *pluginConfig) process() bool  { return c.Command != nil || c.attached() }
func (c *pluginConfig) attached() bool { return c.Attach != "" }

// process returns how the plugin at an index is started, before it is pinned.
func (c *file) process(i int, log *slog.Logger) (remote.Config, error) {
	p := &c.Plugins[i]
	r := remote.Config{
		Name:              p.Name,
		Command:           p.Command,
		Dir:               c.path("."),
		Env:               p.Env,
		SHA256:            strings.ToLower(p.SHA256),
		StartTimeout:      p.StartTimeout,
		Timeout:           processTimeout,
		BackgroundTimeout: p.BackgroundTimeout,
		Timeouts:          p.Timeouts,
		MaxMessage:        int(p.MaxMessage),
		Network:           p.Network,
		Isolation:         p.Isolation,
		Log:               log,
		Limits: remote.Limits{
			Memory:    int64(p.Limits.Memory),
			OpenFiles: p.Limits.OpenFiles,
			Processes: p.Limits.Processes,
			Cgroup:    p.Limits.Cgroup,
		},
	}
	if p.attached() { // it is not started here, so it has no directory, and nobody is in a hurry
		r.Attach = c.path(p.Attach)
		r.Dir = ""
		r.Timeout = 0
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
			return r, c.source.Errorf(pluginPath(i)+".config", "plugin %s: its config cannot be JSON: %w",
				p.Name, err)
		}
		r.Settings = []byte(settings)
	}
	return r, nil
}

// configured are errors of a start that the configuration is to blame for, or what it names.
var configured = []error{fs.ErrNotExist, fs.ErrPermission, exec.ErrNotFound, remote.ErrDigest,
	remote.ErrSettings}

// start starts the plugin at an index. r says how, with the digests that it must have.
func (c *file) start(ctx context.Context, i int, r remote.Config) (*remote.Host, error) {
	h, err := remote.Open(ctx, r)
	if err == nil {
		return h, nil
	}
	placed := c.placed(i, err)
	for _, wrong := range configured {
		// The socket of a plugin that is attached may just not be there yet.
		if errors.Is(err, wrong) && (r.Attach == "" || wrong == remote.ErrSettings) {
			return nil, placed
		}
	}
	return nil, failed(pluginFailed, placed)
}

// checkStart returns what is wrong with a start as far as that can be said without one.
func (c *file) checkStart(i int, r remote.Config) error {
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
	differ := lockfile.Differences(pinsOf(r), pinsOf(now))
	if len(differ) > 0 {
		return c.placed(i, &wordedError{text: strings.Join(differ, "; "), err: remote.ErrDigest})
	}
	return nil
}

// Remote returns how the plugin of this name, which is in a process of its own, is started: with
// its settings, and with the digests that the configuration and the lockfile have. It is not
// started.
func (c *Config) Remote(ctx context.Context, name string) (remote.Config, error) {
	i := slices.IndexFunc(c.file.Plugins, func(p pluginConfig) bool { return p.Name == name })
	if i < 0 || !c.file.Plugins[i].process() {
		return remote.Config{}, fmt.Errorf("%s: no plugin in a process of its own is named %q", c.Name(), name)
	}
	lock, err := lockfile.Read(ctx, c.Name())
	if err != nil {
		return remote.Config{}, err
	}
	r, err := c.file.process(i, nil)
	if err != nil || c.file.Plugins[i].attached() {
		return r, err
	}
	r, _, err = c.file.pin(i, r, lock)
	return r, err
}
