package session

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/terminal"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// removed is a store whose index somebody else removes while it is made.
type removed struct{ session.Service }

func (removed) Index(context.Context, func(done, left int64)) error { return nil }
func (removed) DropIndex(context.Context) error                     { return nil }
func (removed) Indexed(context.Context) (bool, error)               { return false, nil }

func TestIndexThatIsRemovedIsNotMade(t *testing.T) {
	var stderr strings.Builder
	p := &commands{&cli.Program{Stderr: &stderr, Err: terminal.NewLockedWriter(&stderr)}}
	err := p.index(t.Context(), removed{memory.New()})
	require.ErrorContains(t, err, "the index was removed while it was made")
	require.Empty(t, stderr.String())
}
