package message

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// encoder encodes events. It remembers the last few, so that an event which goes to several
// plugins is encoded once: events that are offered never change.
type encoder struct {
	mu    sync.Mutex
	last  []*encoded // the oldest first
	bytes int        // of their data
}

// An encoder remembers at most so many events, of so many bytes of JSON. The last one is
// remembered whatever its size.
const (
	maxEncoded      = 64
	maxEncodedBytes = 8 << 20
)

type encoded struct {
	event *session.Event
	once  sync.Once
	data  []byte
	err   error
	size  int // of data, once encoder.bytes has it
}

// events is shared by all plugins of this process.
var events encoder

// EncodeEvent returns an event as JSON. An event that was encoded lately is not encoded again:
// events that are offered never change.
func EncodeEvent(e *session.Event) ([]byte, error) { return events.encode(e) }

func (x *encoder) encode(e *session.Event) ([]byte, error) {
	c := x.of(e)
	c.once.Do(func() {
		c.err = fmt.Errorf("event %q: encoding it panicked", e.ID)
		c.data, c.err = e.MarshalJSON()
		x.count(c)
	})
	return c.data, c.err
}

// of returns what is remembered of an event. If nothing is, it begins to remember the event.
func (x *encoder) of(e *session.Event) *encoded {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.last {
		if c.event == e {
			return c
		}
	}
	c := &encoded{event: e}
	x.last = append(x.last, c)
	x.trim()
	return c
}

// count counts the bytes of an event that has been encoded.
func (x *encoder) count(c *encoded) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !slices.Contains(x.last, c) {
		return // it has been forgotten meanwhile
	}
	c.size = len(c.data)
	x.bytes += c.size
	x.trim()
}

// trim forgets the oldest events if there are too many.
func (x *encoder) trim() {
	n := 0
	for len(x.last)-n > maxEncoded || x.bytes > maxEncodedBytes && len(x.last)-n > 1 {
		x.bytes -= x.last[n].size
		n++
	}
	x.last = slices.Delete(x.last, 0, n)
}

// DecodeEvent decodes an event.
func DecodeEvent(data []byte) (*session.Event, error) {
	e := new(session.Event)
	if err := e.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	return e, nil
}

// DecodeEvents decodes events.
func DecodeEvents(list [][]byte) ([]*session.Event, error) {
	var decoded []*session.Event
	for _, data := range list {
		e, err := DecodeEvent(data)
		if err != nil {
			return nil, err
		}
		decoded = append(decoded, e)
	}
	return decoded, nil
}

// encodeContents encodes contents, each as JSON.
func encodeContents(contents []*genai.Content) ([][]byte, error) {
	list := make([][]byte, 0, len(contents))
	for _, c := range contents {
		data, err := json.Marshal(c)
		if err != nil {
			return nil, fmt.Errorf("content: %w", err)
		}
		list = append(list, data)
	}
	return list, nil
}

func decodeContents(list [][]byte) ([]*genai.Content, error) {
	contents := make([]*genai.Content, 0, len(list))
	for _, data := range list {
		var c *genai.Content
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, fmt.Errorf("content: %w", err)
		}
		contents = append(contents, c)
	}
	return contents, nil
}

// EncodeRequest encodes a model request. The other side has the first keep contents, which are
// left out.
func EncodeRequest(req *model.Request, keep int) (*wire.ModelRequest, error) {
	config, err := json.Marshal(req.Config)
	if err != nil {
		return nil, fmt.Errorf("the request's config: %w", err)
	}
	contents, err := encodeContents(req.Contents[keep:])
	if err != nil {
		return nil, err
	}
	return &wire.ModelRequest{
		Agent:    req.Agent,
		Branch:   req.Branch,
		Model:    req.Model,
		Stream:   req.Stream,
		Config:   config,
		Keep:     uint32(keep),
		Contents: contents,
	}, nil
}

// DecodeRequest decodes a model request. It keeps as many contents of had as the message says.
func DecodeRequest(w *wire.ModelRequest, had []*genai.Content) (*model.Request, error) {
	if int(w.Keep) > len(had) {
		return nil, fmt.Errorf("the request keeps %d contents, and there are %d", w.Keep, len(had))
	}
	more, err := decodeContents(w.Contents)
	if err != nil {
		return nil, err
	}
	req := &model.Request{
		Agent:    w.Agent,
		Branch:   w.Branch,
		Model:    w.Model,
		Stream:   w.Stream,
		Contents: append(had[:w.Keep:w.Keep], more...),
	}
	if len(w.Config) > 0 {
		if err := json.Unmarshal(w.Config, &req.Config); err != nil {
			return nil, fmt.Errorf("the request's config: %w", err)
		}
	}
	return req, nil
}

// KeyOf returns the key of a session from its message.
func KeyOf(k *wire.Key) session.Key {
	return session.Key{App: k.GetApp(), User: k.GetUser(), ID: k.GetId()}
}

// WireKey returns the key of a session as a message.
func WireKey(k session.Key) *wire.Key { return &wire.Key{App: k.App, User: k.User, Id: k.ID} }
