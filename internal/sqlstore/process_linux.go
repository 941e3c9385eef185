package sqlstore

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Process names this process: by the machine's boot, the namespaces in which its number and its time count, its
// number and when it was started. It is "" where that cannot be known. No other process ever has the same name.
var Process = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	// Is /proc that of the namespace in which this process has its number?
	pid := os.Getpid()
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(pid) {
		return ""
	}
	pids, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	times, _ := os.Readlink("/proc/self/ns/time") // not there before Linux 5.6
	_, started, err := processStat(pid)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %s %s %d %s", bytes.TrimSpace(boot), pids, cmp.Or(times, "-"), pid, started)
})

// ProcessEnded reports whether a process has ended for sure: it was one beside this one, which would see it. One
// that is stopped has not ended.
func ProcessEnded(name string) bool {
	own := Process()
	if name == own || own == "" {
		return false
	}
	theirs, ours := strings.Fields(name), strings.Fields(own)
	if len(theirs) != len(ours) || strings.Join(theirs[:3], " ") != strings.Join(ours[:3], " ") {
		return false
	}
	pid, err := strconv.Atoi(theirs[3])
	if err != nil || pid <= 0 {
		return false
	}
	if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) {
		return true
	}

	// Another process may have got its number. One that nobody has waited for is still listed.
	state, started, err := processStat(pid)
	switch {
	case err != nil: // not every process may be looked at
		return false
	case started != theirs[4]:
		return true
	case state != "Z" && state != "X":
		return false
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err == nil && len(threads) <= 1
}

// processStat returns a process's state, and when it was started, in ticks since the boot.
func processStat(pid int) (state, started string, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", "", err
	}
	// The second field is the program's name in parentheses, and may have any characters.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return "", "", errors.New("sqlstore: /proc/*/stat has too few fields")
	}
	return string(fields[0]), string(fields[19]), nil
}
