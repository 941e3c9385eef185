//go:build unix && !linux

package process

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	lacks = "this system has no namespaces, cannot limit another process, and does not end a " +
		"process with its parent. Plugins have the host's network even if it is not granted, and no " +
		"limits; a plugin that does not watch its standard input outlives a host that is killed"
	noIsolation = lacks
)

func threadID() int { return -1 }

func restrictThread() error { return nil }

func attributes(_, _ bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func mayBeIsolation(error) bool { return false }

func temporary(error) bool { return false }

func awaitEnd(cmd *exec.Cmd) { _ = cmd.Wait() } // there is no portable way to wait without reaping

func hold(*exec.Cmd) bool { return false }

func awaitHeld(int) {}

func letGo(int) {}

func traced(int) bool { return false }

func limit(int, Limits) {}

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
