package child

import (
	"os/exec"
	"runtime"
	"syscall"
)

func endWithParent(cmd *exec.Cmd, run func()) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and no unlock: the thread ends with this
		run()
	}()
	<-done
}
