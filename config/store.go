package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/postgres"
	"github.com/plughook/plughook/session/sqlite"
	"github.com/plughook/plughook/yamlfile"
)

// A storeOpener opens a store of sessions. where is all that the file or a flag says, scheme and colon included. If
// create is false, a store that does not exist is an error: fs.ErrNotExist.
//
// It is the type of the functions in Options.Stores.
type storeOpener = func(ctx context.Context, where string, create bool) (session.Service, error)

// builtInStores open the stores that every program can name, by their schemes.
var builtInStores = map[string]storeOpener{
	"memory":     openMemory,
	"sqlite":     openSQLite,
	"postgres":   openPostgres,
	"postgresql": openPostgres,
}

// OpenStore opens a store of sessions: one of Stores, memory:, sqlite:FILE or postgres://USER@HOST/DATABASE. An
// SQLite file that is not there is made if create is true; else the error is fs.ErrNotExist. Errors do not repeat a
// password. The caller closes the store.
func (o Options) OpenStore(ctx context.Context, where string, create bool) (session.Service, error) {
	open, err := o.storeOpener(where)
	if err != nil {
		return nil, err
	}
	sessions, err := open(ctx, where, create)
	if err != nil {
		return nil, failed(storeFailed, err)
	}
	return sessions, nil
}

// OpenStore opens the store that Options.Store or else the file names, as Options.OpenStore does.
func (c *Config) OpenStore(ctx context.Context, o Options, create bool) (session.Service, error) {
	if o.Store != "" {
		return o.OpenStore(ctx, o.Store, create)
	}
	if err := c.checkStore(o); err != nil {
		return nil, err
	}
	return o.OpenStore(ctx, c.Store(), create)
}

// checkStore returns an error if no function opens the store that the file names.
func (c *Config) checkStore(o Options) error {
	if _, err := o.storeOpener(c.Store()); err != nil {
		return c.file.source.Errorf("store", "%w", err)
	}
	return nil
}

// storeOpener returns what opens a store. Its error does not quote what may be a password.
func (o Options) storeOpener(where string) (storeOpener, error) {
	scheme, err := schemeOf(where)
	if err != nil {
		return nil, err
	}
	if open := o.Stores[scheme]; open != nil {
		return open, nil
	}
	if open := builtInStores[scheme]; open != nil {
		return open, checkBuiltInStore(where)
	}
	known := slices.AppendSeq(slices.Collect(maps.Keys(builtInStores)), maps.Keys(o.Stores))
	slices.Sort(known)
	return nil, fmt.Errorf("unknown kind of store %q%s; the kinds that this program can open are: %s", scheme,
		yamlfile.Guess(scheme, known), strings.Join(slices.Compact(known), ", "))
}

// schemeOf returns the scheme of a store.
func schemeOf(where string) (string, error) {
	scheme, _, colon := strings.Cut(where, ":")
	if where == "memory" { // in YAML, "store: memory:" needs quotes
		return scheme, nil
	}
	letter := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("+-.", r) }
	if !colon || scheme == "" || strings.ContainsFunc(scheme, func(r rune) bool { return !letter(r) }) {
		return "", errors.New("the store has no scheme; it is one of memory:, sqlite:FILE or postgres://USER@HOST/DATABASE")
	}
	return scheme, nil
}

// checkBuiltInStore returns an error if a store that is built in is not written as that scheme needs.
func checkBuiltInStore(where string) error {
	scheme, rest, _ := strings.Cut(where, ":")
	switch {
	case scheme == "memory" && rest != "":
		return errors.New("the store memory: takes no name")
	case scheme == "sqlite" && rest == "":
		return errors.New("the store sqlite: needs a file, as in sqlite:sessions.db")
	case strings.HasPrefix(scheme, "postgres") && !strings.HasPrefix(rest, "//"):
		return fmt.Errorf("the store %s: is a URL, postgres://USER@HOST/DATABASE", scheme)
	}
	return nil
}

func openMemory(context.Context, string, bool) (session.Service, error) { return memory.New(), nil }

func openSQLite(ctx context.Context, where string, create bool) (session.Service, error) {
	file := strings.TrimPrefix(where, "sqlite:")
	if _, err := os.Stat(file); !create && errors.Is(err, fs.ErrNotExist) {
		return nil, &wordedError{text: "there is no store " + file, err: fs.ErrNotExist}
	}
	return sqlite.Open(ctx, file)
}

// noPlace warns of an SQLite file that cannot be made or opened on this machine. Opening the store would say so, too, but would make the file.
func (c *Config) noPlace() []string {
	name, ok := strings.CutPrefix(c.Store(), "sqlite:")
	if !ok {
		return nil
	}
	dir := filepath.Dir(name)
	switch info, err := os.Stat(dir); {
	case err != nil:
		return []string{"the store's directory cannot be used here: " + err.Error() + "; make it, or change store:"}
	case !info.IsDir():
		return []string{"the store's directory " + dir + " is a file here; change store:"}
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return []string{"the store " + name + " is a directory here; change store: to a file in it"}
	}
	return nil
}

func openPostgres(ctx context.Context, where string, _ bool) (session.Service, error) {
	return postgres.Open(ctx, where)
}

// Store returns where the file says that sessions are kept, as Options.OpenStore takes it: "memory:" if it does not
// say.
func (c *Config) Store() string {
	where := cmp.Or(c.file.Store, "memory:")
	if name, ok := strings.CutPrefix(where, "sqlite:"); ok && name != "" {
		where = "sqlite:" + c.file.path(name)
	}
	return where
}

// OpenArtifacts opens the store of artifacts that the file names, nil if it names none. close,
// which is never nil, closes it.
func (c *Config) OpenArtifacts() (files artifact.Service, close func() error, err error) {
	nothing := func() error { return nil }
	switch c.file.Artifacts {
	case "":
		return nil, nothing, nil
	case "memory", "memory:":
		return artifact.NewMemory(), nothing, nil
	}
	opened, err := artifact.Open(c.file.path(c.file.Artifacts))
	if err != nil {
		return nil, nothing, c.file.source.Errorf("artifacts", "%w", err)
	}
	return opened, opened.Close, nil
}

// dryArtifacts stands for the store of artifacts where nothing is kept.
func (c *file) dryArtifacts() artifact.Service {
	if c.Artifacts == "" {
		return nil
	}
	return artifact.NewMemory()
}
