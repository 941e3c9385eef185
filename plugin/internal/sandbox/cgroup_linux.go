package sandbox

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// groupPrefix begins the names of the groups that hosts make. After it come the time at which
	// a group was made, in seconds since 1970, and a random text.
	groupPrefix = "plughook-"
	// groupUnused is how long after it was made a group may be without a process, before hosts
	// take it for one that a killed host has left.
	groupUnused = time.Minute
	// groupGone is how long the kernel may take until a group whose processes were killed can be
	// removed.
	groupGone = time.Second
)

// A group is a control group, of version 2, for the process of one plugin and for the processes
// that it starts. The kernel counts what all of them use together.
type group struct {
	path string
	dir  *os.File // path, open
}

// newGroup makes a group with these limits, in the directory that they name. It returns nil if
// they name none. An error means that the limits cannot be had. The caller calls remove.
func newGroup(limits Limits) (*group, error) {
	if limits.Cgroup == "" {
		return nil, nil
	}
	g, err := makeGroup(limits)
	if err != nil {
		return nil, fmt.Errorf("limits: cgroup %s: %w", limits.Cgroup, err)
	}
	return g, nil
}

func makeGroup(limits Limits) (*group, error) {
	// Find the directory, and make sure that the kernel has there what bounds the plugin.
	parent, err := groupDirectory(limits.Cgroup)
	if err != nil {
		return nil, err
	}
	settings := [][2]string{}
	if limits.Memory > 0 {
		if err := enable(parent, "memory"); err != nil {
			return nil, err
		}
		settings = append(settings,
			[2]string{"memory.max", strconv.FormatInt(limits.Memory, 10)},
			[2]string{"memory.swap.max", "0"},
			[2]string{"memory.oom.group", "1"})
	}
	if limits.Processes > 0 {
		if err := enable(parent, "pids"); err != nil {
			return nil, err
		}
		settings = append(settings, [2]string{"pids.max", strconv.Itoa(limits.Processes)})
	}

	// Make the group.
	removeUnused(parent)
	name := fmt.Sprintf("%s%d-%s", groupPrefix, time.Now().Unix(), rand.Text())
	g := &group{path: filepath.Join(parent, name)}
	if err := os.Mkdir(g.path, 0o755); err != nil {
		return nil, err
	}
	for _, s := range settings {
		err := os.WriteFile(filepath.Join(g.path, s[0]), []byte(s[1]), 0)
		if errors.Is(err, fs.ErrNotExist) && s[0] == "memory.swap.max" { // this kernel has no swap
			continue
		}
		if err != nil {
			g.remove()
			return nil, err
		}
	}
	g.dir, err = os.Open(g.path)
	if err != nil {
		g.remove()
		return nil, err
	}
	return g, nil
}

// groupDirectory returns the path of the directory that a configuration names: a relative path is
// relative to the group of this process.
func groupDirectory(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		own, err := ownGroup()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(own, dir)
	}
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "", &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if s.Type != unix.CGROUP2_SUPER_MAGIC {
		return "", fmt.Errorf("%s is not a directory of cgroup v2", dir)
	}
	return dir, nil
}

// ownGroup returns the directory of this process's group.
func ownGroup() (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer mounts.Close()
	for line := range strings.Lines(string(text)) {
		path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		if !ok {
			continue
		}
		for scan := bufio.NewScanner(mounts); scan.Scan(); {
			fields := strings.Fields(scan.Text())
			after := slices.Index(fields, "-") + 1
			if after < 6 || after >= len(fields) || fields[after] != "cgroup2" {
				continue
			}
			below, err := filepath.Rel(fields[3], path)
			if err == nil && filepath.IsLocal(below) {
				return filepath.Join(fields[4], below), nil
			}
		}
	}
	return "", errors.New("the group of this process is not found: there is no cgroup v2, or it is " +
		"not mounted; name an absolute path")
}

// enable has the groups in a directory bound by a controller, such as memory.
func enable(dir, controller string) error {
	file := filepath.Join(dir, "cgroup.subtree_control")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if slices.Contains(strings.Fields(string(text)), controller) {
		return nil
	}
	err = os.WriteFile(file, []byte("+"+controller), 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINVAL):
		return fmt.Errorf("the controller %s is not available in %s: it has to be in the "+
			"cgroup.subtree_control of the directory above: %w", controller, dir, err)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("the controller %s cannot be enabled for the groups in %s while that "+
			"has processes itself; move them, such as the host, into a group in it: %w",
			controller, dir, err)
	}
	return err
}

// removeUnused removes the groups that killed hosts have left in a directory. A group that has a
// process stays: the kernel does not let anybody remove it.
func removeUnused(dir string) {
	entries, _ := os.ReadDir(dir) // it is only for tidiness
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), groupPrefix)
		if !ok {
			continue
		}
		made, _, _ := strings.Cut(name, "-")
		seconds, err := strconv.ParseInt(made, 10, 64)
		if err == nil && time.Since(time.Unix(seconds, 0)) > groupUnused {
			_ = unix.Rmdir(filepath.Join(dir, e.Name()))
		}
	}
}

// hold sets the attributes of a process so that the kernel starts it inside the group.
func (g *group) hold(a *syscall.SysProcAttr) {
	if g != nil {
		a.UseCgroupFD = true
		a.CgroupFD = int(g.dir.Fd())
	}
}

// refused adds to an error of a start what to do if the kernel did not let the process into the group.
func (g *group) refused(err error) error {
	if g == nil || !errors.Is(err, unix.EACCES) {
		return err
	}
	return fmt.Errorf("%w; if this is about its cgroup: this user has to be allowed to write to the "+
		"cgroup.procs of the lowest directory in which both the host's group and %s are", err, g.path)
}

// outOfMemory reports whether the kernel has killed the processes of the group because they used
// more memory than the group may.
func (g *group) outOfMemory() bool {
	if g == nil {
		return false
	}
	text, _ := os.ReadFile(filepath.Join(g.path, "memory.events")) // not there without that limit
	events := strings.Fields(string(text))
	happened := func(name string) bool {
		i := slices.Index(events, name) + 1
		return i > 0 && i < len(events) && events[i] != "0"
	}
	return happened("oom") && happened("oom_kill") // oom_kill alone: the whole machine had no more memory
}

// remove kills what is left in the group, and removes it.
func (g *group) remove() {
	if g == nil {
		return
	}
	if g.dir != nil {
		_ = g.dir.Close()
	}
	_ = os.WriteFile(filepath.Join(g.path, "cgroup.kill"), []byte("1"), 0) // since Linux 5.14
	for deadline := time.Now().Add(groupGone); ; time.Sleep(time.Millisecond) {
		err := unix.Rmdir(g.path)
		if err != unix.EBUSY || time.Now().After(deadline) { // a later start may remove it
			return
		}
	}
}
