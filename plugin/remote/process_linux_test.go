package remote

import "syscall"

func away() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
