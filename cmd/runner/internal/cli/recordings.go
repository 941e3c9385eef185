package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/session"
)

// ReadSessions is session.ReadRecordings with errors that say what a file is that is no session
// file at all.
func ReadSessions(f *input.Input) iter.Seq2[*session.Recording, error] {
	return func(yield func(*session.Recording, error) bool) {
		r := bufio.NewReaderSize(f, 1<<16)
		const sqlite = "SQLite format 3\x00"
		head, _ := r.Peek(len(sqlite)) // what goes wrong here goes wrong again below
		if bytes.Equal(head, []byte(sqlite)) {
			yield(nil, fmt.Errorf("%s is an SQLite database, not a session file; --store sqlite:%s opens it",
				f.Name, f.Name))
			return
		}
		for rec, err := range session.ReadRecordings(f.Name, r) {
			if !yield(rec, notSessions(f.Name, err)) {
				return
			}
		}
	}
}

// notSessions says that a file is no session file if its first line is not JSON.
func notSessions(name string, err error) error {
	var at *session.FileError
	var syntax *jsontext.SyntacticError
	if errors.As(err, &at) && at.Line == 1 && errors.As(err, &syntax) {
		return fmt.Errorf("%s is not a session file, which has one JSON object per line: %w", name, err)
	}
	return err
}
