package artifact

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/session"
)

// Files is a Service that stores artifacts below a directory, for many processes at once:
//
//	APP/USER/sessions/ID/NAME/VERSION/   an artifact of a session
//	APP/USER/user/NAME/VERSION/          an artifact of a user
//	                          data       the data of the version
//	                          about.json the artifact's name, the MIME type and so on
//
// APP, USER, ID and NAME are escaped as in a URL, also capitals, and cut if they are long. Nothing outside of
// the directory is read or written, even if there are symbolic links in it. Only the user that the process
// runs as can read it.
//
// A version is on the disk before Save returns. It appears at once and complete. A crash may leave a
// directory that is never read, and that a later Save or Delete of the artifact removes.
type Files struct{ root *os.Root }

// Open returns the Files of a directory, which it creates if it does not exist. The caller must Close it.
func Open(dir string) (*Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("artifact: cannot open the directory for artifacts: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("artifact: cannot open the directory for artifacts: %w", err)
	}
	return &Files{root: root}, nil
}

// Close closes the directory. Later operations fail with os.ErrClosed.
func (f *Files) Close() error { return f.root.Close() }

// Save implements Service.
func (f *Files) Save(ctx context.Context, key session.Key, name string, data *genai.Part) (version int64, err error) {
	if err := check(key, name); err != nil {
		return 0, err
	}
	part, err := storable(data)
	if err != nil {
		return 0, err
	}
	dir := path.Join(folder(scope(key, name)), element(name))
	err = f.in(ctx, dir, true, func(a *os.Root) error {
		version, err = put(ctx, a, name, part)
		return err
	})
	for err == nil && dir != "." { // another process may have created the directories and not synced them yet
		dir = path.Dir(dir)
		err = syncDir(f.root, dir)
		if errors.Is(err, fs.ErrNotExist) { // the artifact was deleted meanwhile
			err = nil
		}
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
	return part, err
}

// Versions implements Service.
func (f *Files) Versions(ctx context.Context, key session.Key, name string) (numbers []int64, err error) {
	err = f.read(ctx, key, name, func(_ *os.Root, all []int64) error {
		numbers = all
		return nil
	})
	return numbers, err
}

// read calls do with the directory and the versions of an artifact.
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

// in calls do with an artifact's directory, which it creates first if create is true. If the artifact was
// deleted meanwhile, in calls do again with the new directory, since what do has done is lost.
func (f *Files) in(ctx context.Context, dir string, create bool, do func(a *os.Root) error) error {
	for tries := 0; ; tries++ {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if create {
			err := f.root.MkdirAll(dir, 0o700)
			if errors.Is(err, fs.ErrNotExist) && tries < 1000 {
				continue // a Delete has removed a directory above, which was empty
			}
			if errors.Is(err, fs.ErrExist) {
				// MkdirAll also returns this if a directory is deleted while it looks at it. Then try again.
				info, statErr := f.root.Lstat(dir)
				if errors.Is(statErr, fs.ErrNotExist) || statErr == nil && info.IsDir() {
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
		stayed, err := f.use(a, dir, do)
		err = errors.Join(err, a.Close())
		if stayed {
			return err
		}
	}
}

// use calls do, and reports whether the directory stayed in its place until do returned.
func (f *Files) use(a *os.Root, dir string, do func(a *os.Root) error) (stayed bool, err error) {
	before, err := a.Stat(".")
	if err != nil {
		return true, err
	}
	err = do(a)
	after, statErr := f.root.Stat(dir)
	switch {
	case errors.Is(statErr, fs.ErrNotExist):
		return false, err
	case statErr != nil:
		return true, errors.Join(err, statErr)
	}
	return os.SameFile(before, after), err
}

// List implements Service.
func (f *Files) List(ctx context.Context, key session.Key) ([]string, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	var names []string
	for _, of := range []session.Key{key, scope(key, UserPrefix)} {
		entries, err := f.entries(folder(of))
		if err != nil {
			return nil, fmt.Errorf("artifact: list session %s: %w", key, err)
		}
		for _, e := range entries {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			if e.Type().IsRegular() || strings.HasPrefix(e.Name(), deleted) {
				continue
			}
			dir := folder(of) + "/" + e.Name()
			head, err := readAbout(f.root, dir+"/0")
			switch {
			case errors.Is(err, fs.ErrNotExist): // it has no version, or was deleted meanwhile
				continue
			case err == nil && (scope(key, head.Name) != of || element(head.Name) != e.Name()):
				err = fmt.Errorf("it is in the directory of another artifact, %q; move it back, or remove it", head.Name)
			}
			if err != nil {
				return nil, fmt.Errorf("artifact: list session %s: %s: %w", key, dir, err)
			}
			names = append(names, head.Name)
		}
	}
	slices.Sort(names)
	return names, context.Cause(ctx)
}

func (f *Files) entries(dir string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// Delete implements Service. It renames the artifact's directory and then removes it, together with
// directories that earlier deletions have renamed and not removed because of a crash, and with the
// directories above that are empty then.
func (f *Files) Delete(ctx context.Context, key session.Key, name string) error {
	if err := check(key, name); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := f.delete(ctx, folder(scope(key, name)), element(name)); err != nil {
		return fmt.Errorf("artifact: delete %q of session %s: %w", name, key, err)
	}
	return nil
}

func (f *Files) delete(ctx context.Context, folder, name string) error {
	err := f.root.Rename(folder+"/"+name, folder+"/"+deleted+rand.Text())
	if err == nil {
		err = syncDir(f.root, folder)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := f.entries(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), deleted) {
			continue
		}
		removeErr := f.root.RemoveAll(folder + "/" + e.Name())
		for errors.Is(removeErr, fs.ErrExist) && ctx.Err() == nil { // a Save that began earlier still writes into it
			removeErr = f.root.RemoveAll(folder + "/" + e.Name())
		}
		err = errors.Join(err, removeErr)
	}
	f.prune(folder)
	return err
}

// prune removes a directory and those above it, if they are empty. An empty directory's name would still tell
// who had artifacts.
func (f *Files) prune(folder string) {
	for ; folder != "."; folder = path.Dir(folder) {
		info, err := f.root.Lstat(folder)
		if err != nil || !info.IsDir() || f.root.Remove(folder) != nil { // it has something in it
			return
		}
	}
}

// reserved are names that files cannot have on Windows, also with an extension.
var reserved = lazyregexp.New(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// element returns the name of the file or directory for s. Different strings have different names, on all
// file systems: the name is lower case, ASCII and short, and begins neither with "." nor with "~". Other
// characters are escaped as in a URL. A long name is cut and ends with "~" and a hash.
func element(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		inner := i > 0 && i < len(s)-1
		plain := 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-_@", c) >= 0 || c == '.' && inner
		if !plain || i == 0 && reserved.MatchString(s) {
			fmt.Fprintf(&b, "%%%02x", c)
		} else {
			b.WriteByte(c)
		}
	}
	if b.Len() > 200 { // most file systems allow 255 bytes
		return fmt.Sprintf("%s~%x", b.String()[:120], sha256.Sum256([]byte(s)))
	}
	return b.String()
}

// folder returns the directory with the artifacts of a session, or of a user if the key has no ID.
func folder(of session.Key) string {
	user := element(of.App) + "/" + element(of.User)
	if of.ID == "" {
		return user + "/user"
	}
	return user + "/sessions/" + element(of.ID)
}
