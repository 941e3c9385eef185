//go:build !unix

package command

import "os/exec"

// There are no process groups here: only the command itself is ended.

func ownGroup(*exec.Cmd) {}

func endGroup(*exec.Cmd) {}
