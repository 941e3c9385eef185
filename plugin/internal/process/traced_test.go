//go:build linux

package process

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A process that stands still under a debugger is told from one that hangs.
func TestTraced(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("sleep", fmt.Sprintf("1000.%d", time.Now().UnixNano()))
	cmd.SysProcAttr = new(syscall.SysProcAttr)
	if !hold(cmd) {
		t.Skip("nothing can be traced here")
	}
	require.NoError(t, cmd.Start())
	awaitHeld(cmd.Process.Pid)
	require.True(t, traced(cmd.Process.Pid))
	letGo(cmd.Process.Pid)
	require.False(t, traced(cmd.Process.Pid))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.False(t, traced(cmd.Process.Pid), "it has ended")
}
