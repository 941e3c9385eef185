package sqlite

import (
	"crypto/sha256"

	"github.com/google/uuid"
)

// idKey returns what stands for an event id in the table ids: 16 bytes for a UUID as it is usually
// written, so that the table stays small and UUIDv7 ids lie in the order they were made, and a hash of
// 20 bytes for anything else. The lengths keep the two apart.
func idKey(id string) []byte {
	if u, err := uuid.Parse(id); err == nil && u.String() == id {
		return u[:]
	}
	h := sha256.Sum256([]byte(id))
	return h[:20]
}
