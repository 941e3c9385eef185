//go:build unix

package remote

import (
	"testing"

	"github.com/plughook/plughook/plugin/internal/testplugin"
)

func TestMain(m *testing.M) { testplugin.Main(m) }
