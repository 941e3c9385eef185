//go:build unix && !linux

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A process has no namespaces on these systems.
const best = bare

// lacks says what isolation lacks at a level.
var lacks = map[level]string{
	bare: "this system has no namespaces, cannot limit another process, and does not end a " +
		"process with its parent. Plugins have the host's network even if it is not granted, and " +
		"no limits; a plugin that does not watch its standard input outlives a host that is killed",
}

func threadID() int { return -1 }

// prepare has the process inherit no descriptor of this one. It would inherit none that Go has
// opened, but those that this process has inherited itself, or that C code has opened.
func prepare(cmd *exec.Cmd, _ Order, _ level, _ *group) (begun func() error, report *os.File, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if highest := highestInherited(); highest > 2 {
		cmd.ExtraFiles = make([]*os.File, highest-2)
	}
	return func() error { return nil }, nil, nil
}

// group is a control group, which these systems do not have.
type group struct{}

func newGroup(limits Limits) (*group, error) {
	if limits.Cgroup != "" {
		return nil, errors.New("limits: this system has no cgroups")
	}
	return nil, nil
}

func (*group) refused(err error) error { return err }
func (*group) outOfMemory() bool       { return false }
func (*group) remove()                 {}

func refused(_ level, err error) error { return err }

func noIsolation(error) bool { return false }

func usedUp(error) bool { return false }

func awaitEnd(cmd *exec.Cmd) { _ = cmd.Wait() } // there is no portable way to wait without reaping

func Traced(int) bool { return false }

// highestInherited returns the highest descriptor that a new process would inherit.
func highestInherited() int {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return 0
	}
	highest := 0
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= highest {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			highest = fd
		}
	}
	return highest
}
