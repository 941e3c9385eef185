// Package artifact keeps files that agents, tools and users make, beside the log: the log has their
// names and versions (session.Actions.ArtifactDelta), the service what is in them.
package artifact

import (
	"context"
	"errors"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// UserPrefix begins the name of an artifact that belongs to the user, in all sessions of one app, and not to
// one session.
const UserPrefix = "user:"

// A Service keeps artifacts. It may be used by many goroutines; one that keeps them outside of the process,
// by many processes. Every version stays until the artifact is deleted: a rewind takes back the log, not
// the files.
//
// A name is a relative path with slashes, such as "report.csv" or "charts/q3.png"; see CheckName, and
// UserPrefix. Names are compared byte by byte: those that differ in case only are two. Every method that
// takes a name refuses what CheckName refuses, and every key must be one of a session (session.Key.Check),
// or the error is session.ErrInvalid; whether there is such a session does not matter.
//
// An operation whose context is done returns its error and has no effect, or has its whole effect. Package
// artifacttest holds this contract as tests.
type Service interface {
	// Save keeps data as the next version and returns that version's number: 0 for the first. It is all or
	// nothing, and copies data. Of many who save one artifact at once each gets a version of its own.
	//
	// Data is one of InlineData, a FileData with a FileURI, and a Text, which may be empty; a part with
	// anything else in it is refused with an ErrPart, since that would be lost.
	Save(ctx context.Context, key session.Key, name string, data *genai.Part) (version int64, err error)
	// Load returns a version, the latest if version is Latest. It is the caller's own. It is ErrNotFound if
	// there is none.
	Load(ctx context.Context, key session.Key, name string, version int64) (*genai.Part, error)
	// List returns the names of the session's and the user's artifacts, sorted.
	List(ctx context.Context, key session.Key) ([]string, error)
	// Versions returns the numbers of an artifact's versions, ascending. It is ErrNotFound if there is none.
	Versions(ctx context.Context, key session.Key, name string) ([]int64, error)
	// Delete removes an artifact with all its versions; the next one saved is 0 again. It is no error if
	// there is none.
	Delete(ctx context.Context, key session.Key, name string) error
}

// Latest asks Load for the latest version.
const Latest int64 = -1

// What callers branch on, with errors.Is.
var (
	ErrNotFound = errors.New("artifact not found")
	ErrName     = errors.New("not a name for an artifact")
	ErrPart     = errors.New("not data for an artifact")
	ErrURI      = errors.New("not an artifact's address")
)
