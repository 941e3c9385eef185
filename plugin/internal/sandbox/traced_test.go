//go:build linux

package sandbox

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A process that stands still under a debugger is told from one that hangs.
func TestTraced(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("sleep", fmt.Sprintf("1000.%d", time.Now().UnixNano()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		t.Skip("nothing can be traced here:", err)
	}
	var status unix.WaitStatus
	_, err := unix.Wait4(cmd.Process.Pid, &status, 0, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped())
	require.True(t, Traced(cmd.Process.Pid))
	require.NoError(t, unix.PtraceDetach(cmd.Process.Pid))
	require.False(t, Traced(cmd.Process.Pid))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.False(t, Traced(cmd.Process.Pid), "it has ended")
}
