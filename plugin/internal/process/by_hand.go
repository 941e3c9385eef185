//go:build unix

package process

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/plugin/internal/pinned"
	"github.com/plughook/plughook/plugin/internal/transport"
)

// RunByHand runs the executable as a person does who starts it in a shell: not as a plugin. It
// returns what that prints, however it ends. When ctx is done, it is killed.
func (s Spec) RunByHand(ctx context.Context, log *slog.Logger) (printed []byte, err error) {
	path, err := pinned.Executable(s.Dir, s.Command[0])
	if err != nil {
		return nil, err
	}
	stdin, held, err := os.Pipe() // held open: the end of stdin must not be why it ends
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	defer held.Close()
	env, _ := environment(s.Env, log)
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, path)
	cmd.Args = s.Command
	cmd.Env = env
	cmd.Dir = s.Dir
	cmd.Stdin = stdin
	cmd.Stdout = &output
	cmd.Stderr = &output
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = transport.LastWords
	err = cmd.Run()
	_, exited := errors.AsType[*exec.ExitError](err)
	if exited || errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return output.Bytes(), err
}
