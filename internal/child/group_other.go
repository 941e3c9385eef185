//go:build !unix

package child

import (
	"errors"
	"os/exec"
)

func group(*exec.Cmd) {}

func ask(*exec.Cmd) error { return errors.ErrUnsupported }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
