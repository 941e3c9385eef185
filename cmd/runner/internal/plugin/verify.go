package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/yamlfile"
)

// verify is what plugin verify is asked for.
type verify struct {
	config                  remote.Config
	name, settings, scripts string
	update                  bool // write what comes out into the scripts

	counts map[string]int // of results
}

func (p *commands) verifyCommand() *cobra.Command {
	v := &verify{counts: map[string]int{}}
	cmd := &cobra.Command{
		Use:   "verify [flags] PATH [ARGS...]",
		Short: "Check that a plugin in a process of its own keeps the rules",
		Long: `Verify starts a plugin, written in any language, many times, and checks that it
keeps the rules: those of the protocol (docs/protocol.md), and those of every plugin (package
plugintest). PATH is an executable, a directory with a Go program, package.json or main.py.
ARGS are its arguments, such as the script of an interpreter.
--name verifies a plugin of the configuration, with its settings unless --settings gives others.

The plugin sees made-up conversations. Give it settings with which it does no harm: with
--settings, or in a file verify.json in the directory or beside the executable. It runs in an
empty directory of its own; with --name it runs where the configuration says, and may write there:
then give it --settings that name another place. A case that does not apply to the plugin is
skipped, and says why. If a case fails, the exit code is 4.

With --scripts the scripts of package plugintest are played with the plugin, each with a process
of its own. With --update, too, nothing else is done, and what comes out is written into them: read
it before you keep it.`,
		Example: `  runner plugin verify ./bin/audit
  runner plugin verify --settings '{"words":["secret"]}' ./plugins/words
  runner plugin verify python3 calls.py
  runner plugin verify --scripts 'testdata/*.txtar' --update python3 calls.py
  runner plugin verify --config runner.yaml --name audit`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return p.verify(cmd.Context(), v, args) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVar(&v.name, "name", "", "verify the plugin of this `name` in the configuration")
	f.StringVar(&v.settings, "settings", "", "the plugin's settings, a `JSON` object")
	f.StringVar(&v.scripts, "scripts", "", "play the scripts whose names match this `pattern`, too")
	f.BoolVar(&v.update, "update", false, "only play the scripts, and write what comes out into them")
	f.StringArrayVar(&v.config.Env, "env", nil,
		"a variable of the environment that the plugin gets: `NAME` or NAME=value")
	f.BoolVar(&v.config.Network, "network", false, "let the plugin use the network")
	return cmd
}

// verify verifies the plugin that the arguments, or --name, name.
func (p *commands) verify(ctx context.Context, v *verify, args []string) error {
	switch {
	case v.name == "" && len(args) == 0:
		return exit.Usage.Errorf("plugin verify: which one? Name its executable or directory, or one of the configuration with --name")
	case v.name != "" && len(args) > 0:
		return exit.Usage.Errorf("plugin verify: --name %s and %s exclude each other", v.name, args[0])
	case v.name != "" && (len(v.config.Env) > 0 || v.config.Network):
		return exit.Usage.Errorf("plugin verify: with --name, env and network are the configuration's")
	case v.settings != "" && !json.Valid([]byte(v.settings)):
		return exit.Usage.Errorf("--settings: it is not JSON")
	}
	if v.update && v.scripts == "" {
		return exit.Usage.Errorf("plugin verify: which scripts does --update write? Name them with --scripts")
	}
	files, err := filepath.Glob(v.scripts)
	if v.scripts != "" && (err != nil || len(files) == 0) {
		return exit.Usage.Errorf("--scripts %s: no file has such a name", v.scripts)
	}
	cleanup, err := p.toVerify(ctx, v, args)
	if err != nil {
		return err
	}
	defer cleanup()
	v.config.Log = p.Log
	if !p.Verbose { // processes are killed, and calls fail: that is no news
		v.config.Log = slog.New(slog.DiscardHandler)
	}
	if v.update {
		if err := p.verifyScripts(ctx, v, files); err != nil {
			return err
		}
		return p.verified(v)
	}
	if err := p.verifyProtocol(ctx, v); err != nil {
		return err
	}
	if v.counts[resultFail] > 0 && v.counts[resultOK] == 0 { // it does not start: the rules would only wait for that
		return p.verified(v)
	}
	if started, err := p.verifyRules(ctx, v); err != nil {
		return err
	} else if started {
		if err := p.verifyScripts(ctx, v, files); err != nil {
			return err
		}
	}
	return p.verified(v)
}

// settingsFor returns the settings of --settings, or without those of verify.json, which is in the
// plugin's directory or beside its executable, or beside the script that an interpreter is given; nil if there
// is none.
func settingsFor(args []string, given string) (json.RawMessage, error) {
	if given != "" {
		return json.RawMessage(given), nil
	}
	var info fs.FileInfo
	i := slices.IndexFunc(args, func(arg string) (found bool) {
		var err error
		info, err = os.Stat(arg)
		return err == nil
	})
	if i < 0 { // it is one in PATH
		return nil, nil
	}
	path := args[i]
	if !info.IsDir() {
		path = filepath.Dir(path)
	}
	path = filepath.Join(path, "verify.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !json.Valid(data) {
		err = fmt.Errorf("%s: it is not JSON", path)
	}
	return data, exit.Usage.As(err)
}

// toVerify fills in how the plugin is started.
func (p *commands) toVerify(ctx context.Context, v *verify,
	args []string) (cleanup func(), err error) {
	if v.name == "" {
		if v.config.Settings, err = settingsFor(args, v.settings); err != nil {
			return nil, err
		}
		command, cleanup, err := p.pluginCommandOf(ctx, args[0], args[1:])
		if err != nil {
			return cleanup, err
		}
		v.config.Command = command
		v.config.StartTimeout = 20 * time.Second
		v.config.Timeout = 10 * time.Second
		v.config.BackgroundTimeout = time.Minute
		if v.config.Dir, err = os.MkdirTemp("", "runner-verify-*"); err != nil {
			return cleanup, exit.Other.As(err)
		}
		return func() { cleanup(); _ = os.RemoveAll(v.config.Dir) }, nil
	}
	c, err := p.LoadConfig(ctx)
	if err != nil {
		return nil, err
	}
	configured := c.Plugins()
	i := slices.IndexFunc(configured, func(pc config.Plugin) bool { return pc.Name == v.name })
	if i < 0 {
		var names []string
		for _, pc := range configured {
			names = append(names, pc.Name)
		}
		if len(names) == 0 {
			return nil, exit.Usage.Errorf("plugin verify: there is no plugin in the configuration; name the configuration with --config")
		}
		return nil, exit.Usage.Errorf("plugin verify: the configuration has no plugin %q; it has %s%s",
			v.name, strings.Join(names, ", "), yamlfile.Guess(v.name, names))
	}
	switch {
	case configured[i].Attached():
		return nil, exit.Usage.Errorf("plugin verify: plugin %s is attached, and verify starts a plugin many times; name its program", v.name)
	case !configured[i].Started():
		return nil, exit.Usage.Errorf("plugin verify: plugin %s is in process; verify it with plugintest.Check in a Go test", v.name)
	}
	v.config, err = c.Remote(ctx, v.name)
	if v.settings != "" {
		v.config.Settings = json.RawMessage(v.settings)
	}
	return func() {}, exit.OfConfig(err)
}
