package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"github.com/plughook/plughook/plugin/internal/pinned"
	"github.com/plughook/plughook/plugin/internal/privatedir"
	"github.com/plughook/plughook/plugin/internal/sandbox"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/session"
)

// running reports whether there is a process whose last arguments are these.
func running(t *testing.T, args ...string) bool {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, f := range files {
		data, _ := os.ReadFile(f) // it may have ended
		if strings.HasSuffix(string(data), strings.Join(args, "\x00")+"\x00") {
			return true
		}
	}
	return false
}

// ends waits for all processes whose last argument this is.
func ends(t *testing.T, argument string) {
	require.Eventually(t, func() bool { return !running(t, "", argument) }, time.Minute,
		time.Millisecond)
}

// runs waits for a sleep of this name: exec closes descriptors before it sets the arguments.
func runs(t *testing.T, name string) {
	require.Eventually(t, func() bool { return running(t, "sleep", name) }, time.Minute,
		time.Millisecond)
}

// unique returns a number of seconds that no other sleep has.
func unique() string { return fmt.Sprintf("1000.%d", time.Now().UnixNano()) }

func isolated(t *testing.T) {
	p, _ := started(t, command("asked"))
	require.NoError(t, p.process.Stop(t.Context()))
	if !sandbox.Isolated() {
		t.Skip("there are no namespaces here")
	}
}

func TestTheNetworkIsAGrant(t *testing.T) {
	isolated(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	c := command("asked")
	p, _ := started(t, c)
	require.Contains(t, asked(t, p, "dial "+l.Addr().String()), "no: ")
	c.Network = true
	p, _ = started(t, c)
	require.Equal(t, "yes", asked(t, p, "dial "+l.Addr().String()))
}

func init() {
	// few namespaces is a host in a user namespace of its own, in which there can be one more. It
	// starts two plugins, and says what became of the second one.
	testplugin.Programs["few namespaces"] = func() {
		err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("1"), 0)
		if err == nil {
			_, err = start(context.Background(), command("asked"), testplugin.Discard)
		}
		if err != nil {
			fmt.Println("no first one:", err)
			return
		}
		c := command("asked")
		c.Isolation = os.Args[3]
		_, err = start(context.Background(), c, testplugin.Discard)
		fmt.Println(errors.Is(err, ErrIsolation), err)
	}
}

// When all namespaces are in use, no plugin is started without, unless its configuration says so.
func TestNamespacesRunOut(t *testing.T) {
	isolated(t)
	for isolation, want := range map[string]string{"": "true", "required": "true", "none": "false"} {
		cmd := exec.Command(os.Args[0], testplugin.AsPlugin, "few namespaces", isolation)
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(out), want+" "), "%q: %s", isolation, out)
	}
}

// A plugin sees no process but its own in /proc, and changes nothing there.
func TestThePluginHasItsOwnProc(t *testing.T) {
	isolated(t)
	t.Setenv("HOST_SECRET", "of the host")
	host := strconv.Itoa(os.Getpid())
	p, _ := started(t, command("asked"))
	require.Contains(t, asked(t, p, "status"), "\nPid:\t1\n")
	for _, pid := range []string{host, strconv.Itoa(os.Getppid()), strconv.Itoa(p.process.PID)} {
		require.Contains(t, asked(t, p, "read /proc/"+pid+"/environ"), "no such file")
		require.Contains(t, asked(t, p, "open /proc/"+pid+"/oom_score_adj"), "no such file")
	}
	for _, file := range []string{"self/oom_score_adj", "sys/kernel/core_pattern", "sys/user/max_user_namespaces", "sysrq-trigger"} {
		require.Contains(t, asked(t, p, "open /proc/"+file), "no: ", file)
	}
	require.Equal(t, "1000\n", asked(t, p, "read /proc/self/oom_score_adj"),
		"it is killed before its host")
	require.NotContains(t, asked(t, p, "read /proc/self/environ"), "of the host")
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	require.NotContains(t, string(mounts), "size=65536k,nr_inodes=4096",
		"the host's mounts are as they were")
}

// A plugin has no privileges in its namespaces, and makes none in which it would have some.
func TestThePluginMakesNoNamespaces(t *testing.T) {
	isolated(t)
	p, _ := started(t, command("asked"))
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
		require.Contains(t, asked(t, p, "status"), set+":\t0000000000000000\n")
	}
	require.Contains(t, asked(t, p, "namespace"), "no space left on device")
	require.Contains(t, strings.Join(strings.Fields(asked(t, p, "limits")), " "),
		"Max processes 1024 1024")
}

// The memory that a plugin can have in /dev/shm is bounded, and its own.
func TestThePluginHasItsOwnSharedMemory(t *testing.T) {
	isolated(t)
	if _, err := os.Stat("/dev/shm"); err != nil {
		t.Skip(err)
	}
	p, _ := started(t, command("asked"))
	require.Equal(t, "64", asked(t, p, "fill /dev/shm/"+unique()))
	c := command("asked")
	c.Limits.Memory = 1 << 40
	p, _ = started(t, c)
	require.Equal(t, "64", asked(t, p, "fill /dev/shm/"+unique()))
}

// Without namespaces plugins run all the same, and what they have started ends with them.
func TestWithoutNamespaces(t *testing.T) {
	defer sandbox.WithoutNamespaces()()
	p, _ := started(t, command("asked"))
	name := unique()
	asked(t, p, "child here "+name)
	runs(t, name)
	require.NoError(t, p.process.Stop(t.Context()))
	ends(t, name)
}

func TestChildrenEndWithThePlugin(t *testing.T) {
	isolated(t)
	for _, where := range []string{"here", "away"} {
		for _, how := range []string{"stop", "exit", "SIGKILL", "SIGSTOP"} {
			t.Run(where+" "+how, func(t *testing.T) {
				t.Parallel()
				p, _ := started(t, command("asked"))
				name := unique()
				asked(t, p, "child "+where+" "+name)
				runs(t, name)
				switch how {
				case "exit":
					_, err := question(t, p, "exit")
					require.ErrorIs(t, err, ErrGone)
				case "SIGKILL":
					require.NoError(t, unix.Kill(p.process.PID, unix.SIGKILL))
					<-p.conn.gone
					require.ErrorContains(t, p.conn.cause, "killed") // by the signal, or by the host, which saw the end of the stream first
				case "SIGSTOP":
					require.NoError(t, unix.Kill(p.process.PID, unix.SIGSTOP))
				}
				_ = p.process.Stop(t.Context())
				require.False(t, running(t, "sleep", name), "all are reaped when stop returns")
			})
		}
	}
}

// middle starts a host that is a process of its own, waits for the first line that it prints, and
// kills it.
func middle(t *testing.T, kind, name string, wait bool) {
	cmd := exec.Command(os.Args[0], testplugin.AsPlugin, kind, name)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	if wait {
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "started <nil>\n", line)
		runs(t, name)
	} else {
		require.Eventually(t, func() bool { return running(t, "hangs", name) }, time.Minute, time.Millisecond)
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
}

func TestThePluginDiesWithItsHost(t *testing.T) {
	isolated(t)
	name := unique()
	middle(t, "host", name, true)
	ends(t, name)
	name = unique()
	middle(t, "starting host", name, false)
	ends(t, name)
}

func TestNoDescriptorIsInherited(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	fd, err := unix.Open(secret, unix.O_RDONLY, 0) // without O_CLOEXEC, as C code does
	require.NoError(t, err)
	defer unix.Close(fd)
	high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD, 200)
	require.NoError(t, err)
	defer unix.Close(high)
	path, sum := copyOfMe(t)
	pinned := command("asked")
	pinned.Command[0], pinned.SHA256 = path, sum
	for _, c := range []Config{command("asked"), pinned} {
		p, _ := started(t, c)
		open := asked(t, p, "fds")
		require.NotContains(t, open, "secret")
		require.NotContains(t, open, "memfd")
	}
}

func TestPrivilegesAndLimits(t *testing.T) {
	c := command("asked")
	c.Limits = Limits{Memory: 1 << 30, OpenFiles: 64, Processes: 500}
	p, _ := started(t, c)
	require.Contains(t, asked(t, p, "status"), "NoNewPrivs:\t1\n")
	limits := strings.Join(strings.Fields(asked(t, p, "limits")), " ")
	for _, limit := range []string{"Max data size 1073741824 1073741824", "Max open files 64 64", "Max processes 500 500", "Max core file size 0 0"} {
		require.Contains(t, limits, limit)
	}
	self, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(unix.Gettid()) + "/status")
	require.NoError(t, err)
	require.Contains(t, string(self), "NoNewPrivs:\t0\n", "the host keeps what it may")
	session, err := unix.Getsid(p.process.PID)
	require.NoError(t, err)
	require.Equal(t, p.process.PID, session)
}

// Of a process that has died by itself the host leaves nothing, and does not wait for Close with
// that.
func TestTheDeadLeaveNothing(t *testing.T) {
	isolated(t)
	t.Setenv("TMPDIR", t.TempDir()[:min(len(t.TempDir()), privatedir.MaxBase)])
	c := command("asked")
	c.Timeout, c.Log = time.Minute, testplugin.Discard
	h, err := Open(t.Context(), c)
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close(t.Context())) }()
	p := h.Plugin()
	say := func(text string) error {
		_, err := p.OnEvent(t.Context(), &session.Invocation{}, testplugin.TextEvent(text))
		return err
	}
	require.NoError(t, say("say hello"))
	before, goroutines := descriptors(t), runtime.NumGoroutine()
	name := unique()
	for range maxCrashes - 1 {
		require.NoError(t, say("child away "+name))
		runs(t, name)
		require.ErrorIs(t, say("crash"), ErrGone)
		require.NoError(t, say("say hello"))
		h.mu.Lock()
		h.crashes.row = 0 // no pause
		h.mu.Unlock()
	}
	ends(t, name)
	more := 1 // a process that the main thread made has one goroutine more
	for deadline := time.Now().Add(time.Minute); descriptors(t) > before || runtime.NumGoroutine() > goroutines+more; {
		require.True(t, time.Now().Before(deadline),
			"of %d descriptors there are %d, of %d goroutines %d", before, descriptors(t),
			goroutines, runtime.NumGoroutine())
		time.Sleep(time.Millisecond)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), privatedir.Prefix+"*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// After many cycles nothing is left: no process, socket, directory, descriptor or goroutine.
// PLUGHOOK_SOAK_ROUNDS is how many; 1,000 take some minutes.
func TestCyclesLeaveNothing(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv("PLUGHOOK_SOAK_ROUNDS"))
	if rounds == 0 {
		rounds = 10
	}
	t.Setenv("TMPDIR", t.TempDir()[:min(len(t.TempDir()), privatedir.MaxBase)])
	path, sum := copyOfMe(t)
	config := command("asked")
	config.Command[0], config.SHA256 = path, sum
	p, _ := started(t, config) // what is made once is made now
	require.NoError(t, p.process.Stop(t.Context()))
	before, goroutines, name := descriptors(t), goleak.IgnoreCurrent(), unique()

	for round := range rounds {
		cycle(t, config, round%5, name)
	}
	ends(t, name)
	require.Eventually(t, func() bool { return goleak.Find(goroutines) == nil }, time.Minute,
		time.Millisecond, "goroutines are left")
	require.Eventually(t, func() bool { return descriptors(t) <= before }, time.Minute,
		time.Millisecond, "descriptors are left")
	left, err := filepath.Glob(filepath.Join(os.TempDir(), privatedir.Prefix+"*"))
	require.NoError(t, err)
	require.Empty(t, left)
	require.Zero(t, pinned.Copies())
}

// cycle starts a plugin with a child called name, and ends it in one of five ways.
func cycle(t *testing.T, pinned Config, how int, name string) {
	if how == 4 { // the host dies
		middle(t, "host", name, true)
		ends(t, name)
		return
	}
	p, err := start(t.Context(), pinned, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	asked(t, p, "child away "+name)
	switch how {
	case 1:
		require.NoError(t, unix.Kill(p.process.PID, unix.SIGKILL))
		<-p.conn.gone
	case 2:
		_, err := question(t, p, "crash")
		require.ErrorIs(t, err, ErrGone)
	case 3:
		require.NoError(t, unix.Kill(p.process.PID, unix.SIGSTOP))
	}
	if err := p.process.Stop(t.Context()); how != 3 { // a signal may come too late to stop it
		require.NoError(t, err)
	}
}

// descriptors counts the open descriptors of this process.
func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}
