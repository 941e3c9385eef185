package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

const (
	// Name is the first argument of a process that is to be prepared.
	Name = "plughook-inside"
	// reportFile is the descriptor to which the process writes how its preparation went.
	reportFile = 3
	// imageFile is the descriptor of the executable if Orders.Image is set.
	imageFile = 4
)

// Orders say how a process is prepared.
type Orders struct {
	// Path is the plugin's executable. It is not used if Image is set.
	Path string `json:"-"`
	// Args are the plugin's arguments, its name first.
	Args []string `json:"-"`
	// Image says that the executable is an open file, the one after the report's.
	Image bool
	// Namespaced says that the process is in a user namespace of its own. It gives up the
	// privileges that it has there, and no process can make further user namespaces in it.
	Namespaced bool
	// OwnProc says that the process is in a mount namespace of its own. It gets a /proc that
	// shows its own processes only and cannot be written to, and a /dev/shm. It cannot write to
	// control groups.
	OwnProc bool
	// Shared is how many bytes /dev/shm may have.
	Shared int64
	// Data, Files and Processes are the limits RLIMIT_DATA, RLIMIT_NOFILE and RLIMIT_NPROC; 0 is
	// no limit. They never raise the host's own limits.
	Data, Files, Processes uint64
}

// Arguments returns the arguments of a process that is to follow the orders.
func (o Orders) Arguments() []string {
	text, _ := json.Marshal(o) // it has numbers and booleans only
	return append([]string{Name, string(text), o.Path}, o.Args...)
}

// A failure is what a process reports that could not be prepared.
type failure struct {
	Isolation bool // it failed because the isolation cannot be had; otherwise the plugin's executable did not start
	Step      string
	Errno     syscall.Errno
}

// ErrIsolation says that a process could not be prepared because this system does not let it have
// the isolation that was ordered.
var ErrIsolation = errors.New("the process cannot be isolated")

// ready is reported when everything is done but the execution of the plugin.
const ready = "+"

// Outcome reads what the process reports, until it executes the plugin, or ends. It returns nil if
// the plugin was executed, an ErrIsolation, or the error with which the plugin's executable did
// not start.
func Outcome(report io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(report, 64<<10))
	if err != nil {
		return err
	}
	if string(data) == ready {
		return nil
	}
	if len(data) > 0 && data[0] == ready[0] {
		data = data[1:]
	}
	var f failure
	if len(data) == 0 || json.Unmarshal(data, &f) != nil {
		return errors.New("the process ended before it executed the plugin: it was killed, or the " +
			"host's executable, which prepares it, is not a Go program that imports plugin/remote")
	}
	if f.Isolation {
		return fmt.Errorf("%w: %s: %w", ErrIsolation, f.Step, f.Errno)
	}
	return f.Errno
}

func init() {
	if len(os.Args) < 3 || os.Args[0] != Name {
		return
	}
	report := os.NewFile(reportFile, "report")
	failed := prepare(report)
	text, _ := json.Marshal(failed)
	_, _ = report.Write(text)
	os.Exit(2)
}

// prepare prepares this process and executes the plugin. It returns only if that fails. It runs
// on the main thread, as init functions do: some of what it sets belongs to a thread, and is kept
// by the thread that executes a program.
func prepare(report *os.File) *failure {
	var o Orders
	if err := json.Unmarshal([]byte(os.Args[1]), &o); err != nil {
		return &failure{Step: "orders", Errno: syscall.EINVAL}
	}
	o.Path = os.Args[2]
	o.Args = os.Args[3:]

	// Nothing that it executes gains privileges, such as by setuid files. If the machine runs out
	// of memory, the kernel kills it before it kills the host.
	if errno := prctl(prSetNoNewPrivs, 1); errno != 0 {
		return &failure{Step: "no_new_privs", Errno: errno}
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // where there is none, there is none to protect from

	// A file system for its own processes only, and bounds for what its namespaces may hold.
	if o.OwnProc {
		if step, err := mountOwn(o.Shared); err != nil {
			return &failure{Isolation: true, Step: step, Errno: errnoOf(err)}
		}
	}
	if o.Namespaced {
		if errno := dropCapabilities(); errno != 0 {
			return &failure{Isolation: true, Step: "giving up privileges", Errno: errno}
		}
	}

	// No descriptor of the host is left when the plugin is executed.
	if err := closeOnExec(); err != nil {
		return &failure{Step: "descriptors", Errno: errnoOf(err)}
	}
	_, _ = io.WriteString(report, ready)

	// The limits come last: they hold for this program, too.
	limit(syscall.RLIMIT_CORE, 0) // a core holds what the plugin was told
	for resource, value := range map[int]uint64{
		syscall.RLIMIT_NOFILE: o.Files,
		rlimitProcesses:       o.Processes,
		syscall.RLIMIT_DATA:   o.Data,
	} {
		if value > 0 {
			limit(resource, value)
		}
	}
	path := o.Path
	if o.Image {
		path = "/proc/self/fd/" + strconv.Itoa(imageFile)
	}
	err := syscall.Exec(path, o.Args, os.Environ())
	return &failure{Step: "exec", Errno: errnoOf(err)}
}

// mountOwn mounts what the process has of its own. It returns the step that failed.
func mountOwn(shared int64) (step string, err error) {
	const flags = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC

	// While /proc can be written to, forbid further user namespaces: in one of those the plugin
	// would have privileges again, and could use up all that the system has.
	if err := syscall.Mount("proc", "/proc", "proc", flags, ""); err != nil {
		return "mounting a /proc of its own", err
	}
	err = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // Linux before 4.9 has no such limit
		return "forbidding further user namespaces", err
	}
	err = syscall.Mount("", "/proc", "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY|flags, "")
	if err != nil {
		return "making its /proc read-only", err
	}

	// Who can write to the control groups could raise the limits of its own, or leave it.
	if err := protectGroups(); err != nil {
		return "making the control groups read-only", err
	}

	// What is in /dev/shm is memory, and would stay when the process has ended.
	if _, err := os.Stat("/dev/shm"); err != nil {
		return "", nil
	}
	bounds := fmt.Sprintf("mode=1777,size=%d,nr_inodes=%d", shared, sharedFiles)
	if err := syscall.Mount("tmpfs", "/dev/shm", "tmpfs", flags, bounds); err != nil {
		return "mounting a /dev/shm of its own", err
	}
	return "", nil
}

// protectGroups makes all mounts of control groups read-only in this mount namespace.
func protectGroups() error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if len(fields) < 5 || !strings.HasPrefix(after, "cgroup") {
			continue
		}
		path := octal.Replace(fields[4])
		const flags = syscall.MS_REMOUNT | syscall.MS_BIND | syscall.MS_RDONLY |
			syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC
		err := syscall.Mount("", path, "", flags, "")
		if err == syscall.ENOENT || err == syscall.EINVAL { // another mount hides it, from everybody
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// octal turns back what the kernel escapes in the paths of mounts.
var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

const (
	sharedFiles = 4096 // how many files /dev/shm may have

	prSetNoNewPrivs = 38
	rlimitProcesses = 6
	capVersion3     = 0x20080522
)

func prctl(option, value uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, value, 0, 0, 0, 0)
	return errno
}

// dropCapabilities gives up all capabilities of this thread. With no_new_privs no execution gives
// them back, not even to root.
func dropCapabilities() syscall.Errno {
	header := struct {
		version uint32
		pid     int32
	}{version: capVersion3}
	var none [2]struct{ effective, permitted, inheritable uint32 }
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET,
		uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0)
	return errno
}

// closeOnExec has all descriptors closed by the next execution, but standard input, output and
// error.
func closeOnExec() error {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

// limit sets a limit, unless it is lower already.
func limit(resource int, value uint64) {
	var was syscall.Rlimit
	if syscall.Getrlimit(resource, &was) == nil && value < was.Max {
		_ = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value})
	}
}

// errnoOf returns the number of an error of the system.
func errnoOf(err error) syscall.Errno {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return syscall.EIO
}
