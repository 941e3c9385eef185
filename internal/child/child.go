// Package child has what programs need that run tools as processes: where the program is, which environment
// it gets, and how it ends, with all that it has started. On systems other than Unix there are no process
// groups; only the process itself ends there. On systems other than Linux a process is not killed when this
// one ends. To do more for another system, add a file with its build tag beside those for Unix and Linux.
package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Always are the variables that each process gets.
var Always = []string{"PATH", "HOME", "LANG"}

// Path returns the path of a program. A relative path with a directory in it is relative to dir; a name alone
// is one to look for in PATH.
func Path(program, dir string) (string, error) {
	if filepath.Base(program) == program || filepath.IsAbs(program) {
		return program, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, program), nil
}

// Environment returns the variables in a list, as NAME=VALUE. In the list, NAME is a variable of this
// process, and NAME=VALUE sets one. A variable that is not set is left out. The result is not nil, since
// exec.Cmd passes on everything then.
func Environment(list []string) []string {
	env := []string{}
	for _, name := range list {
		if strings.Contains(name, "=") {
			env = append(env, name)
			continue
		}
		value, ok := os.LookupEnv(name)
		if ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Group makes a command start in a process group of its own. Call it before Start.
func Group(cmd *exec.Cmd) { group(cmd) }

// Ask asks all processes of the command's group to end. It returns errors.ErrUnsupported where there are no
// groups.
func Ask(cmd *exec.Cmd) error { return ask(cmd) }

// Kill ends all processes that are left in the command's group. Usually there are none.
func Kill(cmd *exec.Cmd) { kill(cmd) }

// EndWithParent calls run, which starts the command and waits for it, so that the kernel kills the command when this
// process ends, for whatever reason. Call it after Group. The kernel watches the thread that started the command: run has
// a thread of its own, which ends with it, so that many commands at once leave no threads behind.
func EndWithParent(cmd *exec.Cmd, run func()) { endWithParent(cmd, run) }
