//go:build unix

package protocol

import (
	"testing"

	"github.com/plughook/plughook/plugin/internal/testplugin"
)

func TestMain(m *testing.M) { testplugin.Main(m) }
