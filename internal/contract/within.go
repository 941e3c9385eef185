package contract

import "time"

// Within expects that something takes less than limit. attempt does it once and returns how long it took. On
// a busy machine that may be too long by chance, so it is done up to 10 times, until it is less once. What
// waits for something that takes longer than limit is too slow each time.
func Within(t TB, limit time.Duration, attempt func() time.Duration) {
	t.Helper()
	const attempts = 10
	var took []time.Duration
	for range attempts {
		took = append(took, attempt())
		if took[len(took)-1] < limit {
			return
		}
	}
	t.Fatalf("it took %v, want less than %v at least once", took, limit)
}
