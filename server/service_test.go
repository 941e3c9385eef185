package server_test

import (
	"testing"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
)

// A service is a server in a test, asked in all its forms.
type service struct{ *servertest.Service }

func serve(
	t *testing.T, agent servertest.Agent, change func(*server.Options), plugins ...*plugin.Plugin,
) *service {
	return &service{servertest.Serve(t, agent, change, plugins...)}
}

// agui posts a request to the route of AG-UI, and returns the answer.
func (s *service) agui(request string) string {
	s.Helper()
	_, answer := s.Do("POST", "/agui/desk", request)
	return answer
}

// a2a calls a method of A2A, and returns the answer.
func (s *service) a2a(method, params string) string {
	s.Helper()
	request := `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":` + params + `}`
	_, answer := s.Do("POST", "/a2a/desk", request, "A2A-Version", "1.0")
	return answer
}
