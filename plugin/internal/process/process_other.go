//go:build !unix

package process

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/wire"
)

var errNoUnix = errors.New("plugins in a process of their own need Unix sockets, process groups and signals, which this system does not have; use the plugin in process")

// A Process is a plugin's process, which this system cannot have.
type Process struct {
	PID     int
	Address string
	RPC     *grpc.ClientConn
}

// Start returns an error: this system has no such plugins.
func Start(context.Context, Spec, *slog.Logger) (*Process, error) { return nil, errNoUnix }

// Attach returns an error: this system has no such plugins.
func Attach(string, string, int, *slog.Logger) (*Process, error) { return nil, errNoUnix }

// What follows is never called: there is no Process.

func (p *Process) OpenFrames(context.Context) (*transport.HostFrames, error) { return nil, errNoUnix }
func (p *Process) Watch(Calls)                                               {}
func (p *Process) EndStdio()                                                 {}
func (p *Process) Context() context.Context                                  { return nil }
func (p *Process) SetName(string)                                            {}
func (p *Process) Secrets() message.Secrets                                  { return message.Secrets{} }
func (p *Process) Log(*wire.Log)                                             {}
func (p *Process) Untouched() error                                          { return nil }
func (p *Process) KeepRunning(context.Context) error                         { return nil }
func (p *Process) RemoveSocket()                                             {}
func (p *Process) Traced() bool                                              { return false }
func (p *Process) Ends(time.Duration) bool                                   { return false }
func (p *Process) Stop(context.Context) error                                { return nil }
func (p *Process) Died(err error) error                                      { return err }
func (p *Process) Explain(_ context.Context, err error) error                { return err }
func (p *Process) Free()                                                     {}
