package mcp

import (
	"os/exec"
	"runtime"
	"syscall"
)

// endWithUs has the command killed when this process ends, however it does. It comes after ownGroup and
// before Start, and what it returns after Wait, all in one goroutine: the kernel watches the thread that
// started the command, so that thread is kept.
func endWithUs(cmd *exec.Cmd) (after func()) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
