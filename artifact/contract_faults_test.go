package artifact_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/session"
)

// faults are stores that break a rule, each with a case that must notice.
var faults = map[string]struct {
	broken func(artifact.Service) artifact.Service
	cases  string // as for go test -run
}{
	"versions from 1": {
		func(s artifact.Service) artifact.Service { return fromOne{s} },
		"version/dense",
	},
	"the first for latest": {
		func(s artifact.Service) artifact.Service { return first{s} },
		"version/latest",
	},
	"one user": {
		func(s artifact.Service) artifact.Service { return oneUser{s} },
		"scope/session",
	},
	"a user's of a session": {
		func(s artifact.Service) artifact.Service { return noUser{s} },
		"scope/user",
	},
	"keys joined": {
		func(s artifact.Service) artifact.Service { return joined{s} },
		"scope/keys",
	},
	"unsorted": {
		func(s artifact.Service) artifact.Service { return unsorted{s} },
		"scope/list",
	},
	"names folded": {
		func(s artifact.Service) artifact.Service { return folded{s} },
		"name/taken",
	},
	"any name": {
		func(s artifact.Service) artifact.Service { return anyName{s} },
		"name/refused",
	},
	"delete the latest": {
		func(s artifact.Service) artifact.Service { return half{s} },
		"delete/all",
	},
	"thoughts dropped": {
		func(s artifact.Service) artifact.Service { return drops{s} },
		"part/refused",
	},
	"shared parts": {
		func(s artifact.Service) artifact.Service { return &shares{Service: s} },
		"copy/what_goes_in",
	},
	"shared parts come out": {
		func(s artifact.Service) artifact.Service { return &shares{Service: s} },
		"copy/what_comes_out",
	},
	"deaf to its context": {
		func(s artifact.Service) artifact.Service { return deaf{s} },
		"end/done_context",
	},
	"lost versions": {
		func(s artifact.Service) artifact.Service { return &loses{Service: s} },
		"concurrent/saves",
	},
	"the machine sees it": {
		func(s artifact.Service) artifact.Service { return folded{s} },
		"machine",
	},
}

// A store that breaks a rule fails, and whoever wrote it reads which rule and where it is tested.
func TestFaults(t *testing.T) {
	const env = "PLUGHOOK_ARTIFACT_FAULT"
	if name := os.Getenv(env); name != "" {
		runContract(t,
			func(*testing.T) artifact.Service { return faults[name].broken(artifact.NewMemory()) })
		return
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFaults$/"+f.cases,
				"-rapid.nofailfile")
			cmd.Env = append(os.Environ(), env+"="+name)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the kit has nothing against it:\n%s", out)
			require.Contains(t, string(out), "--- FAIL: TestFaults/"+f.cases)
			require.Regexp(t, `The rule: .*\(\w+\.go:\d+\)`, string(out))
			require.NotContains(t, string(out), "panic:")
		})
	}
}

type fromOne struct{ artifact.Service }

func (s fromOne) Save(
	ctx context.Context,
	key session.Key,
	name string,
	data *genai.Part,
) (int64, error) {
	v, err := s.Service.Save(ctx, key, name, data)
	return v + 1, err
}

type first struct{ artifact.Service }

func (s first) Load(
	ctx context.Context,
	key session.Key,
	name string,
	v int64,
) (*genai.Part, error) {
	return s.Service.Load(ctx, key, name, max(v, 0))
}

type oneUser struct{ artifact.Service }

func (s oneUser) Load(
	ctx context.Context,
	key session.Key,
	name string,
	v int64,
) (*genai.Part, error) {
	key.User = "ann"
	return s.Service.Load(ctx, key, name, v)
}

type noUser struct{ artifact.Service }

func (s noUser) Save(
	ctx context.Context,
	key session.Key,
	name string,
	data *genai.Part,
) (int64, error) {
	return s.Service.Save(ctx, key, strings.Replace(name, ":", "/", 1), data)
}

type joined struct{ artifact.Service }

func (s joined) Save(
	ctx context.Context,
	key session.Key,
	name string,
	data *genai.Part,
) (int64, error) {
	if err := key.Check(false); err != nil || len(key.User+key.ID) > 500 {
		return s.Service.Save(ctx, key, name, data)
	}
	return s.Service.Save(ctx, session.Key{App: key.App, User: "all", ID: key.User + "/" + key.ID},
		name, data)
}

type unsorted struct{ artifact.Service }

func (s unsorted) List(ctx context.Context, key session.Key) ([]string, error) {
	names, err := s.Service.List(ctx, key)
	slices.Reverse(names)
	return names, err
}

type folded struct{ artifact.Service }

func (s folded) Save(
	ctx context.Context,
	key session.Key,
	name string,
	data *genai.Part,
) (int64, error) {
	return s.Service.Save(ctx, key, strings.ToLower(name), data)
}

type anyName struct{ artifact.Service }

func (s anyName) Save(
	ctx context.Context,
	key session.Key,
	name string,
	data *genai.Part,
) (int64, error) {
	if errors.Is(artifact.CheckName(name), artifact.ErrName) {
		name = "other"
	}
	return s.Service.Save(ctx, key, name, data)
}

type half struct{ artifact.Service }

func (s half) Delete(ctx context.Context, key session.Key, name string) error {
	old, err := s.Load(ctx, key, name, 0)
	if gone := s.Service.Delete(ctx, key, name); gone != nil || err != nil {
		return gone
	}
	_, err = s.Save(ctx, key, name, old)
	return err
}

type drops struct{ artifact.Service }

func (s drops) Save(
	ctx context.Context,
	key session.Key,
	name string,
	data *genai.Part,
) (int64, error) {
	if data != nil {
		data = &genai.Part{InlineData: data.InlineData, FileData: data.FileData, Text: data.Text}
	}
	return s.Service.Save(ctx, key, name, data)
}

// shares keeps the bytes of blobs as they are passed.
type shares struct {
	artifact.Service
	blobs []*genai.Part
}

func (s *shares) Save(
	ctx context.Context,
	key session.Key,
	name string,
	data *genai.Part,
) (int64, error) {
	s.blobs = append(s.blobs, data)
	return s.Service.Save(ctx, key, name, data)
}

func (s *shares) Load(
	ctx context.Context,
	key session.Key,
	name string,
	v int64,
) (*genai.Part, error) {
	if p, err := s.Service.Load(ctx, key, name, v); err != nil || v < 0 || p.InlineData == nil {
		return p, err
	}
	return s.blobs[v], nil
}

type deaf struct{ artifact.Service }

func (s deaf) Save(
	_ context.Context,
	key session.Key,
	name string,
	data *genai.Part,
) (int64, error) {
	return s.Service.Save(context.Background(), key, name, data)
}

// loses gives a version twice: every second Save replaces the one before it.
type loses struct {
	artifact.Service
	mu   sync.Mutex
	last *genai.Part
}

func (s *loses) Save(
	ctx context.Context,
	key session.Key,
	name string,
	data *genai.Part,
) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && s.last.Text != data.Text {
		s.last = nil
		numbers, err := s.Versions(ctx, key, name)
		return int64(len(numbers)) - 1, err
	}
	s.last = data
	return s.Service.Save(ctx, key, name, data)
}
