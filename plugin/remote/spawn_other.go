//go:build !unix

package remote

import (
	"context"
	"errors"
	"log/slog"

	"github.com/plughook/plughook/plugin/remote/wire"
)

// process is what there is not on this system.
type process struct {
	conn  *conn
	about *wire.Description
	sub   *wire.Subscription
	pid   int
}

func start(context.Context, Config, *slog.Logger) (*process, error) {
	return nil, errors.New("remote: plugins in a process of their own need unix sockets, process groups and signals, which this system does not have; use the plugin in process")
}

func (p *process) stop(context.Context) error        { return nil }
func traced(int) bool                                { return false }
func peer(int) (uid, pid int, known bool, err error) { return 0, 0, false, nil }
