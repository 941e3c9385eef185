//go:build !unix

package pgtest

import "os/exec"

func detached(*exec.Cmd) {}

func unprivileged(*exec.Cmd) {}

func give(string) error { return nil }
