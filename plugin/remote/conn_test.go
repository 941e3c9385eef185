package remote

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// An answer that is there in time, and decoded only later, is late, and changes nothing.
func TestAnAnswerThatIsDecodedLate(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	c := newConn(nowhere{ctx}, transport.DefaultMaxMessage, func(*wire.Log) {})
	defer c.all.Wait()
	defer c.end(io.EOF)
	defer cancel(nil)
	answer := hookAnswer{
		PluginMessage: &wire.PluginMessage{
			Message: &wire.PluginMessage_Outcome{
				Outcome: &wire.Outcome{Request: &wire.ModelRequest{Model: "another"}},
			},
		},
	}
	a := plugin.Args{
		Hook:    plugin.BeforeModel,
		Request: &model.Request{Model: "asked", Contents: []*genai.Content{}},
	}
	_, err := c.take(ctx, answer, a)
	require.NoError(t, err)
	require.Equal(t, "another", a.Request.Model)
	a.Request.Model = "asked"
	cancel(plugin.ErrTimeout)
	_, err = c.take(ctx, answer, a)
	require.ErrorIs(t, err, plugin.ErrTimeout)
	require.Equal(t, "asked", a.Request.Model)
}

// nowhere is a stream on which nothing comes.
type nowhere struct{ ctx context.Context }

func (nowhere) Send(*wire.HostMessage) error { return nil }
func (n nowhere) Recv() (*wire.PluginMessage, error) {
	<-n.ctx.Done()
	return nil, errors.New("over")
}
