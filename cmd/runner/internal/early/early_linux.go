package early

import (
	"errors"
	"io"
	"syscall"

	"github.com/plughook/plughook/hooks/forward"
)

func init() {
	agent, event, ok := hookOf(arguments())
	if !ok {
		return
	}
	exit, done := answer(agent, event)
	if done {
		syscall.Exit(exit)
	}
}

// arguments returns the command line, which package os does not have yet.
func arguments() []string {
	fd, err := syscall.Open("/proc/self/cmdline", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = syscall.Close(fd) }()
	line, err := io.ReadAll(io.LimitReader(forward.Descriptor(fd), 16<<10))
	if err != nil {
		return nil
	}
	var args []string
	begin := 0
	for i, c := range line {
		if c == 0 { // each argument ends so
			args = append(args, string(line[begin:i]))
			begin = i + 1
		}
	}
	return args
}

// answer lets a server answer the hook. If it is not done, the program has to go on.
func answer(agent, event string) (exit int, done bool) {
	socket := forward.Socket()
	var info syscall.Stat_t
	if syscall.Stat(socket, &info) != nil {
		return 0, false
	}
	payload, failure = io.ReadAll(io.LimitReader(forward.Descriptor(0), forward.MaxInput+1))
	wasRead = true
	if failure != nil {
		return 0, false
	}
	in := forward.Input{Agent: agent, Event: event, Env: forward.Environment(), Payload: payload}
	reply, err := forward.Send(socket, in, forward.Deadline)
	if err != nil {
		if !errors.Is(err, forward.ErrNoServer) {
			failure = err
		}
		return 0, false
	}
	if reply.Stderr != "" {
		_, _ = forward.Descriptor(2).Write([]byte(reply.Stderr + "\n")) // the exit code says it, too
	}
	if _, err := forward.Descriptor(1).Write(reply.Stdout); err != nil {
		return 2, true
	}
	return reply.Exit, true
}
