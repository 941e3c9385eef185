//go:build unix && !linux

package remote

import "syscall"

func newUserNamespace(*syscall.SysProcAttr) {}
