package inbound

// A scanner counts the values of JSON text. Text that is no JSON is for its decoder to refuse.
type scanner struct {
	events   bool // the text is a stream of events, of which each has JSON
	messages bool // the text is one JSON message after the other

	values, depth int
	bytes         int // of the message
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
	for _, c := range p {
		s.bytes++
		switch {
		case s.inString && s.events && c == '\n': // a comment in the stream may have a single quote
			s.inString = false
			s.line = 0
		case s.escaped:
			s.escaped = false
		case s.inString && c == '\\':
			s.escaped = true
		case c == '"':
			s.inString = !s.inString
			s.line++
		case s.inString:
		case c == '{' || c == '[':
			s.depth++
			s.values++
			s.line++
			if s.depth > MaxDepth {
				return tooMany(MaxDepth, "JSON values in each other")
			}
		case c == ',':
			s.values++
			s.line++
		case c == '}' || c == ']':
			s.depth = max(0, s.depth-1)
			s.line++
			if s.messages && s.depth == 0 {
				s.next()
			}
		case c == '\n':
			if s.depth == 0 && (s.messages || s.events && s.line == 0) {
				s.next()
			}
			s.line = 0
		case c != '\r':
			s.line++
		}
		if s.values > MaxValues {
			return tooMany(MaxValues, "JSON values")
		}
		if s.messages && s.bytes > MaxBytes {
			return tooMany(MaxBytes, "bytes in one message")
		}
	}
	return nil
}

// next begins to count anew.
func (s *scanner) next() {
	s.values = 0
	s.bytes = 0
}
