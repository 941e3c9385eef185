package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/plugin/internal/sandbox/inside"
)

// best is the level at which processes are started where the system lets this user.
const best = isolated

// lacks says what isolation lacks at a level.
var lacks = map[level]string{
	bare: "this system does not let this user make namespaces (see " +
		"kernel.apparmor_restrict_unprivileged_userns and user.max_user_namespaces). Plugins have " +
		"the host's network even if it is not granted, and see the host's environment in /proc; " +
		"processes that they start may outlive them",
	namespaced: "this system does not let this user mount a /proc for a plugin. Plugins see the " +
		"processes of the host, and those of this user with their environment, and can have the " +
		"kernel kill them first when memory runs out",
}

const (
	// maxShared is how many bytes the /dev/shm of a plugin may have.
	maxShared = 64 << 20
	// maxProcesses is how many processes and threads a plugin in a user namespace of its own may
	// have, if its limits do not say it.
	maxProcesses = 1024
)

func threadID() int { return unix.Gettid() }

// prepare makes the command one that executes this program once more: package inside says why.
// The process has a session without a terminal, is in the group if there is one, and ends with the
// thread that started it. begun
// returns once the process has executed the plugin, or could not. The caller closes report after
// the start.
func prepare(cmd *exec.Cmd, o Order, l level, g *group) (begun func() error, report *os.File, err error) {
	result, report, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	begun = func() error {
		defer result.Close()
		return inside.Outcome(result)
	}

	// What it is to do before it executes the plugin.
	orders := inside.Orders{
		Path:       o.Path,
		Args:       o.Args,
		Image:      o.Image != nil,
		Namespaced: l >= namespaced,
		OwnProc:    l >= isolated,
		Shared:     maxShared,
		Data:       uint64(o.Limits.Memory),
		Files:      uint64(o.Limits.OpenFiles),
		Processes:  uint64(o.Limits.Processes),
	}
	if o.Limits.Memory > 0 {
		orders.Shared = min(orders.Shared, o.Limits.Memory)
	}
	if o.Limits.Cgroup != "" { // it counts what is used; RLIMIT_DATA also what is only reserved
		orders.Data = 0
	}
	if orders.Namespaced { // outside of a namespace all processes of the user count
		orders.Processes = cmp.Or(orders.Processes, maxProcesses)
	}
	cmd.Path = "/proc/self/exe"
	cmd.Args = orders.Arguments()
	cmd.ExtraFiles = []*os.File{report}
	if orders.Image {
		cmd.ExtraFiles = append(cmd.ExtraFiles, o.Image)
	}
	cmd.SysProcAttr = attributes(l, o.Network)
	g.hold(cmd.SysProcAttr)
	return begun, report, nil
}

// attributes returns those of a new process. From level namespaced on, it has namespaces of its
// own: of users (with its own user only), of processes (which end with it), of IPC, and of the
// network, unless it was granted the host's. From level isolated on, it has one of mounts, and
// keeps what it needs to mount and to set limits there until it executes the plugin.
func attributes(l level, network bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if l < namespaced {
		return a
	}
	a.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWIPC
	if !network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	if l >= isolated {
		a.Cloneflags |= unix.CLONE_NEWNS
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_RESOURCE}
	}
	return a
}

// refused returns an error with which this program was not started once more. If that may be
// because the process could not have the namespaces of its level, it is an inside.ErrIsolation.
func refused(l level, err error) error {
	if l == bare || err == nil {
		return err
	}
	for _, e := range []error{unix.EPERM, unix.EINVAL, unix.ENOSPC, unix.EUSERS, unix.ENOSYS} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w: making its namespaces: %w", inside.ErrIsolation, e)
		}
	}
	return err
}

// noIsolation reports whether an error says that the system refuses isolation, so that a lower level may work.
func noIsolation(err error) bool { return errors.Is(err, inside.ErrIsolation) }

// usedUp reports whether a start has failed because the system has no namespace left, so that a later start may
// succeed. A system that allows none at all gives the same error: then its limit is 0, and usedUp is false.
func usedUp(err error) bool {
	if !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EUSERS) {
		return false
	}
	for _, kind := range []string{"user", "pid", "ipc", "net", "mnt"} {
		limit, err := os.ReadFile("/proc/sys/user/max_" + kind + "_namespaces")
		if err == nil && strings.TrimSpace(string(limit)) == "0" {
			return false
		}
	}
	return true
}

// awaitEnd returns when a process has ended. It does not reap the process, so that its number
// stays its own.
func awaitEnd(cmd *exec.Cmd) {
	for {
		if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return
		}
	}
}

// traced reports whether a process is traced, as debuggers do.
func Traced(pid int) bool {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status") // it may have ended
	_, tracer, _ := strings.Cut(string(data), "\nTracerPid:\t")
	tracer, _, _ = strings.Cut(tracer, "\n")
	return tracer != "" && tracer != "0"
}
