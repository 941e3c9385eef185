package artifact_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/internal/contract"
)

func TestMain(m *testing.M) {
	contract.Short(25)
	goleak.VerifyTestMain(m)
}

func TestMemory(t *testing.T) {
	runContract(t, func(*testing.T) artifact.Service { return artifact.NewMemory() })
}

func TestFiles(t *testing.T) {
	runContract(t, func(t *testing.T) artifact.Service {
		t.Parallel()
		return open(t, t.TempDir())
	})
}

func open(t testing.TB, dir string) *artifact.Files {
	f, err := artifact.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}
