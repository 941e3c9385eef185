//go:build unix

package remote

import (
	"context"
	"fmt"
	"strings"

	"github.com/plughook/plughook/plugin/remote/wire"
)

// attach connects to a plugin that somebody else has started. Its process is nobody that this package knows: it gets
// no signal, and is not asked to end but of this connection.
func (p *process) attach(ctx context.Context) error {
	p.address = p.config.Attach
	p.out = newOutput(p.log.With("plugin", p.name), strings.NewReplacer())
	if err := p.connect(); err != nil {
		return err
	}
	if err := p.introduce(ctx, wire.NewPluginClient(p.rpc)); err != nil {
		return err
	}
	p.log.Warn("PLUGIN IS ATTACHED, FOR DEVELOPMENT ONLY: it is whatever listens at the socket, not pinned, not isolated, not limited and not watched",
		"plugin", p.name, "socket", p.address)
	return nil
}

// detach asks the plugin to end the stream, and goes if it does not: it may stand at a breakpoint.
func (p *process) detach(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if p.conn.drain() != nil {
		return
	}
	select {
	case <-p.conn.gone:
	case <-ctx.Done():
	}
}

// unattached says why a plugin was not attached.
func (p *process) unattached(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case p.config.Attach == "":
		return err
	case p.undialed.Load() != nil:
		err = *p.undialed.Load()
	case cause != nil:
		err = cause
	}
	return fmt.Errorf("at %s: %w", p.config.Attach, err)
}
