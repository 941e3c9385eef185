package inbound

import (
	"testing"
	"time"
)

// DecodeWithin sets how long a call may be the one that decodes, until the test ends.
func DecodeWithin(t *testing.T, d time.Duration) {
	was := decodeTime
	decodeTime = d
	t.Cleanup(func() { decodeTime = was })
}
