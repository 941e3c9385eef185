package serve

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math"
	"strings"
	"sync"

	"github.com/plughook/plughook/plugin/remote/wire"
)

// logTarget is where log records go: over the stream, while there is one.
type logTarget struct {
	mu     sync.Mutex
	stream *limitedStream
}

func (t *logTarget) set(s *limitedStream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stream = s
}

// wireHandler is the slog handler of a plugin's process. All levels are on: the host decides
// which records it keeps.
type wireHandler struct {
	target   *logTarget
	fallback slog.Handler // writes JSON to stderr, which the host reads too
	attrs    slog.Handler // writes JSON to buffer
	buffer   *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func newWireHandler(stderr io.Writer, target *logTarget) *wireHandler {
	all := &slog.HandlerOptions{Level: slog.Level(math.MinInt)}
	b := &lockedBuffer{}
	return &wireHandler{target: target, fallback: slog.NewJSONHandler(stderr, all), attrs: slog.NewJSONHandler(b, all), buffer: b}
}

// Enabled implements slog.Handler.
func (h *wireHandler) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (h *wireHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.fallback = h.fallback.WithAttrs(attrs)
	c.attrs = h.attrs.WithAttrs(attrs)
	return &c
}

// WithGroup implements slog.Handler.
func (h *wireHandler) WithGroup(name string) slog.Handler {
	c := *h
	c.fallback = h.fallback.WithGroup(name)
	c.attrs = h.attrs.WithGroup(name)
	return &c
}

// emptyRecord is how the JSON of a record without time and message begins. The attributes follow.
const emptyRecord = `{"level":"INFO","msg":""`

// Handle implements slog.Handler.
func (h *wireHandler) Handle(ctx context.Context, r slog.Record) error {
	h.target.mu.Lock()
	stream := h.target.stream
	h.target.mu.Unlock()
	if stream == nil {
		return h.fallback.Handle(ctx, r)
	}
	l := &wire.Log{Level: r.Level.String(), Message: r.Message}
	var only slog.Record // the attributes of r, and nothing else
	r.Attrs(func(a slog.Attr) bool {
		only.AddAttrs(a)
		return true
	})
	h.buffer.mu.Lock()
	h.buffer.Reset()
	err := h.attrs.Handle(ctx, only)
	if rest, ok := strings.CutPrefix(strings.TrimSpace(h.buffer.String()), emptyRecord); ok && rest != "}" {
		l.Attrs = []byte("{" + strings.TrimPrefix(rest, ","))
	}
	h.buffer.mu.Unlock()
	if err != nil {
		return err
	}
	return stream.Send(&wire.PluginMessage{Message: &wire.PluginMessage_Log{Log: l}})
}
