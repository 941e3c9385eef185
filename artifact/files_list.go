package artifact

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

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
			case errors.Is(err, fs.ErrNotExist): // without a version, or deleted meanwhile
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

// Delete implements Service. It moves the artifact away, and then removes it, and with it what deletions
// that were cut short have left.
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
		gone := f.root.RemoveAll(folder + "/" + e.Name())
		for errors.Is(gone, fs.ErrExist) && ctx.Err() == nil { // not empty: a Save that began before writes into it
			gone = f.root.RemoveAll(folder + "/" + e.Name())
		}
		err = errors.Join(err, gone)
	}
	return err
}
