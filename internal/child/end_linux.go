package child

import (
	"os/exec"
	"runtime"
	"syscall"
)

func endWithParent(cmd *exec.Cmd) (after func()) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
