package session

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session/internal/codec"
)

// These types have the same JSON on their own as inside of an Event, whichever JSON package is used.
// The methods that end in To and From are for the codec that events use, and cost it nothing.

// The types without their methods: what the codec sees.
type (
	plainActions      Actions
	plainConfirmation Confirmation
	plainCompaction   Compaction
	plainNodeInfo     NodeInfo
)

func readAlone[T any](to *T, data []byte) error {
	var read T
	if err := json.Unmarshal(data, &read, codec.Lenient); err != nil {
		return err
	}
	*to = read
	return nil
}

// MarshalJSON writes the actions as they stand in an event, unknown keys included.
func (a Actions) MarshalJSON() ([]byte, error) {
	return json.Marshal((*plainActions)(&a), codec.Encoding)
}

// MarshalJSONTo is MarshalJSON with the encoder's options.
func (a *Actions) MarshalJSONTo(to *jsontext.Encoder) error {
	return json.MarshalEncode(to, (*plainActions)(a))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Actions) UnmarshalJSON(data []byte) error { return readAlone((*plainActions)(a), data) }

// UnmarshalJSONFrom is UnmarshalJSON with the decoder's options.
func (a *Actions) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	return json.UnmarshalDecode(from, (*plainActions)(a))
}

// MarshalJSON writes the question or answer as it stands in an event, unknown keys included.
func (c Confirmation) MarshalJSON() ([]byte, error) {
	return json.Marshal((*plainConfirmation)(&c), codec.Encoding)
}

// MarshalJSONTo is MarshalJSON with the encoder's options.
func (c *Confirmation) MarshalJSONTo(to *jsontext.Encoder) error {
	return json.MarshalEncode(to, (*plainConfirmation)(c))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Confirmation) UnmarshalJSON(data []byte) error {
	return readAlone((*plainConfirmation)(c), data)
}

// UnmarshalJSONFrom is UnmarshalJSON with the decoder's options.
func (c *Confirmation) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	return json.UnmarshalDecode(from, (*plainConfirmation)(c))
}

// MarshalJSON writes the compaction as it stands in an event, unknown keys included.
func (c Compaction) MarshalJSON() ([]byte, error) {
	return json.Marshal((*plainCompaction)(&c), codec.Encoding)
}

// MarshalJSONTo is MarshalJSON with the encoder's options.
func (c *Compaction) MarshalJSONTo(to *jsontext.Encoder) error {
	return json.MarshalEncode(to, (*plainCompaction)(c))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Compaction) UnmarshalJSON(data []byte) error { return readAlone((*plainCompaction)(c), data) }

// UnmarshalJSONFrom is UnmarshalJSON with the decoder's options.
func (c *Compaction) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	return json.UnmarshalDecode(from, (*plainCompaction)(c))
}

// MarshalJSON writes the node's information as it stands in an event, unknown keys included.
func (n NodeInfo) MarshalJSON() ([]byte, error) {
	return json.Marshal((*plainNodeInfo)(&n), codec.Encoding)
}

// MarshalJSONTo is MarshalJSON with the encoder's options.
func (n *NodeInfo) MarshalJSONTo(to *jsontext.Encoder) error {
	return json.MarshalEncode(to, (*plainNodeInfo)(n))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *NodeInfo) UnmarshalJSON(data []byte) error { return readAlone((*plainNodeInfo)(n), data) }

// UnmarshalJSONFrom is UnmarshalJSON with the decoder's options.
func (n *NodeInfo) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	return json.UnmarshalDecode(from, (*plainNodeInfo)(n))
}
