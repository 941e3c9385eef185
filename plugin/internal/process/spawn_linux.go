package process

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	lacks       = ""
	noIsolation = "this system does not let this user make namespaces (see " +
		"kernel.apparmor_restrict_unprivileged_userns and user.max_user_namespaces). Plugins have " +
		"the host's network even if it is not granted, and processes that they start may outlive them"
)

func threadID() int { return unix.Gettid() }

// restrictThread keeps this thread, and the processes that it starts, from gaining privileges,
// such as by setuid files.
func restrictThread() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }

// attributes returns those of a new process: it has a session without a terminal, and ends with
// the thread that started it. If it is isolated, it has namespaces of its own: of users (with its
// own user only), of processes (which end with it), of IPC, and of the network, unless it was
// granted the host's.
func attributes(isolated, network bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if !isolated {
		return a
	}
	a.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWIPC
	if !network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	return a
}

// mayBeIsolation reports whether a start may have failed because there are no namespaces.
func mayBeIsolation(err error) bool {
	for _, e := range []error{unix.EPERM, unix.EINVAL, unix.ENOSPC, unix.EUSERS, unix.ENOSYS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// temporary reports whether there may be namespaces another time: others have used up all that
// there are.
func temporary(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EUSERS) }

// awaitEnd returns when a process has ended. It does not reap the process, so that its number
// stays its own.
func awaitEnd(cmd *exec.Cmd) {
	for {
		if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return
		}
	}
}

// hold makes a process stop before its first instruction, so that its limits can be set before.
// It returns false if this system lets no process be traced; then the limits are set a moment
// later.
func hold(cmd *exec.Cmd) bool {
	cmd.SysProcAttr.Ptrace = traceable()
	return cmd.SysProcAttr.Ptrace
}

// traceable reports whether this process may trace those that it starts. A sandbox around the
// host, or kernel.yama.ptrace_scope, may forbid that.
var traceable = sync.OnceValue(func() bool {
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if strings.TrimSpace(string(scope)) == "3" {
		return false
	}
	// No process has this number, but a process that may not trace at all gets another error than
	// that.
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_PEEKUSR, 1<<30, 0, 0, 0, 0)
	return e == unix.ESRCH
})

// awaitHeld returns when a held process has stopped, or ended.
func awaitHeld(pid int) {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return
		}
	}
}

// traced reports whether a process is traced, as debuggers do.
func traced(pid int) bool {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status") // it may have ended
	_, tracer, _ := strings.Cut(string(data), "\nTracerPid:\t")
	tracer, _, _ = strings.Cut(tracer, "\n")
	return tracer != "" && tracer != "0"
}

// letGo lets a held process run.
func letGo(pid int) { _ = unix.PtraceDetach(pid) }

// limit sets the limits of a process. It raises none.
func limit(pid int, l Limits) {
	set := func(resource int, value uint64) {
		var was unix.Rlimit
		if unix.Prlimit(pid, resource, nil, &was) == nil && value < was.Max {
			_ = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil) // it has ended otherwise
		}
	}
	set(unix.RLIMIT_CORE, 0) // a core holds what the plugin was told
	if l.Memory > 0 {
		set(unix.RLIMIT_DATA, uint64(l.Memory))
	}
	if l.OpenFiles > 0 {
		set(unix.RLIMIT_NOFILE, uint64(l.OpenFiles))
	}
	if l.Processes > 0 {
		set(unix.RLIMIT_NPROC, uint64(l.Processes))
	}
}

// highestInherited returns the highest descriptor that a new process would inherit.
func highestInherited() int {
	entries, err := os.ReadDir("/proc/self/fd")
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
