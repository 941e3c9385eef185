package command_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/tool/command"
)

// pipe returns a directory with a pipe in it, of the name fifo.
func pipe(t *testing.T) (dir, name string) {
	dir = t.TempDir()
	name = filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	return dir, name
}

// Who is killed takes its commands along.
func TestKilledWithUs(t *testing.T) {
	dir, name := pipe(t)
	self, err := os.Executable()
	require.NoError(t, err)
	host := exec.Command(self)
	host.Env = append(os.Environ(), hostDir+"="+dir)
	host.Stderr = os.Stderr
	require.NoError(t, host.Start())
	fifo, err := os.Open(name) // once the command has
	require.NoError(t, err)
	defer fifo.Close()
	all := bufio.NewReader(fifo)
	line, err := all.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	require.NoError(t, host.Process.Kill())
	require.Error(t, host.Wait())
	_, err = all.ReadByte() // ends once the command has
	require.ErrorIs(t, err, io.EOF)
}

// The threads that many commands at once have taken are given back.
func TestThreadsFall(t *testing.T) {
	threads := func() int {
		list, err := os.ReadDir("/proc/self/task")
		require.NoError(t, err)
		return len(list)
	}
	before := threads()
	most := 0
	var all sync.WaitGroup
	dir, name := pipe(t)
	made := shell(t, "head -c 1 fifo", func(c *command.Config) { c.Dir = dir })
	const many = 100
	for range many {
		all.Go(func() {
			if _, err := made.Run(t.Context(), &tool.Call{}); err != nil {
				t.Error(err)
			}
		})
	}
	fifo, err := os.OpenFile(name, os.O_RDWR, 0)
	require.NoError(t, err)
	defer fifo.Close()
	require.Eventually(t, func() bool { most = threads(); return most >= before+many }, time.Minute, time.Millisecond)
	_, err = fifo.Write(make([]byte, many))
	require.NoError(t, err)
	all.Wait()
	require.Eventually(t, func() bool { return threads() < before+many/2 }, time.Minute, 10*time.Millisecond,
		"%d threads at first, %d with %d commands, %d after them", before, most, many, threads())
}

// A command lives on when threads of this process end, while it is started and later.
func TestNotKilledWithAThread(t *testing.T) {
	const many = 50
	over, ended := make(chan bool), make(chan bool)
	for range 4 {
		go func() {
			for {
				select {
				case <-over:
					ended <- true
					return
				default:
				}
				last := make(chan bool)
				go func() {
					runtime.LockOSThread() // and no unlock: the thread ends with this
					close(last)
				}()
				<-last
			}
		}()
	}
	done := make(chan error)
	var names []string
	for range many {
		dir, name := pipe(t)
		names = append(names, name)
		made := shell(t, "head -c 1 fifo", func(c *command.Config) { c.Dir = dir })
		go func() {
			_, err := made.Run(t.Context(), &tool.Call{})
			done <- err
		}()
	}
	var pipes []*os.File
	for _, name := range names {
		fifo, err := os.OpenFile(name, os.O_RDWR,
			0) // does not wait for a command, which may not be there any more
		require.NoError(t, err)
		pipes = append(pipes, fifo)
	}
	for _, fifo := range pipes {
		_, err := fifo.WriteString("x")
		require.NoError(t, err)
	}
	var failed []error
	for range many {
		failed = append(failed, <-done)
	}
	close(over)
	for range 4 {
		<-ended
	}
	for _, fifo := range pipes {
		require.NoError(t, fifo.Close())
	}
	require.NoError(t, errors.Join(failed...))
}
