//go:build linux

package process

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/plugin/internal/testplugin"
)

// The log says once that there are no namespaces.
func TestNoNamespacesAreLoggedOnce(t *testing.T) {
	was := missing{none: isolation.none, said: isolation.said}
	isolation.none, isolation.said = false, false
	defer func() { isolation.none, isolation.said = was.none, was.said }()
	log := new(testplugin.Log)
	isolation.noteMissing(unix.ENOSPC, log.Logger())
	require.False(t, isolation.unavailable(), "others may release some")
	isolation.noteMissing(unix.EPERM, log.Logger())
	require.True(t, isolation.unavailable())
	require.Equal(t, 1, strings.Count(log.String(), "PLUGINS ARE NOT ISOLATED"))
}
