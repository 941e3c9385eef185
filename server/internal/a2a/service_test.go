package a2a_test

import (
	"testing"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
)

// A service is a server in a test, asked in the forms of A2A.
type service struct{ *servertest.Service }

func serve(
	t *testing.T, agent servertest.Agent, change func(*server.Options), plugins ...*plugin.Plugin,
) *service {
	return &service{servertest.Serve(t, agent, change, plugins...)}
}
