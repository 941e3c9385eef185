//go:build unix && !linux

package testplugin

import "syscall"

func newUserNamespace(*syscall.SysProcAttr) {}
