package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/session"
)

// A FileKind is what a file with sessions seems to be, by its beginning.
type FileKind int

// The kinds of files.
const (
	// SessionFile is a session file, or anything that is none of the others.
	SessionFile FileKind = iota
	// SQLiteFile is an SQLite database.
	SQLiteFile
	// WebFile is a session that the web page of the Agent Development Kit has saved.
	WebFile
	// OtherFile is something that no command reads: Recognize says what.
	OtherFile
)

// headSize is how much of a file Recognize looks at, in bytes.
const headSize = 1 << 16

// Recognize finds out by its beginning what a file is. It takes nothing out of the reader. For a file that no command
// reads, the error has the file's name and says what it seems to be.
func Recognize(name string, r *bufio.Reader) (FileKind, error) {
	head, err := r.Peek(headSize)
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
	keys := firstKeys(text)
	is := func(what, hint string) (FileKind, error) {
		return OtherFile, fmt.Errorf("%s is %s, not a session file%s", name, what, hint)
	}
	const noLog = "; it holds no session's log, and no command reads it"
	switch {
	case len(text) == 0 && errors.Is(err, io.EOF):
		return OtherFile, fmt.Errorf("%s is empty", name)
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return SQLiteFile, nil
	case bytes.HasPrefix(text, []byte("[")):
		return is("a JSON array", "")
	case startsLikeSQL(text):
		return is("SQL", "; fill a database with it: runner session import reads that, if it is another kit's")
	case keys["session"] && (keys["view"] || keys["tool_calls"]):
		return is("a file of trajectories", noLog)
	case keys["session"]:
		return SessionFile, nil
	case keys["eval_set_id"], keys["evalSetId"], keys["eval_cases"], keys["evalCases"]:
		return is("an eval set of the Agent Development Kit", noLog)
	case keys["messages"], keys["contents"] && !keys["author"]:
		return is("a chat file, as models are trained with", noLog)
	case keys["schema_version"] && keys["steps"], keys["schema_version"] && keys["agent"]:
		return is("a trajectory in ATIF", noLog)
	case keys["appName"] && keys["userId"], keys["events"] && !keys["author"]: // a key that must be there may be missing
		return WebFile, nil
	}
	return SessionFile, nil
}

// startsLikeSQL reports whether a text begins as dumps of databases do.
func startsLikeSQL(text []byte) bool {
	for _, word := range []string{"--", "PRAGMA ", "BEGIN", "CREATE ", "SET "} {
		if len(text) >= len(word) && strings.EqualFold(string(text[:len(word)]), word) {
			return true
		}
	}
	return false
}

// firstKeys returns the keys of the JSON object that a text begins with, as far as they are there.
func firstKeys(text []byte) map[string]bool {
	keys := map[string]bool{}
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowInvalidUTF8(true))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return keys
	}
	for {
		token, err := d.ReadToken()
		if err != nil || token.Kind() != '"' {
			return keys
		}
		keys[token.String()] = true
		if d.SkipValue() != nil {
			return keys
		}
	}
}

// ReadSessions is session.ReadRecordings with errors that say what a file is that is no session
// file at all. An empty file is an error.
func ReadSessions(f *input.Input) iter.Seq2[*session.Recording, error] {
	return func(yield func(*session.Recording, error) bool) {
		r := bufio.NewReaderSize(f, headSize)
		kind, err := Recognize(f.Name, r)
		switch {
		case err != nil:
		case kind == SQLiteFile:
			err = fmt.Errorf("%s is an SQLite database, not a session file; --store sqlite:%s opens one of runner's, and runner session import reads one of another kit",
				f.Name, f.Name)
		case kind == WebFile:
			err = fmt.Errorf("%s is a session that a web page has saved, not a session file; runner session import reads it",
				f.Name)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		Recordings(f.Name, r)(yield)
	}
}

// Recordings reads the sessions of a file that Recognize took for a session file.
func Recordings(name string, r *bufio.Reader) iter.Seq2[*session.Recording, error] {
	return func(yield func(*session.Recording, error) bool) {
		for rec, err := range session.ReadRecordings(name, r) {
			if !yield(rec, notSessions(name, err)) {
				return
			}
		}
	}
}

// notSessions says that a file is no session file if its first line is not JSON.
func notSessions(name string, err error) error {
	var wrong *session.FileError
	var syntax *jsontext.SyntacticError
	if errors.As(err, &wrong) && wrong.Line == 1 && errors.As(err, &syntax) {
		return fmt.Errorf("%s is not a session file, which has one JSON object per line: %w", name, err)
	}
	return err
}
