//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"syscall"
)

// detached keeps a command out of reach of the terminal's interrupt, which is for the test process.
func detached(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// unprivileged makes a command run as somebody else than root, whom PostgreSQL refuses, and detached.
func unprivileged(cmd *exec.Cmd) {
	detached(cmd)
	if uid, gid, err := owner(); err == nil && os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	}
}

// give makes a file the server's.
func give(path string) error {
	if os.Getuid() != 0 {
		return nil
	}
	uid, gid, err := owner()
	if err != nil {
		return err
	}
	return os.Chown(path, int(uid), int(gid))
}

func owner() (uid, gid uint32, err error) {
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			_, err = fmt.Sscan(u.Uid+" "+u.Gid, &uid, &gid)
			return uid, gid, err
		}
	}
	return 0, 0, fmt.Errorf("pgtest: PostgreSQL does not run as root, and there is no user postgres or nobody: run the tests as somebody else")
}
