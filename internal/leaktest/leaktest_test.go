package leaktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// A goroutine that ends late, because the machine stalls, was not left behind.
func TestAGoroutineMayEndLate(t *testing.T) {
	before := goleak.IgnoreCurrent()
	go time.Sleep(2 * time.Second)
	require.Error(t, goleak.Find(before),
		"the test shows nothing if goleak itself waits for so long")
	require.NoError(t, Find(before))
}
