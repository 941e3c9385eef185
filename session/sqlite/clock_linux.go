package sqlite

import (
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// clockID names the clock that this boot's processes share. Two names are two clocks that cannot be
// compared: after a reboot, or in a container with a time namespace of its own.
var clockID = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, _ := os.Readlink("/proc/self/ns/time") // not there before Linux 5.6
	return strings.TrimSpace(string(boot)) + " " + space
})

// ticks returns nanoseconds on the clock named by clockID: since boot, suspension included. Nobody
// can set it.
func ticks() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return wall()
	}
	return t.Nano()
}
