package artifact

import (
	"context"
	"maps"
	"slices"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// Memory is a Service that stores artifacts in memory. It is for tests, and for runs of which nothing is
// kept.
type Memory struct {
	mu     sync.RWMutex
	scopes map[session.Key]map[string][]*genai.Part // by name; see scope
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{scopes: map[session.Key]map[string][]*genai.Part{}} }

// Save implements Service.
func (m *Memory) Save(ctx context.Context, key session.Key, name string, data *genai.Part) (int64, error) {
	if err := check(key, name); err != nil {
		return 0, err
	}
	part, err := storable(data)
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	of := scope(key, name)
	if m.scopes[of] == nil {
		m.scopes[of] = map[string][]*genai.Part{}
	}
	m.scopes[of][name] = append(m.scopes[of][name], part)
	return int64(len(m.scopes[of][name])) - 1, nil
}

// Load implements Service.
func (m *Memory) Load(ctx context.Context, key session.Key, name string, version int64) (*genai.Part, error) {
	all, err := m.versions(ctx, key, name)
	if err != nil {
		return nil, err
	}
	n := version
	if n == Latest {
		n = int64(len(all)) - 1
	}
	if n < 0 || n >= int64(len(all)) {
		return nil, notFound(key, name, version)
	}
	return copied(all[n]), nil
}

// List implements Service.
func (m *Memory) List(ctx context.Context, key session.Key) ([]string, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	var names []string
	for _, of := range []session.Key{key, scope(key, UserPrefix)} {
		names = slices.AppendSeq(names, maps.Keys(m.scopes[of]))
	}
	slices.Sort(names)
	return names, nil
}

// Versions implements Service.
func (m *Memory) Versions(ctx context.Context, key session.Key, name string) ([]int64, error) {
	all, err := m.versions(ctx, key, name)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, notFound(key, name, Latest)
	}
	numbers := make([]int64, len(all))
	for i := range numbers {
		numbers[i] = int64(i)
	}
	return numbers, nil
}

// versions returns the versions of an artifact. They are never changed.
func (m *Memory) versions(ctx context.Context, key session.Key, name string) ([]*genai.Part, error) {
	if err := check(key, name); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.scopes[scope(key, name)][name], context.Cause(ctx)
}

// Delete implements Service.
func (m *Memory) Delete(ctx context.Context, key session.Key, name string) error {
	if err := check(key, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	of := scope(key, name)
	delete(m.scopes[of], name)
	if len(m.scopes[of]) == 0 {
		delete(m.scopes, of)
	}
	return nil
}
