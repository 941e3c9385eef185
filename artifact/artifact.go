// Package artifact keeps files that agents, tools and users make, beside the log: the log has their
// names and versions (session.Actions.ArtifactDelta), the service what is in them.
package artifact

import (
	"context"
	"errors"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// UserPrefix begins the name of an artifact that belongs to the user and not to one session.
const UserPrefix = "user:"

// A Service keeps artifacts. It may be used by many goroutines. Every version stays until the artifact
// is deleted: a rewind takes back the log, not the files.
//
// A name is a relative path with slashes, such as "report.csv" or "charts/q3.png", at most 512 bytes of
// it, with no element that is empty, "." or "..", no backslash and no control character, after an
// optional "user:"; CheckName says what is wrong with one, and every method that takes a name refuses
// what it refuses, with an ErrName.
type Service interface {
	// Save keeps data (inline data, a file's URI or a text) as the next version and returns that version's
	// number: 0 for the first. It is all or nothing.
	Save(ctx context.Context, key session.Key, name string, data *genai.Part) (version int64, err error)
	// Load returns a version, the latest if version is Latest. It is ErrNotFound if there is none.
	Load(ctx context.Context, key session.Key, name string, version int64) (*genai.Part, error)
	// List returns the names of the session's and the user's artifacts, sorted.
	List(ctx context.Context, key session.Key) ([]string, error)
	// Versions returns the numbers of an artifact's versions, ascending. It is ErrNotFound if there is none.
	Versions(ctx context.Context, key session.Key, name string) ([]int64, error)
	// Delete removes an artifact with all its versions. It is no error if there is none.
	Delete(ctx context.Context, key session.Key, name string) error
}

// Latest asks Load for the latest version.
const Latest int64 = -1

// What callers branch on.
var (
	ErrNotFound = errors.New("artifact not found")
	ErrName     = errors.New("not a name for an artifact")
)
