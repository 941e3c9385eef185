package plugin

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/version"
)

const ownModule = "github.com/plughook/plughook"

// A goModule says in which module a new plugin is.
type goModule struct {
	inside   bool   // one that is there already and has Plughook
	replaced string // where Plughook's source is, if the plugin takes it from there
	version  string // of Plughook, otherwise
}

// moduleFor returns the module for a plugin in a directory.
func moduleFor(ctx context.Context, dir string) (m goModule, err error) {
	if _, err := exec.LookPath("go"); err != nil {
		return m, exit.Usage.Errorf("go is not in PATH; install Go, or write the plugin for Node.js or Python with --lang node, --lang python")
	}
	file, err := goIn(ctx, dir, "env", "GOMOD")
	if err != nil {
		return m, err
	}
	if file != "" && file != os.DevNull {
		text, err := goIn(ctx, dir, "mod", "edit", "-json", file)
		if err != nil {
			return m, err
		}
		var mod struct {
			Module  struct{ Path string }
			Require []struct{ Path string }
		}
		if err := json.Unmarshal([]byte(text), &mod); err != nil {
			return m, exit.Other.As(err)
		}
		paths := []string{mod.Module.Path}
		for _, r := range mod.Require {
			paths = append(paths, r.Path)
		}
		if slices.Contains(paths, ownModule) {
			return goModule{inside: true}, nil
		}
	}
	m.replaced = ownSource()
	if m.replaced == "" {
		m.version = version.Get().Version
		if !strings.HasPrefix(m.version, "v") {
			return m, exit.Usage.Errorf("the runner does not know its own version (%[2]s), so it cannot require %[1]s; run plugin new inside a module that requires it", ownModule, m.version)
		}
	}
	return m, nil
}

// ownSource returns the directory that the runner was built from, "" if that is not there, or is a
// version in the module cache.
func ownSource() string {
	_, file, _, _ := runtime.Caller(0)
	// this file is in cmd/runner/internal/plugin
	root := filepath.Join(filepath.Dir(file), "../../../..")
	if !filepath.IsAbs(root) || strings.Contains(filepath.Base(root), "@") {
		return ""
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return ""
	}
	return root
}

// write writes go.mod, if the plugin needs one.
func (m goModule) write(ctx context.Context, dir, name string) error {
	if m.inside {
		return nil
	}
	if _, err := goIn(ctx, dir, "mod", "init", "example.com/plugins/"+name); err != nil {
		return err
	}
	edit := []string{"mod", "edit", "-require=" + ownModule + "@" + m.version}
	if m.replaced != "" {
		edit = []string{"mod", "edit", "-require=" + ownModule + "@v0.0.0",
			"-replace=" + ownModule + "=" + m.replaced}
	}
	_, err := goIn(ctx, dir, edit...)
	return err
}

// resolve completes go.mod and go.sum with what building and testing need. All of that was needed
// to build the runner, so it is in the module cache, and was checked when it got there.
func (m goModule) resolve(ctx context.Context, dir string) error {
	if m.inside {
		return nil
	}
	list := []string{"list", "-mod=mod", "-deps", "-test", "./..."}
	cmd := exec.CommandContext(ctx, "go", list...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOPROXY=off", "GOSUMDB=off")
	if cmd.Run() == nil {
		return nil
	}
	if _, err := goIn(ctx, dir, list...); err != nil { // the cache was cleaned; this asks the network
		return exit.Usage.Errorf("%s was written, but not all that it needs is there: run go mod tidy in it. %w", dir, err)
	}
	return nil
}
