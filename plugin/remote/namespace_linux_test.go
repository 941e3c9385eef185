package remote

import "syscall"

func newUserNamespace(a *syscall.SysProcAttr) { a.Cloneflags = syscall.CLONE_NEWUSER }
