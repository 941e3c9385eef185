package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// Files is a Service that keeps artifacts below a directory, for many processes at once:
//
//	APP/USER/sessions/ID/NAME/VERSION/   an artifact of a session
//	APP/USER/user/NAME/VERSION/          one of a user
//	                          data       what is in the version
//	                          about.json the artifact's name, the MIME type and so on
//
// APP, USER, ID and NAME are escaped as in a URL, capitals too, and cut if they are long. Nothing outside
// of the directory is read or written, wherever symbolic links below it lead. Only the user that the
// process runs as can read it.
//
// A version is on the disk before Save returns. It appears at once and whole: a crash leaves none of it but
// a directory that nobody reads, which a later Save or Delete of the artifact removes.
type Files struct{ root *os.Root }

// Open returns the Files of a directory, which it makes if it is not there. Close it.
func Open(dir string) (*Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("artifact: the directory for artifacts: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("artifact: the directory for artifacts: %w", err)
	}
	return &Files{root}, nil
}

// Close lets go of the directory. Every operation from then on fails with an os.ErrClosed.
func (f *Files) Close() error { return f.root.Close() }

// Save implements Service.
func (f *Files) Save(ctx context.Context, key session.Key, name string, data *genai.Part) (version int64, err error) {
	if err := check(key, name); err != nil {
		return 0, err
	}
	part, err := kept(data)
	if err != nil {
		return 0, err
	}
	dir := path.Join(folder(scope(key, name)), element(name))
	err = f.in(ctx, dir, true, func(a *os.Root) error {
		version, err = put(ctx, a, name, part)
		return err
	})
	for err == nil && dir != "." { // whoever made the directories may not have come to this yet
		dir = path.Dir(dir)
		err = syncDir(f.root, dir)
	}
	if err != nil {
		return 0, fmt.Errorf("artifact: save %q of session %s: %w", name, key, err)
	}
	return version, nil
}

// Load implements Service.
func (f *Files) Load(ctx context.Context, key session.Key, name string, version int64) (part *genai.Part, err error) {
	err = f.read(ctx, key, name, func(a *os.Root, all []int64) error {
		n := version
		if n == Latest {
			n = all[len(all)-1]
		}
		if !slices.Contains(all, n) {
			return notFound(key, name, version)
		}
		part, err = get(a, name, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return part, nil
}

// Versions implements Service.
func (f *Files) Versions(ctx context.Context, key session.Key, name string) (numbers []int64, err error) {
	err = f.read(ctx, key, name, func(_ *os.Root, all []int64) error {
		numbers = all
		return nil
	})
	if err != nil {
		return nil, err
	}
	return numbers, nil
}

// read calls do with the directory of an artifact that has versions.
func (f *Files) read(ctx context.Context, key session.Key, name string, do func(a *os.Root, all []int64) error) error {
	if err := check(key, name); err != nil {
		return err
	}
	err := f.in(ctx, path.Join(folder(scope(key, name)), element(name)), false, func(a *os.Root) error {
		all, err := versions(a)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return fs.ErrNotExist
		}
		return do(a, all)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notFound(key, name, Latest)
	case err != nil && !errors.Is(err, ErrNotFound):
		return fmt.Errorf("artifact: read %q of session %s: %w", name, key, err)
	}
	return err
}

// in calls do with an artifact's directory, made if it is not there and make says so. If the artifact was
// deleted meanwhile, what do has done is void, and it is called again with the directory that is there then.
func (f *Files) in(ctx context.Context, dir string, create bool, do func(a *os.Root) error) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if create {
			err := f.root.MkdirAll(dir, 0o700)
			if errors.Is(err, fs.ErrExist) { // so it says too if what was in the way is gone when it looks what that is
				is, gone := f.root.Lstat(dir)
				if errors.Is(gone, fs.ErrNotExist) || gone == nil && is.IsDir() {
					continue
				}
			}
			if err != nil {
				return err
			}
		}
		a, err := f.root.OpenRoot(dir)
		if err != nil {
			if create && errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return err
		}
		there, err := f.use(a, dir, do)
		if err = errors.Join(err, a.Close()); there {
			return err
		}
	}
}

// use calls do, and reports whether the directory was in its place all the time.
func (f *Files) use(a *os.Root, dir string, do func(a *os.Root) error) (there bool, err error) {
	was, err := a.Stat(".")
	if err != nil {
		return true, err
	}
	err = do(a)
	is, gone := f.root.Stat(dir)
	switch {
	case errors.Is(gone, fs.ErrNotExist):
		return false, err
	case gone != nil:
		return true, errors.Join(err, gone)
	}
	return os.SameFile(was, is), err
}
