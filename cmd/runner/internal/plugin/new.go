package plugin

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugin/remote/node"
	"github.com/plughook/plughook/plugin/remote/python"
	"github.com/plughook/plughook/yamlfile"
)

//go:embed template
var templates embed.FS

var pluginLangs = []string{"go", "node", "python"}

// libraries returns the files of a language's library, which a plugin has in its directory plughook.
var libraries = map[string]func() map[string][]byte{"node": node.Library, "python": python.Library}

func (p *commands) newCommand() *cobra.Command {
	var lang, dir string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a new plugin that is a process of its own",
		Long: `New writes a directory with a plugin that works: it builds, its tests pass, and
"runner plugin verify" accepts it, all without a network. The plugin removes words from what
agents say. One short file of it is yours to change.

In Go it is a module of its own, or a package if DIR is inside a module that requires Plughook. In
Node.js (18 or later) it has no dependencies, in Python (3.11 or later) grpcio and protobuf.`,
		Args: cli.Args(1, 1, "what is the plugin called? Give one name"),
		RunE: func(cmd *cobra.Command, args []string) error { return p.newPlugin(cmd.Context(), args[0], lang, dir) },
	}
	cmd.Flags().StringVar(&lang, "lang", pluginLangs[0],
		"language: "+listOf(pluginLangs))
	cmd.Flags().StringVar(&dir, "dir", "",
		"`directory` to write to; it is made if it is not there (default NAME)")
	if err := cmd.RegisterFlagCompletionFunc("lang",
		cobra.FixedCompletions(pluginLangs, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is there
	}
	return cmd
}

// newName is a plugin's name that is a directory's, a Go module's and an npm package's as well.
var newName = lazyregexp.New(`^[a-z]([a-z0-9_.-]{0,62}[a-z0-9])?$`)

// A newPlugin is what templates are filled with.
type newPlugin struct {
	Name, Binary, Module, Replaced, Library string
}

func (p *commands) newPlugin(ctx context.Context, name, lang, dir string) error {
	switch {
	case !newName.MatchString(name):
		return exit.Usage.Errorf("%q cannot be the name of a plugin: a name begins with a lower case letter; lower case letters, digits, '-', '_' and '.' follow, at most 64 in all", name)
	case !slices.Contains(pluginLangs, lang):
		return exit.Usage.Errorf("--lang %q: it is %s%s", lang, listOf(pluginLangs),
			cmp.Or(yamlfile.Guess(lang, pluginLangs),
				`; for another language, docs/plugins.md says under "Other languages" how to go on`))
	}
	if dir == "" {
		dir = name
	}
	if err := emptyDir(dir); err != nil {
		return err
	}
	filled := newPlugin{
		Name:   name,
		Binary: name,
		Module: ownModule,
	}
	if lang == "go" {
		m, err := moduleFor(ctx, dir)
		if err != nil {
			return err
		}
		filled.Replaced = m.replaced
		if err := m.write(ctx, dir, name); err != nil {
			return err
		}
		if err := fill(dir, lang, filled); err != nil {
			return err
		}
		if err := m.resolve(ctx, dir); err != nil {
			return err
		}
	} else {
		library := libraries[lang]()
		var names []string
		for _, name := range slices.Sorted(maps.Keys(library)) {
			names = append(names, libraryDir+"/"+name)
		}
		filled.Library = strings.Join(names, ", ")
		if err := fill(dir, lang, filled); err != nil {
			return err
		}
		if err := writeLibrary(dir, library); err != nil {
			return err
		}
	}
	p.Note("%s is written; %s says what to do next", dir, filepath.Join(dir, "README.md"))
	return nil
}

// emptyDir makes a directory, or takes one that is there and empty.
func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return exit.Usage.As(os.MkdirAll(dir, 0o755))
	case err != nil:
		return exit.Usage.As(err)
	case len(entries) > 0:
		return exit.Usage.Errorf("%s is not empty, and nothing is overwritten; name another directory with --dir", dir)
	}
	return nil
}

// fill writes the files of a language's template into a directory.
func fill(dir, lang string, with newPlugin) error {
	root := path.Join("template", lang)
	return fs.WalkDir(templates, root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(file, root), "/")
		to := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(rel, ".tmpl")))
		if d.IsDir() {
			return exit.Usage.As(os.MkdirAll(to, 0o755))
		}
		data, err := templates.ReadFile(file)
		if err != nil {
			return err
		}
		text := string(data)
		if strings.HasSuffix(rel, ".tmpl") {
			t, err := template.New(rel).Option("missingkey=error").Parse(text)
			if err != nil {
				return err
			}
			var b strings.Builder
			if err := t.Execute(&b, with); err != nil {
				return err
			}
			text = b.String()
		}
		return exit.Usage.As(writeNew(to, text))
	})
}

// writeNew writes a file that is not there yet.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// libraryDir is where a plugin has the library of its language, in its directory.
const libraryDir = "plughook"

// writeLibrary writes the library of a language into the directory of a plugin.
func writeLibrary(dir string, library map[string][]byte) error {
	dir = filepath.Join(dir, libraryDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return exit.Usage.As(err)
	}
	for name, data := range library {
		if err := writeNew(filepath.Join(dir, name), string(data)); err != nil {
			return exit.Usage.As(err)
		}
	}
	return nil
}

// listOf lists words: "a, b or c".
func listOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
