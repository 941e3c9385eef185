//go:build unix

package remote

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
)

// Pin returns the configuration with the digests of what is on the disk now: SHA256 is the executable's, and
// Files, whose digests may be empty, has that of each file. Nothing is started. A configuration that was
// pinned starts that very plugin or, with ErrDigest, none.
//
// A script is refused as executable, as it is when a pinned plugin starts.
func Pin(c Config) (Config, error) {
	bad := func(err error) (Config, error) {
		return Config{}, fmt.Errorf("remote: plugin %s is not pinned: %w", c.label(), err)
	}
	if len(c.Command) == 0 || c.Command[0] == "" {
		return bad(errors.New("the configuration has no command"))
	}
	path, err := executable(c)
	if err != nil {
		return bad(err)
	}
	if err := noScript(path, c.Command[0]); err != nil {
		return bad(err)
	}
	if c.SHA256, err = hashRegular(path); err != nil {
		return bad(err)
	}
	c.Files = maps.Clone(c.Files)
	for name := range c.Files {
		if path, err = within(c.Dir, name); err != nil {
			return bad(err)
		}
		if c.Files[name], err = hashRegular(path); err != nil {
			return bad(err)
		}
	}
	return c, nil
}

// hashRegular is hashFile for what has an end.
func hashRegular(path string) (string, error) {
	if err := regular(path); err != nil {
		return "", err
	}
	return hashFile(path)
}

// regular returns an error if there is no file at path, or something else than a file.
func regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	return err
}

// noScript returns an error if the file at path is a script.
func noScript(path, name string) error {
	if err := regular(path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 2)
	if n, _ := io.ReadFull(f, head); n == 2 && string(head) == "#!" {
		return fmt.Errorf("%s is a script; name its interpreter in the command, and the script in the files", name)
	}
	return nil
}
