package config

import (
	"errors"
	"strings"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugin/remote"
)

// placed gives an error of package remote the position in the file at which the plugin stands. index counts the
// plugins of the file.
func (c *file) placed(i int, err error) error {
	path := pluginPath(i)
	p := &c.Plugins[i]
	if errors.Is(err, remote.ErrSettings) {
		_, why, _ := strings.Cut(err.Error(), remote.ErrSettings.Error()+": ")
		return c.badSettings(path+".config", p.Name, why, err)
	}
	text := strings.TrimPrefix(err.Error(), "remote: ")
	for _, e := range []error{remote.ErrDigest, remote.ErrProtocol} {
		text = strings.Replace(text, e.Error(), strings.TrimPrefix(e.Error(), "remote: "), 1)
	}
	if !strings.Contains(text, "plugin "+p.Name) {
		text = "plugin " + p.Name + ": " + text
	}
	if errors.Is(err, remote.ErrDigest) {
		path += ".command"
		text = strings.TrimSuffix(text, "; if the change is meant, pin the new one")
		if p.SHA256 == "" {
			text += "; if the change is meant: " + c.lockCommand(p.Name)
		} else {
			text += "; if the change is meant, change the digest in the configuration, or in the lockfile with: " + c.lockCommand(p.Name)
		}
	}
	return c.source.Errorf(path, "%w", &wordedError{text: text, err: err})
}

// A wordedError is an error in words for those who write the configuration.
type wordedError struct {
	text string
	err  error // what errors.Is finds
}

func (e *wordedError) Error() string { return e.text }
func (e *wordedError) Unwrap() error { return e.err }

// complaintAt is the beginning of a complaint about a value of the settings: its JSON pointer.
var complaintAt = lazyregexp.New(`(?:^|; )(/[^ ]*): `)

// badSettings returns an error for each complaint about settings, at the place of the value that it
// is about.
func (c *file) badSettings(path, name, why string, err error) error {
	found := complaintAt.FindAllStringSubmatchIndex(why, -1)
	if len(found) == 0 || found[0][0] != 0 {
		return c.source.Errorf(c.nearest(path, ""), "%w",
			&wordedError{text: "plugin " + name + " does not take its settings: " + why, err: err})
	}
	var errs []error
	for i, at := range found {
		end := len(why)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		pointer := why[at[2]:at[3]]
		errs = append(errs, c.source.Errorf(c.nearest(path, pointer), "%w",
			&wordedError{text: "plugin " + name + " does not take its settings: " + pointer + ": " + why[at[1]:end], err: err}))
	}
	return errors.Join(errs...)
}

// nearest returns the path of the value that a JSON pointer names below path. If the file does not have that value,
// it is the path of the smallest value around it that the file has.
func (c *file) nearest(path, pointer string) string {
	for !c.source.Has(path) {
		dot := strings.LastIndexByte(path, '.')
		if dot < 0 {
			return path
		}
		path = path[:dot]
		pointer = ""
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch {
		case c.source.Has(path + "." + part):
			path += "." + part
		case c.source.Has(path + "[" + part + "]"):
			path += "[" + part + "]"
		default:
			return path
		}
	}
	return path
}
