package show

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// A Store is where the demo keeps its sessions.
type Store struct {
	// Name says what is kept, in the demo's text: "the SQLite file".
	Name string
	// Open opens the store in a directory, as it was left there. The function that it returns closes it.
	Open func(ctx context.Context, dir string) (session.Service, func() error, error)
}

// SessionFile keeps the first conversation in memory and, when it is closed, in a session file: JSON Lines, an event a
// line. It needs no database.
var SessionFile = Store{Name: "the session's file", Open: openSessionFile}

func openSessionFile(ctx context.Context, dir string) (session.Service, func() error, error) {
	store := memory.New()
	name := filepath.Join(dir, "talk.jsonl")
	if err := importFile(ctx, store, name); err != nil {
		return nil, nil, err
	}
	return store, func() error { return exportFile(ctx, store, name) }, nil
}

// importFile puts the sessions of a file into a store. A file that is not there has none.
func importFile(ctx context.Context, store session.Service, name string) error {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	for recording, err := range session.ReadRecordings(name, file) {
		if err != nil {
			return err
		}
		if err := session.Import(ctx, store, recording); err != nil {
			return err
		}
	}
	return nil
}

// exportFile writes the first conversation of a store to a file.
func exportFile(ctx context.Context, store session.Service, name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(session.Export(ctx, store, talkKey, file), file.Close())
}
