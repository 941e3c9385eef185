package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/plughook/plughook/session"
)

// A Keeper is a Service that knows what it keeps of whom, also of sessions that are not there any more. Files and Memory
// are.
type Keeper interface {
	Service
	// Size returns how many bytes the artifacts of a user take, in all sessions of an app, with all their versions. A
	// version takes LeastSize at least.
	Size(ctx context.Context, app, user string) (int64, error)
	// DeleteUser deletes all artifacts of a user in an app, and returns how many there were.
	DeleteUser(ctx context.Context, app, user string) (int, error)
	// Sweep deletes the artifacts of an app's sessions that are not there any more, and returns how many there were.
	// It calls sessions, which lists those that are there, after it has looked for artifacts: a session that is made
	// meanwhile keeps its own.
	Sweep(ctx context.Context, app string, sessions func() ([]session.Key, error)) (int, error)
}

// LeastSize is what a version of an artifact counts for, however small it is: a disk keeps files and folders of it.
const LeastSize = 1 << 10

// Size implements Keeper.
func (f *Files) Size(ctx context.Context, app, user string) (total int64, err error) {
	dir := userFolder(app, user)
	err = fs.WalkDir(f.root.FS(), dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				total += info.Size()
				if d.Name() == dataFile {
					total += max(0, LeastSize-info.Size())
				}
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // it was deleted meanwhile
			return nil
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("artifact: size of what user %q has: %w", user, err)
	}
	return total, nil
}

// DeleteUser implements Keeper.
func (f *Files) DeleteUser(ctx context.Context, app, user string) (deleted int, err error) {
	dir := userFolder(app, user)
	folders := []string{dir + "/user"}
	entries, err := f.entries(dir + "/sessions")
	for _, e := range entries {
		folders = append(folders, dir+"/sessions/"+e.Name())
	}
	for _, folder := range folders {
		if err == nil {
			var n int
			n, err = f.deleteFolder(ctx, folder)
			deleted += n
		}
	}
	if err != nil {
		return deleted, fmt.Errorf("artifact: delete what user %q has: %w", user, err)
	}
	return deleted, nil
}

// Sweep implements Keeper.
func (f *Files) Sweep(ctx context.Context, app string, sessions func() ([]session.Key, error)) (deleted int, err error) {
	// Which sessions have artifacts?
	var folders []string
	users, err := f.entries(element(app))
	for _, user := range users {
		of := element(app) + "/" + user.Name() + "/sessions"
		if err != nil {
			break
		}
		var entries []fs.DirEntry
		entries, err = f.entries(of)
		for _, e := range entries {
			folders = append(folders, of+"/"+e.Name())
		}
	}
	// Which of these are there?
	var there []session.Key
	if err == nil {
		there, err = sessions()
	}
	kept := map[string]bool{}
	for _, key := range there {
		kept[folder(key)] = true
	}
	for _, folder := range folders {
		if err == nil && !kept[folder] {
			var n int
			n, err = f.deleteFolder(ctx, folder)
			deleted += n
		}
	}
	if err != nil {
		return deleted, fmt.Errorf("artifact: sweep app %q: %w", app, err)
	}
	return deleted, nil
}

// deleteFolder deletes all artifacts of a directory that folder has named.
func (f *Files) deleteFolder(ctx context.Context, folder string) (deletedSome int, err error) {
	entries, err := f.entries(folder)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if err := context.Cause(ctx); err != nil {
			return deletedSome, err
		}
		if !e.IsDir() || strings.HasPrefix(e.Name(), deleted) {
			continue
		}
		if err := f.delete(ctx, folder, e.Name()); err != nil {
			return deletedSome, err
		}
		deletedSome++
	}
	f.prune(folder)
	return deletedSome, nil
}

// userFolder returns the directory with the artifacts of a user.
func userFolder(app, user string) string { return element(app) + "/" + element(user) }

// Size implements Keeper.
func (m *Memory) Size(_ context.Context, app, user string) (total int64, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for of, artifacts := range m.scopes {
		if of.App != app || of.User != user {
			continue
		}
		for _, versions := range artifacts {
			for _, p := range versions {
				n := len(p.Text)
				if p.InlineData != nil {
					n += len(p.InlineData.Data)
				}
				total += max(LeastSize, int64(n))
			}
		}
	}
	return total, nil
}

// DeleteUser implements Keeper.
func (m *Memory) DeleteUser(_ context.Context, app, user string) (int, error) {
	return m.deleteScopes(func(of session.Key) bool { return of.App == app && of.User == user }), nil
}

// Sweep implements Keeper.
func (m *Memory) Sweep(_ context.Context, app string, sessions func() ([]session.Key, error)) (int, error) {
	found := map[session.Key]bool{}
	m.mu.RLock()
	for of := range m.scopes {
		found[of] = of.App == app && of.ID != ""
	}
	m.mu.RUnlock()
	there, err := sessions()
	if err != nil {
		return 0, err
	}
	for _, key := range there {
		delete(found, key)
	}
	return m.deleteScopes(func(of session.Key) bool { return found[of] }), nil
}

// deleteScopes deletes the artifacts of the sessions and users that are chosen.
func (m *Memory) deleteScopes(chosen func(of session.Key) bool) (deleted int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for of, artifacts := range m.scopes {
		if chosen(of) {
			deleted += len(artifacts)
			delete(m.scopes, of)
		}
	}
	return deleted
}
