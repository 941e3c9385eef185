package session

// DecodeEvent reads an event as UnmarshalJSON does, but keeps data in place of a copy. The event never writes
// to it; nor may anybody else.
func DecodeEvent(data []byte) (*Event, error) { return decode(data) }
