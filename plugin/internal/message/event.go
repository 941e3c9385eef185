package message

import (
	"encoding/json"
	"fmt"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// encoder writes events. It remembers the last few, so that an event which goes to several
// plugins is encoded once: events that are offered never change.
type encoder struct {
	mu   sync.Mutex
	ring [64]*encoded
	next int
}

type encoded struct {
	event *session.Event
	once  sync.Once
	data  []byte
	err   error
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
	})
	return c.data, c.err
}

func (x *encoder) of(e *session.Event) *encoded {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.ring {
		if c != nil && c.event == e {
			return c
		}
	}
	c := &encoded{event: e}
	x.ring[x.next] = c
	x.next = (x.next + 1) % len(x.ring)
	return c
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
