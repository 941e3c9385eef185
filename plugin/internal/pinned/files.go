//go:build unix

package pinned

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Files are the files of a plugin whose digests are pinned, while the plugin starts. An interpreter
// opens them by itself, after they were compared with their digests. So what it has opened are the
// same files only if nothing was done meanwhile to them, nor to what leads to them: the directories
// and symbolic links of their paths.
type Files struct {
	files   []pinnedFile
	others  map[string]stamp // symbolic links, and directories that cannot be watched
	folders *folders
}

type pinnedFile struct {
	name, path string
	was        stamp
}

// stamp changes whenever anything is done to a file or a symbolic link, also if that is renamed:
// only root can set the time of the last change (ctime).
type stamp struct {
	device, inode uint64
	changed       int64
}

func stampOf[F any](stat func(F, *unix.Stat_t) error, file F) (stamp, error) {
	var s unix.Stat_t
	err := stat(file, &s)
	return stamp{device: uint64(s.Dev), inode: s.Ino, changed: s.Ctim.Nano()}, err
}

// CheckFiles compares files with their digests, which are given by path; a relative path is relative to dir. The
// caller closes what it returns.
func CheckFiles(dir string, digests map[string]string) (*Files, error) {
	p := &Files{others: map[string]stamp{}}
	if len(digests) == 0 {
		return p, nil
	}

	// Look at what leads to the files before the files are read.
	names := slices.Sorted(maps.Keys(digests))
	var dirs []string
	for _, name := range names {
		path, err := within(dir, name)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, pinnedFile{name: name, path: path})
		more, err := p.walk(path)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, more...)
	}
	slices.Sort(dirs)
	var err error
	p.folders, dirs, err = watchFolders(slices.Compact(dirs))
	if err != nil {
		return nil, fmt.Errorf("the directories of its files cannot be watched: %w", err)
	}
	for _, dir := range dirs { // inotify cannot watch these: any change of their stamp counts as a move
		p.others[dir], err = stampOf(unix.Lstat, dir)
		if err != nil {
			p.Close()
			return nil, err
		}
	}

	// Read the files.
	for i := range p.files {
		if err := p.files[i].compare(digests[p.files[i].name]); err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

// compare compares a file with its digest, and stamps it.
func (f *pinnedFile) compare(want string) error {
	file, err := openRegular(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	f.was, err = stampOf(unix.Fstat, int(file.Fd()))
	if err != nil {
		return err
	}
	sum, err := hash(file)
	if err != nil {
		return err
	}
	return compare(f.name, want, sum)
}

// maxLinks is how many symbolic links a path may have, as in the kernel.
const maxLinks = 40

// walk follows an absolute path through directories and symbolic links, as the system does. It stamps the links,
// and returns the directories.
func (p *Files) walk(path string) (dirs []string, err error) {
	at := "/"
	rest := strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if err != nil {
			return nil, err
		}
		switch {
		case info.IsDir():
			dirs = append(dirs, next)
			at = next
		case info.Mode()&os.ModeSymlink != 0:
			links++
			if links > maxLinks {
				return nil, &os.PathError{Op: "open", Path: path, Err: unix.ELOOP}
			}
			p.others[next], err = stampOf(unix.Lstat, next)
			if err != nil {
				return nil, err
			}
			to, err := os.Readlink(next)
			if err != nil {
				return nil, err
			}
			if filepath.IsAbs(to) {
				at = "/"
			}
			rest = append(strings.Split(to, "/"), rest...)
		default:
			at = next // the file, or something in place of a directory, which the system refuses
		}
	}
	return dirs, nil
}

// Untouched returns an ErrDigest if anything was done to a file, or to what leads to it.
func (p *Files) Untouched() error {
	for _, f := range p.files {
		is, err := stampOf(unix.Stat, f.path)
		if err != nil || is != f.was {
			return fmt.Errorf("%w: %s was touched while the plugin started; try again", ErrDigest, f.name)
		}
	}
	for path, was := range p.others {
		is, err := stampOf(unix.Lstat, path)
		if err != nil || is != was {
			return fmt.Errorf("%w: %s, which leads to its files, was touched while the plugin started; try again", ErrDigest, path)
		}
	}
	if p.folders.moved() {
		return fmt.Errorf("%w: a directory of its files was moved while the plugin started; try again", ErrDigest)
	}
	return nil
}

// Close releases what watches the directories.
func (p *Files) Close() { p.folders.close() }
