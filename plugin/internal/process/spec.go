package process

import (
	"errors"
	"fmt"
	"strings"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugin/internal/sandbox"
)

// A Spec says which process to start, and how.
type Spec struct {
	// Name is what the plugin is called in logs and errors.
	Name string
	// Command is the executable and its arguments. See remote.Config for this and what follows.
	Command    []string
	Dir        string
	Env        []string
	SHA256     string
	Files      map[string]string
	Network    bool
	Isolation  string
	Limits     sandbox.Limits
	MaxMessage int
}

// Calls are the calls that are made to a plugin over one stream.
type Calls interface {
	// Drain asks the plugin to answer the calls that it has, and to end the stream.
	Drain() error
	// Gone is closed when the stream has ended.
	Gone() <-chan struct{}
	// Close fails the calls that are left with err, and returns when nothing uses the stream any
	// more.
	Close(err error)
}

var hexDigest = lazyregexp.New(`^[0-9a-fA-F]{64}$`)

// Check returns an error if the spec cannot be right.
func (s Spec) Check() error {
	switch {
	case len(s.Command) == 0 || s.Command[0] == "":
		return errors.New("the configuration has no command")
	case s.SHA256 != "" && !hexDigest.MatchString(s.SHA256):
		return errors.New("sha256 is not a digest: a digest is 64 hexadecimal digits")
	case s.Limits.Memory < 0 || s.Limits.OpenFiles < 0 || s.Limits.Processes < 0:
		return errors.New("a limit is negative")
	case s.Limits.Cgroup != "" && s.Limits.Memory == 0 && s.Limits.Processes == 0:
		return errors.New("limits: cgroup bounds memory and processes: say how much of at least one of them")
	case s.Isolation != "" && s.Isolation != sandbox.Required && s.Isolation != sandbox.None:
		return fmt.Errorf("isolation is %q; it is %q, %q or empty", s.Isolation, sandbox.Required, sandbox.None)
	}
	for path, sum := range s.Files {
		if !hexDigest.MatchString(sum) {
			return fmt.Errorf("the digest of %s is not a digest: that is 64 hexadecimal digits", path)
		}
	}
	for i, v := range s.Env {
		name, _, _ := strings.Cut(v, "=")
		if name == "" || strings.ContainsRune(v, 0) {
			return fmt.Errorf("env %d is neither NAME nor NAME=value", i+1)
		}
	}
	return nil
}
