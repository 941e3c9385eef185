//go:build !unix

package mcp

import "os/exec"

// There are no process groups here: only the command itself is ended.

func ownGroup(*exec.Cmd) {}

func askGroup(*exec.Cmd) {}

func endGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
