package inbound

// A scanner counts the values of JSON text. Text that is no JSON is for its decoder to refuse.
type scanner struct {
	events   bool // the text is a stream of events, of which each has JSON
	messages bool // the text is one JSON message after the other

	values, depth int
	bytes         int  // of the message, or of the event
	largeEvent    bool // a large event has ended since somebody looked
	inString      bool
	escaped       bool
	line          int // bytes of the line
}

// Values returns how many values a JSON text has, about, or MaxValues and one more if it has that
// many or is nested too deeply.
func Values(text []byte) int {
	s := scanner{}
	if s.scan(text) != nil {
		return MaxValues + 1
	}
	return s.values
}

// scan takes in the next bytes.
func (s *scanner) scan(p []byte) error {
	n := *s // a local copy, since this is done for each byte
	for _, c := range p {
		n.bytes++
		switch {
		case n.inString && n.events && c == '\n': // a comment in the stream may have a single quote
			n.inString = false
			n.line = 0
		case n.escaped:
			n.escaped = false
		case n.inString && c == '\\':
			n.escaped = true
		case c == '"':
			n.inString = !n.inString
			n.line++
		case n.inString:
		case c == '{' || c == '[':
			n.depth++
			n.values++
			n.line++
			if n.depth > MaxDepth {
				return tooMany(MaxDepth, "JSON values in each other")
			}
		case c == ',':
			n.values++
			n.line++
		case c == '}' || c == ']':
			n.depth = max(0, n.depth-1)
			n.line++
			if n.messages && n.depth == 0 {
				n.next()
			}
		case c == '\n':
			if n.depth == 0 && (n.messages || n.events && n.line == 0) {
				n.next()
			}
			n.line = 0
		case c != '\r':
			n.line++
		}
		if n.values > MaxValues {
			return tooMany(MaxValues, "JSON values")
		}
		if n.messages && n.bytes > MaxBytes {
			return tooMany(MaxBytes, "bytes in one message")
		}
	}
	*s = n
	return nil
}

// isLarge reports whether what is scanned is large: the whole text, a message or an event.
func (s *scanner) isLarge() bool { return s.bytes > largeBytes || s.values > largeValues }

// next begins to count anew.
func (s *scanner) next() {
	s.largeEvent = s.largeEvent || s.events && s.isLarge()
	s.values = 0
	s.bytes = 0
}
