package limits

import (
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// processMemory returns how much memory the process may use: what Go was told (GOMEMLIMIT), or else what its cgroup
// allows, or else what the machine has.
func processMemory() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	for _, provider := range []memlimit.Provider{memlimit.FromCgroup, memlimit.FromSystem} {
		if n, err := provider(); err == nil && n > 0 && n < math.MaxInt64 {
			return int64(n)
		}
	}
	return 4 << 30 // it cannot be known: a small machine's
}
