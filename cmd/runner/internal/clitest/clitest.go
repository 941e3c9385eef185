// Package clitest runs commands of runner in tests, in the process of the test.
package clitest

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
)

// A Root makes the command line of a program.
type Root func(*cli.Program) *cobra.Command

// Only returns a Root that has one command, such as that of package policy.
func Only(command func(*cli.Program) *cobra.Command) Root {
	return func(p *cli.Program) *cobra.Command {
		root := &cobra.Command{Use: "runner", SilenceErrors: true, SilenceUsage: true}
		p.Flags(root)
		return cli.Group(root, command(p))
	}
}

// Exec runs a command line of a program that the test has set up, and returns the exit code and
// what was written.
func Exec(ctx context.Context, p *cli.Program, root Root,
	args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	p.Stdout = &out
	p.Stderr = &err
	code = p.Run(ctx, root(p), args)
	return code, out.String(), err.String()
}

// Run runs a command line, and returns the exit code and what was written.
func Run(t testing.TB, root Root, stdin io.Reader,
	args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return Exec(t.Context(), &cli.Program{Stdin: stdin}, root, args...)
}

// RunLeakless is Run, and fails the test if goroutines are left. It cannot run beside other tests.
func RunLeakless(t testing.TB, root Root, stdin io.Reader,
	args ...string) (code int, stdout, stderr string) {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	return Run(t, root, stdin, args...)
}

// NeedNode skips a test where there is no Node.js, or fails it where nothing may be skipped.
func NeedNode(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		why := "node is not in PATH: install Node.js 18 or later"
		if os.Getenv("PLUGHOOK_TEST_ALL") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
}
