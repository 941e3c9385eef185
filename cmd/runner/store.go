package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"unicode"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/postgres"
	"github.com/plughook/plughook/session/sqlite"
	"github.com/plughook/plughook/yamlfile"
)

const storeForms = "memory:, sqlite:FILE or postgres://USER@HOST/DATABASE"

// splitStore splits where sessions are kept into a scheme and what goes to the store. Its error does
// not quote what may be a password.
func splitStore(where string) (scheme, rest string, err error) {
	scheme, rest, ok := strings.Cut(where, ":")
	schemes := []string{"memory", "sqlite", "postgres", "postgresql"}
	switch {
	case where == "memory": // in YAML, "store: memory:" needs quotes
	case !ok:
		return "", "", exitUsage.errorf("the store has no scheme; it is one of %s", storeForms)
	case scheme == "memory" && rest == "":
	case scheme == "memory":
		return "", "", exitUsage.errorf("the store memory: takes no name")
	case scheme == "sqlite" && rest == "":
		return "", "", exitUsage.errorf("the store sqlite: needs a file, as in sqlite:sessions.db")
	case scheme == "sqlite":
	case scheme == "postgres", scheme == "postgresql":
		if !strings.HasPrefix(rest, "//") {
			return "", "", exitUsage.errorf("the store %s: is a URL, postgres://USER@HOST/DATABASE", scheme)
		}
		rest = where
	default:
		if strings.IndexFunc(scheme, func(r rune) bool { return !unicode.IsLetter(r) }) >= 0 {
			return "", "", exitUsage.errorf("the store has no scheme; it is one of %s", storeForms)
		}
		return "", "", exitUsage.errorf("unknown kind of store %q%s; it is one of %s", scheme, yamlfile.Guess(scheme, schemes), storeForms)
	}
	return scheme, rest, nil
}

// storeOf returns where sessions are kept: the flag goes before the configuration.
func (p *program) storeOf(c *config) (string, error) {
	where := cmp.Or(p.store, c.Store, "memory:")
	scheme, rest, err := splitStore(where)
	if err == nil && scheme == "sqlite" && p.store == "" {
		where = "sqlite:" + c.path(rest)
	}
	return where, err
}

// open opens a store. Where it is only read, one that is not there is not made.
func open(ctx context.Context, where string, mayMake bool) (session.Service, error) {
	scheme, rest, err := splitStore(where)
	if err != nil {
		return nil, err
	}
	var svc session.Service
	switch scheme {
	case "memory":
		return memory.New(), nil
	case "sqlite":
		if _, err := os.Stat(rest); !mayMake && errors.Is(err, fs.ErrNotExist) {
			return nil, exitStore.errorf("there is no store %s", rest)
		}
		svc, err = sqlite.Open(ctx, rest)
	default:
		svc, err = postgres.Open(ctx, rest)
	}
	if err != nil {
		return nil, exitStore.as(err)
	}
	return svc, nil
}

// kept opens the store that a command about kept sessions works on.
func (p *program) kept(ctx context.Context, mayMake bool) (session.Service, *config, error) {
	c, err := p.loadConfig(ctx)
	if err != nil {
		return nil, nil, err
	}
	where, err := p.storeOf(c)
	if err != nil {
		return nil, nil, err
	}
	if strings.HasPrefix(where, "memory") {
		return nil, nil, exitUsage.errorf("sessions in memory: end with the program that has them; name a store that keeps them with --store sqlite:FILE or --store postgres://…")
	}
	svc, err := open(ctx, where, mayMake)
	return svc, c, err
}

// closeStore closes a store at the end of a command, and adds what goes wrong to its error.
func closeStore(svc session.Service, err *error) {
	if e := svc.Close(); *err == nil {
		*err = exitStore.as(e)
	}
}
