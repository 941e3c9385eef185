package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/postgres"
	"github.com/plughook/plughook/session/sqlite"
	"github.com/plughook/plughook/yamlfile"
)

const storeForms = "memory:, sqlite:FILE or postgres://USER@HOST/DATABASE"

// Store returns where the file says that sessions are kept, as OpenStore takes it: "memory:" if it
// does not say.
func (c *Config) Store() string {
	where := cmp.Or(c.file.Store, "memory:")
	if scheme, rest, err := splitStore(where); err == nil && scheme == "sqlite" {
		where = "sqlite:" + c.file.path(rest)
	}
	return where
}

// OpenStore opens a store of sessions: memory:, sqlite:FILE or postgres://USER@HOST/DATABASE. An
// SQLite file that is not there is made if create is true; else the error is fs.ErrNotExist. Errors
// do not repeat a password. The caller closes the store.
func OpenStore(ctx context.Context, where string, create bool) (session.Service, error) {
	scheme, rest, err := splitStore(where)
	if err != nil {
		return nil, err
	}
	switch scheme {
	case "memory":
		return memory.New(), nil
	case "sqlite":
		if _, err := os.Stat(rest); !create && errors.Is(err, fs.ErrNotExist) {
			return nil, ComponentStore.about(&noStoreError{rest})
		}
		svc, err := sqlite.Open(ctx, rest)
		if err != nil {
			return nil, ComponentStore.about(err)
		}
		return svc, nil
	}
	svc, err := postgres.Open(ctx, rest)
	if err != nil {
		return nil, ComponentStore.about(err)
	}
	return svc, nil
}

// A noStoreError says that a store's file is not there.
type noStoreError struct{ file string }

func (e *noStoreError) Error() string { return "there is no store " + e.file }
func (e *noStoreError) Unwrap() error { return fs.ErrNotExist }

// splitStore splits where sessions are kept into a scheme and what the store is opened with. Its
// error does not quote what may be a password.
func splitStore(where string) (scheme, rest string, err error) {
	scheme, rest, colon := strings.Cut(where, ":")
	schemes := []string{"memory", "sqlite", "postgres", "postgresql"}
	switch {
	case where == "memory": // in YAML, "store: memory:" needs quotes
		return scheme, rest, nil
	case !colon, strings.ContainsFunc(scheme, func(r rune) bool { return !unicode.IsLetter(r) }):
		return "", "", fmt.Errorf("the store has no scheme; it is one of %s", storeForms)
	case scheme == "memory" && rest != "":
		return "", "", errors.New("the store memory: takes no name")
	case scheme == "memory":
		return scheme, rest, nil
	case scheme == "sqlite" && rest == "":
		return "", "", errors.New("the store sqlite: needs a file, as in sqlite:sessions.db")
	case scheme == "sqlite":
		return scheme, rest, nil
	case scheme == "postgres", scheme == "postgresql":
		if !strings.HasPrefix(rest, "//") {
			return "", "", fmt.Errorf("the store %s: is a URL, postgres://USER@HOST/DATABASE", scheme)
		}
		return scheme, where, nil
	}
	return "", "", fmt.Errorf("unknown kind of store %q%s; it is one of %s", scheme,
		yamlfile.Guess(scheme, schemes), storeForms)
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
