//go:build unix

package process

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/plughook/plughook/internal/redact"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/testplugin"
)

// What go-plugin passes on in pieces is logged in lines, so that a secret is found that two pieces
// share.
func TestStdioInPieces(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		for _, text := range []string{"first\nwith hunter2", "hunter2", " in it\nla", "st"} {
			piece := protowire.AppendTag(nil, 2, protowire.BytesType)
			piece = protowire.AppendBytes(piece, []byte(text))
			var m emptypb.Empty
			m.ProtoReflect().SetUnknown(piece)
			if err := s.SendMsg(&m); err != nil {
				return err
			}
		}
		return nil
	}))
	go func() { _ = s.Serve(l) }()
	defer s.Stop()

	log := new(testplugin.Log)
	p := newProcess("plugin", log.Logger())
	p.out = newOutput(log.Logger(),
		message.NewSecrets(redact.Secret{Value: "hunter2hunter2", Name: "$KEY"}))
	p.RPC, err = grpc.NewClient("unix:"+l.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer p.RPC.Close()
	p.stdio, p.endStdio = context.WithCancel(p.life)
	p.watch.Go(p.takeStdio)
	p.watch.Wait()
	p.out.close()
	<-p.out.done
	p.end()
	require.Equal(t, 3, strings.Count(log.String(), "stream=stdout"), log.String())
	require.Contains(t, log.String(), `msg="with $KEY in it"`)
	require.Contains(t, log.String(), "msg=last")
}
