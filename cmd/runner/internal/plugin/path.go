package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/plugin/remote/python"
)

// pluginCommandOf returns the command that starts the plugin at a path, its arguments included. The path is
//
//   - an executable, a script with #! among them, or the name of one in PATH,
//   - a JavaScript file, which node runs,
//   - a directory with package.json, whose main (index.js by default) node runs,
//   - a directory with main.py, which Python runs,
//   - a directory with a Go program, which is built first.
//
// An argument that is a file or a directory gets its whole path: the plugin runs elsewhere. cleanup takes away what was built; it is never nil.
func (p *commands) pluginCommandOf(
	ctx context.Context, path string, args []string,
) (command []string, cleanup func(), err error) {
	cleanup = func() {}
	args, err = absolute(args)
	if err != nil {
		return nil, cleanup, exit.Usage.As(err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !strings.ContainsRune(path, filepath.Separator):
		found, err := exec.LookPath(path)
		if err != nil {
			return nil, cleanup, exit.Usage.Errorf("plugin %s: there is no such file or directory, and no such executable in PATH", path)
		}
		return slices.Concat([]string{found}, args), cleanup, nil
	case err != nil:
		return nil, cleanup, exit.Usage.Errorf("plugin: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, cleanup, exit.Usage.As(err)
	}
	if info.IsDir() {
		return p.pluginCommandIn(ctx, path, args)
	}
	switch ext := filepath.Ext(path); {
	case info.Mode()&0o111 != 0 || ext == ".exe":
		return slices.Concat([]string{path}, args), cleanup, nil
	case ext == ".js" || ext == ".mjs" || ext == ".cjs":
		command, err = nodeCommand(path, args)
		return command, cleanup, err
	}
	return nil, cleanup, exit.Usage.Errorf("plugin %s: it is not executable; run chmod +x on it and begin a script with a #! line, or name its interpreter before it, as in: python3 %s", path, filepath.Base(path))
}

// absolute returns arguments, with the whole paths of those that are files or directories.
func absolute(args []string) ([]string, error) {
	args = slices.Clone(args)
	for i, arg := range args {
		if _, err := os.Stat(arg); err != nil || strings.HasPrefix(arg, "-") {
			continue
		}
		path, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
		args[i] = path
	}
	return args, nil
}

// pluginCommandIn is pluginCommandOf for a directory.
func (p *commands) pluginCommandIn(
	ctx context.Context, dir string, args []string,
) (command []string, cleanup func(), err error) {
	cleanup = func() {}
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err == nil {
		var pkg struct{ Main string }
		if err := json.Unmarshal(data, &pkg); err != nil {
			return nil, cleanup, exit.Usage.Errorf("plugin %s: package.json: %w", dir, err)
		}
		if pkg.Main == "" {
			pkg.Main = "index.js"
		}
		command, err := nodeCommand(filepath.Join(dir, pkg.Main), args)
		return command, cleanup, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, cleanup, exit.Usage.Errorf("plugin: %w", err)
	}
	if main := filepath.Join(dir, "main.py"); isFile(main) {
		interpreter, err := python.Interpreter(dir)
		if err != nil {
			return nil, cleanup, exit.Usage.Errorf("plugin %s: %w", dir, err)
		}
		return slices.Concat([]string{interpreter, main}, args), cleanup, nil
	}
	if sources, _ := filepath.Glob(filepath.Join(dir, "*.go")); len(sources) == 0 {
		return nil, cleanup, exit.Usage.Errorf("plugin %s: the directory has neither a Go program nor a package.json or a main.py; name an executable", dir)
	}
	if name, err := goIn(ctx, dir, "list", "-f", "{{.Name}}", "."); err != nil {
		return nil, cleanup, err
	} else if name != "main" {
		return nil, cleanup, exit.Usage.Errorf("plugin %s: it is package %s, not a program", dir, name)
	}
	tmp, err := os.MkdirTemp("", "runner-plugin-*")
	if err != nil {
		return nil, cleanup, exit.Other.As(err)
	}
	cleanup = func() { _ = os.RemoveAll(tmp) }
	// the ending is Windows's, and harms nowhere
	built := filepath.Join(tmp, filepath.Base(dir)+".exe")
	if _, err := goIn(ctx, dir, "build", "-o", built, "."); err != nil {
		cleanup()
		return nil, func() {}, err
	}
	return slices.Concat([]string{built}, args), cleanup, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// goIn runs the go command in a directory and returns what it prints.
func goIn(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var out, stderr strings.Builder
	cmd.Stdout = &out
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return "", exit.Usage.Errorf("plugin %s: go %s: %w\n%s", dir, args[0], err,
			strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// nodeCommand returns the command that has node run a file.
func nodeCommand(file string, args []string) ([]string, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, exit.Usage.Errorf("plugin: %w", err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, exit.Usage.Errorf("plugin %s: node is not in PATH; install Node.js 18 or later", file)
	}
	return slices.Concat([]string{node, file}, args), nil
}
